"""Several plans in one conversation: each under its own goal, one in the drawer, none lost."""

import pytest

from agents.db import in_db
from agents.errors import Conflict
from agents.models import Lane, Turn
from plans import actions
from plans.models import ActivePlan, Plan, Run, State
from plans.schemas import PlanDraft, SubtaskDraft
from tests.builders import approved_plan, proposed_plan
from tests.fake_model import call, say, silent
from tests.inner import discard_queued, plan_snapshot, repair_one
from tests.inner import handle_message as person_says
from tests.world import (
    conversation,
    drive,
    eventually,
    happening,
    plan_of,
    proposal,
    scripted,
    states,
    tell,
    texts,
)

pytestmark = pytest.mark.django_db(transaction=True)


def asked(c):
    return ActivePlan.objects.get(conversation=c).asked


# Whose goal


def test_of_two_askings_in_a_row_the_second_is_planned_under_its_own_goal():
    c = conversation()
    first = person_says(c, "/plan paint the fence", "alice")
    person_says(c, "/plan bake a cake", "alice")
    scripted(proposal("Mix", title="Cake"), say("Here."))
    drive()
    assert [(p.title, p.goal) for p in Plan.objects.all()] == [("Cake", "bake a cake")]
    assert Turn.objects.get(pk=first.turn.pk).state == "stopped"
    assert texts(c, "notice", "system") == [
        "“paint the fence” is not planned any more: another plan was asked for."
    ]


def test_an_asking_that_runs_never_makes_its_plan_under_the_next_goal():
    c = conversation()
    model = scripted(silent(), proposal("Mix"), say("Here."))

    async def story(worker):
        await in_db(person_says, c, "/plan paint the fence", "alice")
        await eventually(lambda: model.requests)
        await in_db(person_says, c, "/plan bake a cake", "alice")
        await eventually(lambda: Plan.objects.exists() and not asked(c))

    happening(story)
    assert [plan.goal for plan in Plan.objects.all()] == ["bake a cake"]


def test_an_answer_given_before_the_asking_does_not_make_its_plan():
    c = conversation()
    person_says(c, "what is a fence?", "alice")
    person_says(c, "/plan paint the fence", "alice")
    scripted(say("A row of boards."), proposal("Sand"), say("Here."))
    drive()
    assert [plan.goal for plan in Plan.objects.all()] == ["paint the fence"]
    assert "A row of boards." in texts(c)


def test_an_answer_to_a_question_back_is_planned_under_the_goal():
    c = conversation()
    scripted(say("Which colour?"))
    tell(c, "/plan paint the fence")
    scripted(proposal("Sand"), say("Here."))
    tell(c, "red")
    assert plan_of(c).goal == "paint the fence"


def test_an_asking_that_is_taken_back_before_it_begins_is_over():
    c = conversation()
    said = person_says(c, "/plan paint the fence", "alice")
    discard_queued(said.message, "alice")
    assert not asked(c)
    scripted(say("Hello."))
    tell(c, "hello")
    assert not Plan.objects.exists()


def test_starting_over_keeps_the_goal_and_says_superseded():
    c = proposed_plan("Read", "Write")
    old = plan_of(c)
    again = proposal("Think first", title="Other")
    scripted(call("finish_plan", state="abandoned"), again, say("Here."))
    tell(c, "no, start over")
    old.refresh_from_db()
    assert (old.state, old.reason) == (State.ABANDONED, "superseded")
    assert {each.reason for each in old.subtasks.all()} == {"superseded"}
    new = plan_of(c)
    assert (new.title, new.goal, new.replaces_id) == ("Other", old.goal, old.pk)


def test_throwing_away_without_another_plan_is_a_cancelling():
    c = proposed_plan("Read")
    scripted(call("finish_plan", state="abandoned"), say("It is gone."))
    tell(c, "throw it away")
    assert plan_of(c).reason == "cancelled"


# Which plan stays


