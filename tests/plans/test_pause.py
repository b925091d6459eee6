"""Pause holds whatever the run is at, and resume ends it, however the two meet the worker."""

import pytest

from agents.engine.lifecycle import interrupt, model_failed, requeue, suspend
from agents.errors import TurnWaits
from agents.llm.errors import ModelError
from agents.models import Turn, TurnState
from agents.queue.claims import claim
from agents.queue.leases import release
from plans import actions
from plans.models import Run, State
from tests.fake_model import say
from tests.world import done, drive, plan_of, proposed, scripted

pytestmark = pytest.mark.django_db(transaction=True)

BUSY = ModelError("busy", "The server is busy", "Try again.", retry_after=60.0)


@pytest.fixture
def running():
    """A conversation whose plan is at its first subtask, and the turn that a worker has."""
    c = proposed("Read", "Write")
    actions.approve_plan(plan_of(c), 1, "alice")
    [turn] = claim(5)
    actions.begin_attempt(turn)
    return c, turn


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
