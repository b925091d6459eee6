"""Pause holds whatever the run is at, and resume ends it, however the two meet the worker."""

import pytest

from agents.actors import AGENT
from agents.errors import TurnWaits
from agents.models import Turn, TurnState
from plans import actions
from plans.models import Run, State
from plans.schemas import PlanDraft, Revision, SubtaskDraft
from tests.fake_model import say
from tests.inner import (
    ModelError,
    claim,
    end,
    handler_of,
    interrupt,
    model_failed,
    release,
    requeue,
    suspend,
)
from tests.world import done, drive, plan_of, proposed, scripted

pytestmark = pytest.mark.django_db(transaction=True)

BUSY = ModelError("busy", "The server is busy", "Try again.", retry_after=60.0)


REWORDED = Revision.model_validate({"subtasks": [{"key": "s1", "name": "Read twice"}]})


def row_of(turn):
    return Turn.objects.get(pk=turn.pk)


def finish(c):
    scripted(done(), done(), say("ok"))
    drive()
    return plan_of(c).state


def test_a_resume_that_comes_before_the_turn_has_paused_takes_the_pause_back(running):
    c, turn = running
    actions.pause_plan(plan_of(c), "alice")
    actions.resume_plan(plan_of(c), "alice")
    suspend(turn, TurnWaits(Turn.WaitingFor.PAUSE))  # the worker had read the wish before
    assert plan_of(c).run == Run.RUNNING
    assert row_of(turn).state == TurnState.QUEUED
    assert finish(c) == State.DONE


@pytest.mark.parametrize("lose", [release, interrupt])
def test_a_paused_turn_whose_worker_is_gone_goes_on_when_it_is_resumed(running, lose):
    c, turn = running
    actions.pause_plan(plan_of(c), "alice")
    lose(turn)
    assert plan_of(c).run == Run.PAUSING
    actions.resume_plan(plan_of(c), "alice")
    assert not row_of(turn).pause_requested
    assert finish(c) == State.DONE


def test_a_paused_turn_whose_worker_is_gone_pauses_at_its_next_step(running):
    c, turn = running
    actions.pause_plan(plan_of(c), "alice")
    release(turn)
    model = scripted(done())
    drive()
    assert (plan_of(c).run, row_of(turn).waiting_for) == (Run.PAUSED, Turn.WaitingFor.PAUSE)
    assert not model.requests


def test_a_pause_does_not_wait_for_the_next_try_of_a_busy_model(running):
    c, turn = running
    actions.pause_plan(plan_of(c), "alice")
    model_failed(turn, BUSY)
    assert (plan_of(c).run, row_of(turn).waiting_for) == (Run.PAUSED, Turn.WaitingFor.PAUSE)
    actions.resume_plan(plan_of(c), "alice")
    assert row_of(turn).not_before is None, "a person's resume tries again at once"
    assert finish(c) == State.DONE


def test_a_pause_while_another_agent_works_holds_once_that_has_answered(running):
    c, turn = running
    suspend(turn, TurnWaits(Turn.WaitingFor.CHILD))
    actions.pause_plan(plan_of(c), "alice")
    assert plan_of(c).run == Run.PAUSING, "the other agent still works"
    requeue(row_of(turn))
    model = scripted(done())
    drive()
    assert (plan_of(c).run, row_of(turn).waiting_for) == (Run.PAUSED, Turn.WaitingFor.PAUSE)
    assert not model.requests
    actions.resume_plan(plan_of(c), "alice")
    assert finish(c) == State.DONE


def test_a_pause_that_was_asked_for_just_before_another_agent_was_called_holds(running):
    c, turn = running
    actions.pause_plan(plan_of(c), "alice")
    suspend(turn, TurnWaits(Turn.WaitingFor.CHILD))
    assert plan_of(c).run == Run.PAUSING
    requeue(row_of(turn))
    model = scripted(done())
    drive()
    assert plan_of(c).run == Run.PAUSED and not model.requests


def test_a_resume_while_another_agent_works_lets_the_run_go_on(running):
    c, turn = running
    suspend(turn, TurnWaits(Turn.WaitingFor.CHILD))
    actions.pause_plan(plan_of(c), "alice")
    actions.resume_plan(plan_of(c), "alice")
    assert plan_of(c).run == Run.RUNNING
    requeue(row_of(turn))
    assert finish(c) == State.DONE


def stopped_and_run_again(c):
    actions.stop_plan(plan_of(c), "alice")
    actions.run_plan(plan_of(c), "alice")


def set_aside_and_resumed(c):
    old = plan_of(c)
    actions.create_plan(c, PlanDraft(title="Other", subtasks=["Look"]), "alice")
    actions.activate_plan(old, "alice")
    actions.resume_plan(old, "alice")


def reworded_and_approved(c):
    actions.revise_plan(plan_of(c), REWORDED, AGENT)
    actions.approve_plan(plan_of(c), 2, "alice")


@pytest.mark.parametrize(
    "going_on", [stopped_and_run_again, set_aside_and_resumed, reworded_and_approved]
)
def test_a_start_while_the_last_attempt_is_being_stopped_goes_on_when_it_has(running, going_on):
    c, turn = running
    going_on(c)
    interrupt(turn)
    assert (row_of(turn).state, plan_of(c).run) == (TurnState.STOPPED, Run.QUEUED)
    assert finish(c) == State.DONE


def test_a_stop_after_such_a_start_holds(running):
    c, turn = running
    stopped_and_run_again(c)
    actions.stop_plan(plan_of(c), "alice")
    interrupt(turn)
    assert plan_of(c).run == Run.IDLE


@pytest.mark.parametrize("running", [{"confirm": "create"}], indirect=True)
def test_a_run_that_needs_no_new_yes_goes_on_with_the_reworded_subtask(running):
    c, turn = running
    actions.revise_plan(plan_of(c), REWORDED, AGENT)
    interrupt(turn)
    assert plan_of(c).run == Run.QUEUED
    assert finish(c) == State.DONE


@pytest.mark.parametrize(("confirm", "run"), [("always", Run.PAUSED), ("never", Run.QUEUED)])
def test_work_that_is_added_while_the_plan_is_closed_waits_only_for_a_yes(confirm, run):
    c = proposed("Read", plan={"enabled": True, "confirm": confirm})
    actions.approve_plan(plan_of(c), 1, "alice", run="no")
    actions.skip_subtask(plan_of(c), "s1", "alice")
    [closing] = claim(5)
    handler_of(closing).prepare(closing)
    actions.add_subtask(plan_of(c), SubtaskDraft(name="Write"), "alice")
    end(closing, TurnState.DONE)
    assert plan_of(c).run == run
    if run == Run.PAUSED:
        assert plan_of(c).pause_reason == "confirm"
        actions.approve_plan(plan_of(c), 2, "alice")
    assert finish(c) == State.DONE