def test_another_plan_command_supersedes_only_what_was_never_approved():
    c = proposed_plan("Read")
    old = plan_of(c)
    scripted(proposal("Other", title="Second"), say("Here."))
    tell(c, "/plan something else")
    old.refresh_from_db()
    assert (old.state, old.reason) == (State.ABANDONED, "superseded")
    with pytest.raises(Conflict, match="This plan is replaced by a newer one"):
        actions.approve_plan(old, 1, "alice")


def test_an_approved_plan_stays_open_and_inactive_and_comes_back():
    c = approved_plan("Read", "Write")
    old = plan_of(c)
    scripted(proposal("Other", title="Second"), say("Here."))
    tell(c, "/plan something else")
    old.refresh_from_db()
    assert (old.state, old.approved_version) == (State.TODO, 1)
    assert [plan_snapshot(p).active for p in Plan.objects.order_by("pk")] == [False, True]
    actions.activate_plan(old, "alice")
    scripted(*[call("finish_subtask", outcome="done")] * 2, say("All."))
    actions.run_plan(old, "alice", version=1)
    drive()
    assert plan_of(c).pk == old.pk
    assert plan_of(c).state == State.DONE


def test_a_run_that_is_set_aside_rests_and_leaves_the_lane_to_the_new_plan():
    c = proposed_plan("Read", "Write")
    old = plan_of(c)
    model = scripted(silent(), proposal("Other", title="Second"), say("Here."))

    async def story(worker):
        await in_db(actions.approve_plan, old, 1, "alice")
        await eventually(lambda: model.requests)
        await in_db(person_says, c, "/plan something else", "alice")
        await eventually(lambda: Plan.objects.count() == 2)
        await eventually(lambda: Plan.objects.get(pk=old.pk).run == Run.PAUSED)
        await eventually(lambda: len(model.requests) == 3)
        await eventually(lambda: not Turn.objects.filter(state__in=["queued", "running"]).exists())

    happening(story)
    old.refresh_from_db()
    assert (old.is_open, old.pause_reason) == (True, "aside")
    new = plan_of(c)
    scripted(call("finish_subtask", outcome="done"), say("All."))
    actions.approve_plan(new, 1, "alice")
    drive()
    assert plan_of(c).state == State.DONE
    actions.activate_plan(old, "alice")
    scripted(*[call("finish_subtask", outcome="done")] * 2, say("All."))
    actions.resume_plan(old, "alice", 1)
    drive()
    assert states(c) == ["done", "done"]


def test_a_plan_beside_leaves_even_a_proposal_alone():
    c = proposed_plan("Read")
    old = plan_of(c)
    new = actions.create_plan(c, PlanDraft(title="B", subtasks=["x"]), "alice", beside=True)
    old.refresh_from_db()
    assert old.is_open
    assert plan_of(c).pk == new.pk


def test_a_plan_beside_a_run_does_not_touch_it():
    c = proposed_plan("Read", "Write")
    old = plan_of(c)
    actions.approve_plan(old, 1, "alice")
    new = actions.create_plan(c, PlanDraft(title="B", subtasks=["x"]), "alice", beside=True)
    assert plan_of(c).pk == old.pk
    assert plan_of(c).run == Run.QUEUED
    with pytest.raises(Conflict, match="A plan is running"):
        actions.activate_plan(new, "alice")


# One decision, one answer


def test_the_same_yes_after_the_plan_has_finished_gives_the_same_answer():
    c = proposed_plan("Read")
    plan = plan_of(c)
    scripted(call("finish_subtask", outcome="done"), say("All."))
    tell(c, "go")
    assert actions.approve_plan(plan, 1, "alice").state == State.DONE
    assert plan_of(c).state == State.DONE
    with pytest.raises(Conflict):
        actions.approve_plan(plan, 2, "alice")


@pytest.mark.parametrize(
    ("reason", "said"),
    [("superseded", "replaced by"), ("cleared", "cleared away"), ("cancelled", "cancelled")],
)
def test_what_ended_a_plan_is_said_by_its_name(reason, said):
    plan = plan_of(proposed_plan("Read"))
    actions.cancel_plan(plan, "alice", reason)
    with pytest.raises(Conflict, match=said):
        actions.run_plan(plan, "alice")


