"""What the state machine has found, each as its shortest story."""

import pytest

from agents.actors import AGENT
from agents.errors import Conflict, TurnWaits
from agents.models import Turn
from plans import actions
from plans.models import ActivePlan, Plan, Run, State
from plans.schemas import PlanDraft, Revision
from tests.inner import checklist, claim, due, handler_of, suspend
from tests.world import conversation

pytestmark = pytest.mark.django_db


def made(c=None, *names):
    draft = PlanDraft(title="Tidy", subtasks=list(names or ("Read", "Write")))
    return actions.create_plan(c or conversation(), draft, "alice")


def paused_in_the_midst():
    plan = made()
    actions.approve_plan(plan, 1, "alice")
    [turn] = claim(1)
    handler_of(turn).prepare(turn)
    actions.pause_plan(plan, "alice")
    suspend(turn, TurnWaits(Turn.WaitingFor.PAUSE))
    return plan, turn


def test_a_replan_that_names_a_subtask_twice_gives_it_one_place():
    plan = made()
    twice = [{"key": "s1"}, {"key": "s2"}, {"key": "s1", "name": "Read on"}]
    actions.replace_rest(plan, "s1", Revision.model_validate({"subtasks": twice}), AGENT)
    rows = checklist(plan).values_list("position", "key", "name")
    assert list(rows) == [(1, "s1", "Read on"), (2, "s2", "Write")]


def test_a_plan_cancelled_while_it_waits_to_be_closed_is_not_stopping_for_ever():
    plan = made()
    actions.approve_plan(plan, 1, "alice", run="no")
    for key in ("s1", "s2"):
        actions.skip_subtask(plan, key, "alice")
    assert due().get().kind == "closing"
    actions.cancel_plan(plan, "alice")
    plan.refresh_from_db()
    assert (plan.state, plan.run) == (State.ABANDONED, Run.IDLE)


def test_deleting_a_paused_plan_ends_the_turn_that_waits_so_that_the_next_plan_can_run():
    plan, turn = paused_in_the_midst()
    c = plan.conversation
    actions.delete_plan(plan, "alice")
    assert not Turn.objects.get(pk=turn.pk).is_open
    actions.approve_plan(made(c), 1, "alice")
    assert due().exists()


def test_no_plan_starts_behind_another_that_is_paused_in_the_midst_of_a_subtask():
    first, _ = paused_in_the_midst()
    ActivePlan.objects.update(plan=None)  # made beside it, so that it is not superseded
    second = made(first.conversation)
    with pytest.raises(Conflict, match="“Tidy” is paused in the midst of a subtask: stop it first"):
        actions.approve_plan(second, 1, "alice")
    assert Plan.objects.get(pk=second.pk).approved_version is None
    actions.stop_plan(first, "alice")
    actions.approve_plan(second, 1, "alice")
    assert due().exists()
