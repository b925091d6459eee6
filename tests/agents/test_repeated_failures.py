"""A model that makes the same failing call again and again is stopped before it costs much."""

import pytest

from agents.models import Turn
from plans.actions import run_plan
from plans.models import Attempt
from tests.fake_model import call, say
from tests.world import approved, calls_of, conversation, drive, plan_of, scripted, tell

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_fifth_failure_in_the_same_words_ends_the_turn():
    c = conversation(tools={"read_file": "allow"})
    model = scripted(lambda request: call("read_file", path="nowhere.md"))
    tell(c, "read it")
    turn = Turn.objects.get(conversation=c)
    assert (len(model.requests), turn.state) == (5, "failed")
    assert turn.error.startswith("read_file failed 5 times in a row in the same way: ")
    assert "nowhere.md" in turn.error


def test_a_refusal_counts_whatever_the_arguments_are():
    c = conversation(tools={})
    paths = iter(range(100))
    model = scripted(lambda request: call("read_file", path=f"{next(paths)}.md"))
    tell(c, "read them")
    assert len(model.requests) == 5


def test_failures_that_differ_or_something_that_worked_between_are_no_repetition():
    c = conversation(tools={"read_file": "allow", "list_files": "allow"})
    wrong = call("read_file", path="nowhere.md")
    others = [call("read_file", path=f"{n}.md") for n in range(6)]
    scripted(*[wrong] * 4, call("list_files"), *[wrong] * 4, *others, say("They are not there."))
    tell(c, "read them")
    assert Turn.objects.get(conversation=c).state == "done"
    assert len(calls_of(c)) == 15


def test_an_attempt_that_only_repeats_its_mistake_has_failed():
    c = approved("Look")
    model = scripted(lambda request: call("finish_subtask", summary="done"))
    run_plan(plan_of(c), "alice")
    drive()
    assert len(model.requests) == 5
    [attempt] = Attempt.objects.filter(subtask__plan=plan_of(c))
    assert attempt.error.startswith("finish_subtask failed 5 times in a row in the same way")
