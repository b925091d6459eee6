"""Whatever a run waits for, a person's wish about it holds: each wait with each verb, in both orders."""

import pytest

from agents.actors import AGENT
from agents.errors import Conflict, NothingToDo, TurnWaits
from agents.models import Message, ToolCall, Turn, TurnState
from plans import actions
from plans.models import Run, State
from plans.schemas import PlanDraft
from tests.builders import proposed_plan, taken
from tests.fake_model import call, say
from tests.inner import (
    checklist,
    claim,
    decide_call,
    end,
    handler_of,
    interrupt,
    model_failed,
    persistence,
    requeue,
    retry_now,
    suspend,
)
from tests.inner import fragments_changes as changes
from tests.plans.test_pause import (
    BUSY,
    REWORDED,
    finish,
    row_of,
    stopped_and_run_again,
)
from tests.world import done, drive, files_of, plan_of, scripted, shown

pytestmark = pytest.mark.django_db(transaction=True)

# Every way in which a turn of a run waits, and what ends the wait.


def called(turn, tool, state=""):
    with persistence.fenced(turn):
        message = persistence.add_message(turn, "assistant", Message.Kind.TEXT)
        arguments = {"question": "Which?"} if tool == "ask_user" else {}
        return ToolCall.objects.create(
            message=message, turn=turn, call_id="c1", tool=tool, arguments=arguments, state=state
        )


def approval(turn):
    call = called(turn, "write_file")
    persistence.ask_for_call(turn, call, "")
    suspend(turn, TurnWaits(Turn.WaitingFor.APPROVAL))


def question(turn):
    called(turn, "ask_user", ToolCall.State.RUNNING)
    actions.ask_question(turn, "Which?", AGENT)
    suspend(turn, TurnWaits(Turn.WaitingFor.QUESTION))


def child(turn):
    suspend(turn, TurnWaits(Turn.WaitingFor.CHILD))


def retry(turn):
    model_failed(turn, BUSY)


def budget(turn):
    suspend(turn, TurnWaits(Turn.WaitingFor.PAUSE, because="budget: 5 of 5 tokens"))


def decide(decision):
    return lambda c: decide_call(ToolCall.objects.get(state="asked"), decision, "alice")


def answer(c):
    actions.answer_question(plan_of(c), "This one.", "alice")


def child_answers(c):
    requeue(Turn.objects.get(waiting_for="child"))


def next_try(c):
    Turn.objects.filter(state="queued").update(not_before=None)


def raise_limit(c):
    actions.raise_budget(plan_of(c), "alice", {"tokens": 10**6})


WAITS = {
    "allowed": (approval, decide("allow_once")),
    "denied": (approval, decide("deny")),
    "question": (question, answer),
    "child": (child, child_answers),
    "retry": (retry, next_try),
    "budget": (budget, raise_limit),
}
each_wait = pytest.mark.parametrize(("wait", "end_wait"), WAITS.values(), ids=WAITS)


def stands(c):
    plan = plan_of(c)
    return plan.run, plan.pause_reason


def work_of_the_runner():
    """What is due is done, with a model that finishes each subtask; gives its requests."""
    model = scripted(lambda request: done())
    drive()
    return model.requests


@each_wait
@pytest.mark.parametrize("first", ["pause", "wait"])
@pytest.mark.sampled(6)
def test_a_pause_holds_beyond_every_wait(running, wait, end_wait, first):
    c, turn = running
    steps = [lambda: actions.pause_plan(plan_of(c), "alice"), lambda: wait(turn)]
    for step in steps if first == "pause" else reversed(steps):
        step()
    assert stands(c) in [(Run.PAUSED, "user"), (Run.PAUSING, "user")]
    actions.pause_plan(plan_of(c), "bob")  # it is paused already, and not by him
    end_wait(c)
    assert stands(c) in [(Run.PAUSED, "user"), (Run.PAUSING, "user")]
    assert not work_of_the_runner()
    assert stands(c) == (Run.PAUSED, "user")
    assert (plan_of(c).paused_by, row_of(turn).waiting_for) == ("alice", "pause")
    actions.resume_plan(plan_of(c), "alice")
    assert plan_of(c).paused_by == ""
    assert finish(c) == State.DONE


@each_wait
@pytest.mark.parametrize("first", ["stop", "wait"])
@pytest.mark.sampled(6)
def test_a_stop_holds_against_every_wait(running, wait, end_wait, first):
    c, turn = running
    steps = [lambda: actions.stop_plan(plan_of(c), "alice"), lambda: wait(turn)]
    for step in steps if first == "stop" else reversed(steps):
        step()
    assert (row_of(turn).state, plan_of(c).run) == (TurnState.STOPPED, Run.IDLE)
    assert not work_of_the_runner()
    actions.run_plan(plan_of(c), "alice")
    assert finish(c) == State.DONE


