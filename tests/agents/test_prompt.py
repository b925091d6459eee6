"""What a model is told of what was said before."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agents.models import Turn
from tests.fake_model import say as says
from tests.inner import handle_message, history
from tests.world import conversation, scripted, tell

pytestmark = pytest.mark.django_db


def talked(count, more="", **values):
    """A conversation of so many replies."""
    c = conversation(tools={}, plan={"enabled": False}, **values)
    scripted(*[says(f"Answer {number}") for number in range(count)])
    for number in range(count):
        tell(c, f"Question {number}{more}")
    return c


def next_turn(c):
    return handle_message(c, "And now?", "alice").turn


def contents(turn):
    return [message["content"] for message in history(turn)]


def test_all_that_fits_is_told_in_order():
    turn = next_turn(talked(25))
    expected = [f"{word} {n}" for n in range(25) for word in ("Question", "Answer")]
    assert contents(turn) == expected


def test_what_was_cleared_is_neither_told_nor_read():
    c = talked(45)
    turn = next_turn(c)
    with CaptureQueriesContext(connection) as whole:
        assert len(contents(turn)) == 90
    handle_message(c, "/clear", "alice")
    scripted(says("Hello"))
    tell(c, "Hi")
    turn = Turn.objects.select_related("conversation").get(pk=next_turn(c).pk)
    with CaptureQueriesContext(connection) as cleared:
        assert contents(turn) == ["Hi", "Hello"]
    assert len(cleared) < len(whole)


def test_no_more_is_read_than_a_window_can_hold():
    c = talked(45, " why?" * 100, context_window=1024)
    turn = next_turn(c)
    with CaptureQueriesContext(connection) as queries:
        assert contents(turn)[-1] == "Answer 44"
    assert len(contents(turn)) == 40, "the newest twenty turns are more than enough"
    assert len(queries) == 3
