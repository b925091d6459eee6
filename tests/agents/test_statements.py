"""Statements written by hand do what Django's do."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from agents.models import Message, Turn
from agents.statements import fetch_models, fetch_one, insert, store
from tests.world import conversation

pytestmark = pytest.mark.django_db
ALL = "SELECT * FROM agents_turn WHERE id = %s"


def made(**values):
    turn = Turn(conversation=conversation(), **values)
    insert(turn)
    return turn


def test_an_inserted_row_is_the_row_django_reads():
    moment = datetime.now(UTC).replace(microsecond=123) + timedelta(hours=1)
    turn = made(not_before=moment, config={"ä": [1, None]}, cost=Decimal("0.25"), lane="run")
    read = Turn.objects.get(pk=turn.pk)
    for field in Turn._meta.concrete_fields:
        assert getattr(read, field.attname) == getattr(turn, field.attname), field.name
    assert not turn._state.adding


def test_a_found_row_is_the_row_django_reads():
    turn = made(stop_requested=True, cost=Decimal("1.5"), checkpoint={"task": "x"})
    (read,) = fetch_models(Turn, ALL, [turn.pk])
    same = Turn.objects.get(pk=turn.pk)
    for field in Turn._meta.concrete_fields:
        assert getattr(read, field.attname) == getattr(same, field.attname), field.name
    assert read == same


def test_a_column_that_was_left_out_is_read_when_asked_for():
    turn = made(lane="run")
    (read,) = fetch_models(Turn, "SELECT state, id FROM agents_turn WHERE id = %s", [turn.pk])
    assert (read.state, read.lane) == ("queued", "run")


def test_only_the_named_fields_are_stored():
    turn = made()
    turn.lane, turn.checkpoint = "run", {"steps": 1}
    store(turn, "checkpoint")
    read = Turn.objects.get(pk=turn.pk)
    assert (read.lane, read.checkpoint) == ("chat", {"steps": 1})


def test_what_no_database_keeps_is_replaced_here_too():
    message = Message(conversation=conversation(), seq=1, changed_seq=1, role="user", text="a\0b")
    insert(message)
    assert Message.objects.get(pk=message.pk).text == "a\ufffdb"


@pytest.mark.parametrize("number", [10**30, -(10**30)])
def test_a_number_that_no_column_holds_is_not_there(number):
    assert fetch_one(ALL, [number]) is None
