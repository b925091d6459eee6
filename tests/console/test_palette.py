"""What Ctrl K offers for a word, in which order."""

import pytest

from tests.fake_model import say
from tests.inner import palette
from tests.world import conversation, person, proposed, scripted, tell

pytestmark = pytest.mark.django_db(transaction=True)


def rows(text, c=None):
    found = palette.results(person(), text, "", c)
    return [row for group in found.groups for row in group.rows], found


@pytest.mark.parametrize("text", ["appearance", "clear", "zebra"])
def test_what_matches_comes_first_and_asking_for_a_plan_last(text):
    c = conversation()
    scripted(say("Striped."))
    tell(c, "The zebra question")
    offered, found = rows(text, c)
    assert offered[-1].command == f"/plan {text}"
    assert text in "".join(piece.text for piece in offered[0].title).lower()
    assert found.found == len(offered) - 1, "what can be done with the words is no result"


def test_needs_you_has_its_mark_and_number_while_anything_waits():
    def row():
        return next(row for row in rows("")[0] if row.href == "/needs/")

    assert (row().shape, row().meta) == ("", "")
    proposed("Read")
    assert (row().shape, row().meta) == ("waiting", "1")


def test_what_a_model_would_read_only_fills_the_message_box():
    offered, _ = rows("", conversation())
    fills = {row.command: row.fills for row in offered if row.command}
    assert fills == {"/plan": True, "/clear": False, "/new": False, "/help": False}


def test_a_plan_that_begins_a_chat_names_the_agent_that_is_asked():
    c = conversation()
    for text, sent in (("", "/plan "), ("nowhere to be found", "/plan nowhere to be found")):
        [row] = [row for row in rows(text)[0] if row.icon == "slash"]
        assert (row.command, row.begins, row.text) == ("", c.agent_id, sent)
        assert row.meta == f"Ask {c.agent_id.title()} for a plan"
