"""What the drawer says of a run that rests, or is about to: who wanted it, and for what."""

import pytest

from agents.actors import AGENT
from plans import actions
from plans.schemas import PlanDraft
from tests.fake_model import call
from tests.inner import label_of_plan, plan_snapshot
from tests.markup import flat
from tests.world import approved, drive, person, plan_of, proposed, scripted, signed_in

pytestmark = pytest.mark.django_db(transaction=True)

GOES_ON = "Subtask 1 goes on when you resume."


def words(plan):
    return label_of_plan(plan_snapshot(plan), plan.conversation).words


def pause(c, by):
    actions.pause_plan(plan_of(c), by)


def make_another(c, by):
    actions.create_plan(c, PlanDraft(title="Other", subtasks=["Look"]), by)


@pytest.mark.parametrize(
    ("rest", "by", "says"),
    [
        (pause, "alice", "Paused."),
        (pause, "bob", "Paused by bob."),
        (make_another, "alice", "Paused: you asked for another plan."),
        (make_another, "bob", "Paused: bob asked for another plan."),
        (make_another, AGENT, "Paused: another plan was asked for."),
    ],
)
def test_a_run_that_rests_says_who_or_what_paused_it(rest, by, says):
    c = approved("Read", "Write", run="all")
    plan = plan_of(c)
    rest(c, by)
    assert words(plan) == f"{says} {GOES_ON}"
    page = flat(signed_in(person()).get(f"/plans/{plan.pk}/").content.decode())
    assert says in page


@pytest.mark.parametrize(
    ("asks", "says"),
    [
        (call("ask_user", question="Which?"), "Waiting for your answer"),
        (call("write_file", path="a.txt", content="a"), "Waiting for you: write_file"),
    ],
)
def test_a_run_that_will_pause_after_your_answer_says_so(asks, says):
    c = approved("Read", run="all", tools={"write_file": "ask"})
    scripted(asks)
    drive()
    assert words(plan_of(c)) == says
    pause(c, "alice")
    assert words(plan_of(c)) == f"{says}. It pauses next."
    page = flat(signed_in(person()).get(f"/c/{c.pk}/").content.decode())
    drawer = page[page.index('id="plan-head"') :]
    assert drawer.count("It pauses next") >= 2, "beside the state and in the button"


@pytest.mark.parametrize(("by", "says"), [("alice", "Stopped by you"), ("bob", "Stopped by bob")])
def test_a_stopped_plan_says_who_stopped_it_and_when(by, says):
    c = proposed("One", "Two")
    actions.approve_plan(plan_of(c), 1, "alice", run="next")
    scripted(call("finish_subtask", outcome="done"))
    drive()
    actions.run_plan(plan_of(c), "alice")
    actions.stop_plan(plan_of(c), by)
    drive()
    label = label_of_plan(plan_snapshot(plan_of(c)), c)
    assert (label.words, label.word) == (says, "Stopped")
    page = flat(signed_in(person("alice")).get(f"/c/{c.pk}/").content.decode())
    assert f"{says} at <time" in page.split('id="plan-head"')[1]