@each_wait
@pytest.mark.sampled(2)
def test_a_resume_takes_a_pause_back_before_the_wait_has_ended(running, wait, end_wait):
    c, turn = running
    wait(turn)
    before = stands(c)
    actions.pause_plan(plan_of(c), "alice")
    actions.resume_plan(plan_of(c), "alice")
    if wait in (approval, question):
        assert stands(c) == before
    if wait is not budget:  # there the resume goes on at once, until the limit is met again
        end_wait(c)
    assert finish(c) == State.DONE


@each_wait
@pytest.mark.sampled(2)
def test_an_edit_beside_a_wait_lets_the_attempt_end_and_waits_for_a_yes(running, wait, end_wait):
    c, turn = running
    wait(turn)
    actions.update_subtask(plan_of(c), "s2", {"name": "Write more"}, "alice")
    end_wait(c)
    if wait is budget:  # a higher limit is no yes
        assert stands(c) == (Run.PAUSED, "budget")
        actions.approve_plan(plan_of(c), 2, "alice")
    else:
        assert stands(c) == (Run.PAUSING, "confirm")
        assert len(work_of_the_runner()) == 1
        assert stands(c) == (Run.PAUSED, "confirm")
        actions.approve_plan(plan_of(c), 2, "alice")
    assert finish(c) == State.DONE


@each_wait
@pytest.mark.sampled(2)
def test_a_yes_to_a_new_version_beside_a_wait_goes_on_when_that_has_ended(running, wait, end_wait):
    c, turn = running
    wait(turn)
    actions.pause_plan(plan_of(c), "alice")
    actions.update_subtask(plan_of(c), "s2", {"name": "Write more"}, "alice")
    actions.approve_plan(plan_of(c), 2, "alice")
    if wait is not budget:
        end_wait(c)
    assert finish(c) == State.DONE


@each_wait
@pytest.mark.sampled(2)
def test_skipping_a_later_subtask_moves_no_wait_and_no_pause(running, wait, end_wait):
    c, turn = running
    wait(turn)
    actions.pause_plan(plan_of(c), "alice")
    before = stands(c), row_of(turn).waiting_for
    actions.skip_subtask(plan_of(c), "s2", "alice")
    assert (stands(c), row_of(turn).waiting_for) == before
    with pytest.raises(Conflict):
        actions.retry_subtask(plan_of(c), "s1", "alice")
    end_wait(c)
    assert not work_of_the_runner()
    assert stands(c) == (Run.PAUSED, "user")


@each_wait
@pytest.mark.parametrize("running", [{"confirm": "create"}], indirect=True)
@pytest.mark.sampled(2)
def test_a_reworded_subtask_that_waits_goes_on_with_its_new_words(running, wait, end_wait):
    c, turn = running
    wait(turn)
    rests = wait is budget
    actions.revise_plan(plan_of(c), REWORDED, AGENT)
    assert row_of(turn).state == TurnState.STOPPED
    assert stands(c) == ((Run.PAUSED, "budget") if rests else (Run.QUEUED, ""))
    assert not ToolCall.objects.filter(state="asked").exists(), "its question went with it"
    if rests:
        raise_limit(c)
    requests = work_of_the_runner()
    assert "Read twice" in str(requests[0]["messages"])
    assert plan_of(c).state == State.DONE
    first = plan_of(c).subtasks.get(key="s1").attempts.order_by("number").first()
    assert (first.failure_class, first.error) == ("interrupted", "")


@each_wait
@pytest.mark.parametrize("running", [{"confirm": "create"}], indirect=True)
@pytest.mark.sampled(2)
def test_a_reworded_subtask_that_is_paused_stays_paused(running, wait, end_wait):
    c, turn = running
    wait(turn)
    actions.pause_plan(plan_of(c), "alice")
    actions.revise_plan(plan_of(c), REWORDED, AGENT)
    assert not work_of_the_runner()
    assert (stands(c), plan_of(c).paused_by) == ((Run.PAUSED, "user"), "alice")
    actions.resume_plan(plan_of(c), "alice")
    assert finish(c) == State.DONE


@each_wait
@pytest.mark.sampled(3)
def test_a_reworded_subtask_that_waits_needs_a_new_yes_where_none_is_given(running, wait, end_wait):
    c, turn = running
    wait(turn)
    actions.revise_plan(plan_of(c), REWORDED, AGENT)
    assert not work_of_the_runner()
    assert stands(c) == (Run.PAUSED, "confirm")
    actions.approve_plan(plan_of(c), 2, "alice")
    assert finish(c) == State.DONE


@each_wait
@pytest.mark.sampled(2)
def test_another_plan_sets_a_run_aside_whatever_that_waits_for(running, wait, end_wait):
    c, turn = running
    wait(turn)
    old = plan_of(c)
    actions.create_plan(c, PlanDraft(title="Other", subtasks=["Look"]), "alice")
    old.refresh_from_db()
    assert (old.run, old.pause_reason, old.paused_by) == (Run.PAUSED, "aside", "alice")
    actions.activate_plan(old, "alice")
    actions.resume_plan(old, "alice")
    assert finish(c) == State.DONE


