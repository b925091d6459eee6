"""What is said calls a thing by one word: subtask, replan, skip; pages: tests/lint/test_one_word.py."""

import re

import pytest

from agents.errors import Conflict, NotFound
from plans import actions
from tests.builders import proposed_plan
from tests.fake_model import say
from tests.inner import LANGUAGES
from tests.world import plan_of, scripted, texts

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_message_of_a_replan_says_replan_as_its_button_does():
    c = proposed_plan("Read", "Write")
    actions.replan_rest(plan_of(c), "alice", "s2", "On paper.")
    assert texts(c, role="user")[-1] == "Replan the rest, from subtask 2 on. On paper."


@pytest.mark.parametrize("key", ["s9"])
def test_a_replan_that_cannot_be_is_refused_in_the_same_words(key):
    c = proposed_plan("Read")
    with pytest.raises(NotFound, match="no subtask s9"):
        actions.replan_rest(plan_of(c), "alice", key)
    scripted(say("."))
    actions.replan_rest(plan_of(c), "alice")
    with pytest.raises(Conflict, match="It is being replanned already"):
        actions.replan_rest(plan_of(c), "alice")


def texts_in(value):
    """Every text of a table of the demo's."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (
        [value] if isinstance(value, str) else [text for each in inner for text in texts_in(each)]
    )


def test_the_demo_speaks_of_subtasks():
    said = texts_in(LANGUAGES["en"]["sentences"])
    assert not [text for text in said if re.search(r"“[^”{]*\bsteps?\b", text)]