def test_the_rest_is_planned_anew_once_at_a_time():
    c = proposed_plan("Read", "Write", "Check")
    actions.replan_rest(plan_of(c), "alice", "s2")
    with pytest.raises(Conflict, match="being replanned already"):
        actions.replan_rest(plan_of(c), "alice", "s3")
    assert Turn.objects.filter(checkpoint__replan__isnull=False).count() == 1


def test_an_open_question_is_answered_first_whatever_the_words():
    c = proposed_plan("Read", "Write")
    scripted(call("ask_user", question="Which one?"))
    tell(c, "go")
    actions.add_subtask(plan_of(c), PlanDraft(title="t", subtasks=["Z"]).subtasks[0], "alice")
    assert not plan_of(c).is_confirmed
    transport = scripted(lambda request: call("finish_subtask", outcome="done"))
    tell(c, "yes")
    plan = plan_of(c)
    assert (plan.question, plan.approved_version, plan.version) == ("", 1, 2)
    assert any("The person answered: yes" in str(each) for each in transport.requests)


# The lane that two plans share


def may_run(plan):
    """Its turn is open, and no turn of another plan that waits holds the lane."""
    turns = Turn.objects.filter(conversation=plan.conversation, lane=Lane.RUN)
    own = turns.filter(plan=plan.pk, state__in=["queued", "running", "waiting"])
    others = turns.filter(state="waiting").exclude(plan=plan.pk)
    return own.exists() and not others.exists()


def demand_somebody_runs_it():
    for plan in Plan.objects.filter(run__in=[Run.QUEUED, Run.RUNNING]):
        assert may_run(plan), f"{plan.title} is {plan.run} for ever"


def failed_beside_one_that_waits():
    """The first plan failed and is in the drawer; the second waits within a subtask."""
    c = proposed_plan("Read", tools={"write_file": "ask"})
    first = plan_of(c)
    scripted(call("fail_subtask", error="No."))
    tell(c, "go")
    draft = PlanDraft(title="Second", subtasks=["Write"])
    second = actions.create_plan(c, draft, "alice", beside=True)
    scripted(call("write_file", path="a.md", content="A"))
    actions.approve_plan(second, 1, "alice")
    drive()
    second.refresh_from_db()
    assert second.run == Run.PAUSED
    actions.activate_plan(first, "alice")
    return first


def lost(plan):
    """The server died between the wish to run and the turn that carries it out."""
    Plan.objects.filter(pk=plan.pk).update(run=Run.QUEUED)
    repair_one(plan)


def edited(plan):
    actions.add_subtask(plan, SubtaskDraft(name="More"), "alice")
    actions.approve_plan(plan, 2, "alice")


START = {
    "skip": lambda plan: actions.skip_subtask(plan, "s1", "alice"),
    "retry": lambda plan: actions.retry_subtask(plan, "s1", "alice"),
    "run": lambda plan: actions.run_plan(plan, "alice"),
    "edit and approve": edited,
    "repair": lost,
}


@pytest.mark.parametrize("verb", START)
def test_no_plan_is_said_to_run_while_another_holds_the_lane(verb):
    plan = failed_beside_one_that_waits()
    try:
        START[verb](Plan.objects.get(pk=plan.pk))
    except Conflict as refusal:
        assert "“Second” is paused in the midst of a subtask: stop it first." in str(refusal)
    demand_somebody_runs_it()
    plan.refresh_from_db()
    assert plan.run == Run.IDLE
    if verb == "skip":
        assert plan.subtasks.get().state == State.TODO, "all of it or nothing"


@pytest.mark.parametrize("verb", ["skip", "retry", "run", "edit and approve"])
def test_it_runs_when_the_other_was_stopped(verb):
    plan = failed_beside_one_that_waits()
    actions.stop_plan(Plan.objects.get(title="Second"), "alice")
    drive()
    START[verb](Plan.objects.get(pk=plan.pk))
    demand_somebody_runs_it()
    plan.refresh_from_db()
    assert plan.run == Run.QUEUED
