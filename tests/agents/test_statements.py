"""Prepared statements do what Django's do."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import connection

from agents.models import Message, Turn
from tests.inner import insert, kept_cursor, one_of, prepared, updating
from tests.inner import statements_store as store
from tests.world import conversation

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


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


def test_a_column_that_was_left_out_is_read_when_asked_for():
    turn = made(lane="run")
    state_of = prepared(lambda turn: Turn.objects.filter(pk=turn).only("state"))
    (read,) = state_of.models(turn=turn.pk)
    assert read.get_deferred_fields() == {
        field.attname for field in Turn._meta.concrete_fields if field.name not in ("id", "state")
    }
    assert (read.state, read.lane) == ("queued", "run")


def test_a_prepared_query_takes_other_values_each_time():
    turns = [made(lane="run", config={"n": n}) for n in range(3)]
    configs = prepared(
        lambda turns, lane: (
            Turn.objects.filter(one_of("id", turns), lane=lane).order_by("pk").values_list("config")
        )
    )
    pks = [turn.pk for turn in turns]
    assert configs.rows(turns=pks, lane="run") == [({"n": 0},), ({"n": 1},), ({"n": 2},)]
    assert configs.rows(turns=pks[2:], lane="run") == [({"n": 2},)]
    assert configs.first(turns=pks, lane="chat") is None
    assert configs.rows(turns=[], lane="run") == [], "PostgreSQL knows no empty list"


def test_a_prepared_update_gives_the_rows_that_it_has_changed():
    turn, _ = made(), made()
    end = prepared(lambda turn, state: updating(Turn.objects.filter(pk=turn), state=state))
    (read,) = end.changed(turn=turn.pk, state="done")
    assert (read.pk, read.state, read.config) == (turn.pk, "done", {})
    assert list(Turn.objects.order_by("pk").values_list("state", flat=True)) == ["done", "queued"]


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


def test_a_text_that_no_database_keeps_is_replaced_in_prepared_queries_too():
    turn = made()
    end = prepared(lambda turn, error: updating(Turn.objects.filter(pk=turn), error=error))
    assert end.update(turn=turn.pk, error="a\ud800\0b") == 1
    assert Turn.objects.get(pk=turn.pk).error == "a\ufffd\ufffdb"


@pytest.mark.django_db(transaction=True)
def test_a_locking_query_is_put_together_wherever_it_is_used_first():
    lock = prepared(lambda turn: Turn.objects.filter(pk=turn).select_for_update(no_key=True))
    turn = made()
    assert lock.models(turn=turn.pk) == [turn]


def test_its_statements_are_seen_by_whoever_counts_django_s(django_assert_num_queries):
    turn = made()
    row = prepared(lambda turn: Turn.objects.filter(pk=turn))
    row.models(turn=turn.pk)
    with django_assert_num_queries(2):
        row.models(turn=turn.pk)
        store(turn, "lane")


@pytest.mark.django_db(transaction=True)
def test_a_new_connection_gets_a_cursor_of_its_own():
    turn = made()
    assert kept_cursor() is kept_cursor()
    connection.close()
    assert prepared(lambda turn: Turn.objects.filter(pk=turn)).models(turn=turn.pk) == [turn]
    assert kept_cursor().cursor.connection is connection.connection
