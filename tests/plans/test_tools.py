"""What the plan's tools answer, and what they refuse."""

import pytest

from plans import actions
from plans.models import Plan
from tests.builders import proposed_plan
from tests.fake_model import call, say
from tests.inner import create_plan
from tests.world import calls_of, conversation, drive, plan_of, scripted, states, tell

pytestmark = pytest.mark.django_db(transaction=True)

FOREIGN = {
    "finish_subtask": {"outcome": "done", "key": "s2"},
    "fail_subtask": {"error": "no", "subtask": "s2"},
    "report_progress": {"text": "half", "percent": 50},
    "ask_user": {"question": "Well?", "choices": ["a", "b"]},
    "add_subtask": {"name": "More", "state": "done"},
    "update_subtask": {"key": "s2", "status": "done"},
    "delete_subtask": {"key": "s2", "force": True},
    "revise_current_plan": {"title": "Other", "approved": True},
    "get_plan": {"key": "s2"},
    "get_changes": {"key": "s2"},
}


@pytest.mark.parametrize("tool", FOREIGN)
@pytest.mark.sampled(4)
def test_an_argument_that_a_tool_does_not_know_is_refused_and_nothing_happens(tool):
    c = proposed_plan("Read", "Write")
    actions.approve_plan(plan_of(c), 1, "alice")
    scripted(call(tool, **FOREIGN[tool]), call("fail_subtask", error="enough"))
    drive()
    asked = calls_of(c, tool)[0]
    unknown = [*FOREIGN[tool]][-1]
    assert asked.state == "failed"
    assert f"{unknown}: " in asked.result
    assert (states(c), plan_of(c).version) == (["todo", "todo"], 1)


def test_create_plan_refuses_what_it_does_not_know():
    c = conversation()
    scripted(call("create_plan", title="T", subtasks=["One"], approved_version=1), say("Sorry."))
    tell(c, "/plan tidy up")
    assert "approved_version: " in calls_of(c, "create_plan")[0].result


@pytest.mark.parametrize(
    ("confirm", "said"),
    [
        ("always", "v2 waits for the person's yes. You go on with v1."),
        ("create", "v2 holds: it needs no new yes."),
        ("never", "v2 holds: it needs no new yes."),
    ],
)
def test_the_answer_says_whether_the_new_version_waits(confirm, said):
    c = proposed_plan(
        "Read", "Write", plan={"enabled": True, "confirm": confirm, "max_attempts": 1}
    )
    actions.approve_plan(plan_of(c), 1, "alice")
    scripted(call("add_subtask", name="Check"), call("fail_subtask", error="enough"))
    drive()
    assert calls_of(c, "add_subtask")[0].result.endswith(said)


def test_what_is_too_long_is_said_in_characters():
    c = proposed_plan("Read")
    tell(c, "and more")
    scripted(call("revise_current_plan", subtasks=[{"name": "x" * 5000}]), say("Sorry."))
    tell(c, "add one")
    assert "at most 500 characters" in calls_of(c, "revise_current_plan")[0].result


LONG = {"name": "Read", "description": "x" * 20_000, "expected_outcome": "y" * 20_000}


def test_a_plan_too_long_as_a_whole_is_refused_where_it_is_made_and_where_it_grows():
    scripted(call("create_plan", title="Long", subtasks=[LONG] * 11), say("Sorry."))
    c = conversation()
    tell(c, "/plan a long one")
    assert "at most 400,000 characters" in calls_of(c, "create_plan")[0].result
    assert not Plan.objects.filter(conversation=c).exists()
    c = proposed_plan("Read")
    add = call("revise_current_plan", subtasks=[LONG] * 4)
    scripted(add, add, add, say("That is all."))
    tell(c, "more, more")
    results = [each.result for each in calls_of(c, "revise_current_plan")]
    assert ["at most" in result for result in results] == [False, False, True]
    assert "this one would have" in results[-1]
    assert (plan_of(c).version, plan_of(c).subtasks.count()) == (3, 9)


@pytest.mark.parametrize("priority", [80, 99])
def test_in_a_narrow_window_the_plan_goes_before_the_words_that_say_to_wait(priority):
    plan = {"enabled": True, "priority": priority, "context": "full"}
    c = conversation(plan=plan, context_window=512)
    create_plan(c, title="T", content="word " * 2000, subtasks=["Read"], by="alice")
    model = scripted(say("Hello."))
    tell(c, "hello")
    assert "you cannot start it" in str(model.requests[0]["messages"][0])