@pytest.mark.parametrize("running", [{"confirm": "create"}], indirect=True)
def test_work_that_ends_after_its_subtask_was_reworded_is_not_its_outcome(running):
    c, turn = running
    actions.revise_plan(plan_of(c), REWORDED, AGENT)
    called(turn, "finish_subtask", ToolCall.State.DONE)
    end(turn, TurnState.DONE)  # the call came just before the stop could be read
    assert [each.state for each in checklist(plan_of(c))] == [State.TODO, State.TODO]
    assert plan_of(c).run == Run.QUEUED
    assert finish(c) == State.DONE


def test_a_call_that_is_allowed_under_a_pause_is_carried_out_and_nothing_after_it():
    c = proposed_plan("Write", tools={"write_file": "ask"})
    write = call("write_file", path="a.txt", content="a")
    scripted(write)
    actions.approve_plan(plan_of(c), 1, "alice")
    drive()
    actions.pause_plan(plan_of(c), "alice")
    assert shown(c)["standing"] == "Waiting for you"
    decide_call(ToolCall.objects.get(state="asked"), "allow_once", "alice")
    assert shown(c)["standing"] == "Pausing"
    assert not work_of_the_runner()
    assert (files_of(c) / "a.txt").read_text() == "a"
    assert shown(c)["standing"] == "Paused"
    actions.resume_plan(plan_of(c), "alice")
    scripted(done(), say("ok"))
    drive()
    assert plan_of(c).state == State.DONE


def test_a_pause_while_a_new_version_waits_rests_the_attempt_at_its_next_step(running):
    c, turn = running
    actions.update_subtask(plan_of(c), "s2", {"name": "Write more"}, "alice")
    assert stands(c) == (Run.PAUSING, "confirm")
    actions.pause_plan(plan_of(c), "alice")
    assert stands(c) == (Run.PAUSING, "user")
    suspend(turn, TurnWaits(Turn.WaitingFor.PAUSE))
    assert stands(c) == (Run.PAUSED, "user")
    actions.approve_plan(plan_of(c), 2, "alice")
    assert finish(c) == State.DONE


def test_a_pause_while_another_plans_turn_is_being_stopped_holds(running):
    c, turn = running
    actions.create_plan(c, PlanDraft(title="Other", subtasks=["Look"]), "alice")
    actions.approve_plan(plan_of(c), 1, "alice")
    actions.pause_plan(plan_of(c), "alice")
    assert stands(c) == (Run.PAUSING, "user")
    interrupt(turn)
    assert not work_of_the_runner()
    assert stands(c) == (Run.PAUSED, "user")


def test_nothing_begins_once_a_stop_was_asked_for():
    c = proposed_plan("Read")
    actions.approve_plan(plan_of(c), 1, "alice")
    [turn] = claim(5)
    actions.stop_plan(plan_of(c), "alice")
    with pytest.raises(NothingToDo):
        actions.begin_attempt(turn)
    assert plan_of(c).run == Run.STOPPING


@pytest.mark.parametrize("verb", ["pause_plan", "set_aside", "stop and run"])
def test_a_wish_that_meets_the_closing_turn_holds(verb):
    c = proposed_plan("Read")
    actions.approve_plan(plan_of(c), 1, "alice", run="no")
    actions.skip_subtask(plan_of(c), "s1", "alice")
    [closing] = claim(5)
    plan = plan_of(c)
    if verb == "pause_plan":
        actions.pause_plan(plan, "alice")
        handler_of(closing).prepare(closing)
        assert stands(c) == (Run.PAUSING, "user")
        suspend(closing, TurnWaits(Turn.WaitingFor.PAUSE))
    elif verb == "set_aside":
        actions.create_plan(c, PlanDraft(title="Other", subtasks=["Look"]), "alice")
        interrupt(closing)
        actions.activate_plan(plan, "alice")
    else:
        stopped_and_run_again(c)
        interrupt(closing)
    assert plan_of(c).run == (Run.QUEUED if verb == "stop and run" else Run.PAUSED)
    if verb != "stop and run":
        actions.resume_plan(plan_of(c), "alice")
    scripted(say("Nothing was done."))
    drive()
    assert not plan_of(c).is_open


@pytest.mark.parametrize("then", ["it is paused", "it is tried"])
def test_only_a_turn_that_waits_for_its_next_try_promises_one(running, then):
    c, turn = running
    model_failed(turn, BUSY)
    before, html = changes(c.pk, 0)
    assert "Next try in" in html and "Retry now" in html
    if then == "it is paused":
        actions.pause_plan(plan_of(c), "alice")
    else:
        retry_now(turn, "alice")
        taken(c)
    card = Message.objects.get(kind="error")
    for after in (before, 0):
        html = changes(c.pk, after)[1]
        assert f'id="message-{card.pk}"' in html
        assert "Next try in" not in html and "Retry now" not in html
