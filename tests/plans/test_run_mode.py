"""A run that was started for the next subtask only stays one, whatever starts it again."""

import pytest

from plans import actions
from plans.models import Run
from plans.schemas import PlanEdit
from tests.builders import proposed_plan
from tests.fake_model import call, say
from tests.world import drive, plan_of, scripted, states

pytestmark = pytest.mark.django_db(transaction=True)

DONE = call("finish_subtask", outcome="done")
FAILED = call("fail_subtask", error="no")


def retry(plan):
    actions.retry_subtask(plan, "s1", "alice")


def start_again(plan):
    actions.run_plan(plan, "alice")


def approve_an_edit(plan):
    edited = actions.edit_plan(plan, PlanEdit(title="Another"), "alice", plan.version)
    actions.approve_plan(edited, edited.version, "alice")


def replan_and_approve(plan):
    scripted(call("revise_current_plan", subtasks=[{"name": "A"}, {"name": "B"}]), say("Anew."))
    actions.replan_rest(plan, "alice")
    drive()
    plan.refresh_from_db()
    scripted(DONE, DONE, DONE, say("All done."))
    actions.approve_plan(plan, plan.version, "alice")


@pytest.mark.parametrize("again", [retry, start_again, approve_an_edit, replan_and_approve])
def test_after_a_failure_only_the_next_subtask_runs(again):
    c = proposed_plan("Read", "Write", "Check")
    actions.approve_plan(plan_of(c), 1, "alice", run="next")
    scripted(FAILED)
    drive()
    scripted(DONE, DONE, DONE, say("All done."))
    again(plan_of(c))
    drive()
    assert states(c).count("done") == 1
    assert plan_of(c).run == Run.IDLE


def answer(plan):
    actions.answer_question(plan, "42", "alice")


def resume(plan):
    actions.pause_plan(plan, "alice")
    actions.resume_plan(plan, "alice")


@pytest.mark.parametrize("go_on", [answer, resume])
def test_what_goes_on_after_a_wait_goes_no_further(go_on):
    c = proposed_plan("Read", "Write", "Check")
    actions.approve_plan(plan_of(c), 1, "alice", run="next")
    if go_on is answer:
        scripted(call("ask_user", question="How many?"))
        drive()
    scripted(DONE, DONE, DONE, say("All done."))
    go_on(plan_of(c))
    drive()
    assert states(c) == ["done", "todo", "todo"]


def test_a_raised_budget_goes_on_in_the_same_mode():
    c = proposed_plan("Read", "Write", "Check")
    actions.raise_budget(plan_of(c), "alice", {"model_calls": 1})
    actions.approve_plan(plan_of(c), 1, "alice", run="next")
    scripted(call("report_progress", text="half"), DONE, DONE, DONE, say("All done."))
    drive()
    assert plan_of(c).pause_reason == "budget"
    actions.raise_budget(plan_of(c), "alice", {"model_calls": 99})
    drive()
    assert states(c) == ["done", "todo", "todo"]


def test_a_person_may_always_say_otherwise():
    c = proposed_plan("Read", "Write")
    actions.approve_plan(plan_of(c), 1, "alice", run="next")
    scripted(DONE, DONE, say("All done."))
    drive()
    actions.run_plan(plan_of(c), "alice", "all")
    drive()
    assert states(c) == ["done", "done"]
