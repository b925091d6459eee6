"""What the runner does to a plan: it claims a subtask, and settles it by what really happened."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from agents import journal
from agents.endings import go_on
from agents.errors import NotNow
from agents.interruptions import NothingToDo
from agents.models import Message, ToolCall, Turn, TurnState
from plans.actions.ending import finish_plan
from plans.actions.running import queue_next
from plans.models import Attempt, Plan, Run, State, Subtask
from plans.rows import (
    SYSTEM,
    checklist,
    close_subtask,
    lock,
    next_todo,
    refresh_state,
    run_turn_of,
    save_run,
    tell,
)

PAUSES = {
    Turn.WaitingFor.PAUSE: Plan.PauseReason.USER,
    Turn.WaitingFor.QUESTION: Plan.PauseReason.QUESTION,
    Turn.WaitingFor.APPROVAL: Plan.PauseReason.APPROVAL,
    Turn.WaitingFor.CHILD: "",
}


def plan_of(turn: Turn) -> Plan:
    return lock(Plan(pk=turn.checkpoint["plan"]))


def attempt_of(turn: Turn) -> Attempt | None:
    return Attempt.objects.filter(turn=turn).select_related("subtask").first()


@transaction.atomic
def claim_subtask(turn: Turn) -> Attempt:
    """The turn's attempt: the one it has already, or a new one at the next subtask.

    Here the gate stands: an attempt begins only while the approved version is the current one.
    """
    plan = plan_of(turn)
    if attempt := attempt_of(turn):
        if plan.run in (Run.QUEUED, Run.PAUSED):
            save_run(plan, Run.RUNNING)
            tell(plan, "run.resumed", SYSTEM, subtask=attempt.subtask.key)
        return attempt
    subtask = next_todo(plan)
    if not plan.is_open or not plan.is_confirmed or subtask is None:
        raise NothingToDo
    attempt = begin(plan, subtask, turn)
    if plan.run != Run.PAUSING:
        save_run(plan, Run.RUNNING)
    refresh_state(plan)
    tell(plan, "plan.updated", SYSTEM, subtask=subtask.key, state=State.IN_PROGRESS)
    return attempt


def begin(plan: Plan, subtask: Subtask, turn: Turn) -> Attempt:
    subtask.state = State.IN_PROGRESS
    subtask.started_at, subtask.finished_at = timezone.now(), None
    subtask.progress = ""
    subtask.save(update_fields=["state", "started_at", "finished_at", "progress"])
    last = subtask.attempts.aggregate(last=Max("number"))["last"] or 0
    return Attempt.objects.create(subtask=subtask, number=last + 1, version=plan.version, turn=turn)


@transaction.atomic
def report_progress(turn: Turn, text: str, by: str) -> None:
    """What the model says of its own progress: shown as its words, never taken as the state."""
    attempt = attempt_of(turn)
    if attempt is None:
        raise NotNow("There is no subtask to report on.")
    Subtask.objects.filter(pk=attempt.subtask_id).update(progress=text)
    tell(plan_of(turn), "plan.updated", by, subtask=attempt.subtask.key, progress=text[:500])


@transaction.atomic
def ask_question(turn: Turn, question: str, by: str) -> None:
    """A question to the person, kept until it is answered; no attempt is used up."""
    plan = plan_of(turn)
    plan.question = question
    plan.save(update_fields=["question"])
    running = turn.tool_calls.filter(tool="ask_user", state=ToolCall.State.RUNNING)
    running.update(state=ToolCall.State.ASKED, asked_at=timezone.now())
    journal.add_message(turn, "assistant", Message.Kind.QUESTION, question)
    tell(plan, "plan.asked_person", by)


@transaction.atomic
def answer_question(plan: Plan, text: str, by: str) -> Plan:
    """The person's answer becomes the result of the call that asked; the turn goes on."""
    plan = lock(plan)
    turn = run_turn_of(plan)
    if not plan.question or turn is None or turn.waiting_for != Turn.WaitingFor.QUESTION:
        raise NotNow("The plan has no open question.")
    for call in turn.tool_calls.filter(state=ToolCall.State.ASKED, tool="ask_user"):
        journal.close_call(call, ToolCall.State.DONE, f"The person answered: {text}")
    plan.question = ""
    plan.save(update_fields=["question"])
    go_on(turn)
    save_run(plan, Run.QUEUED)
    tell(plan, "run.resumed", by)
    return plan


def settle_subtask(turn: Turn) -> None:
    """The turn of an attempt has left `running`: move the subtask by what really happened."""
    plan = plan_of(turn)
    if turn.state == TurnState.WAITING:
        save_run(plan, Run.PAUSED, PAUSES[Turn.WaitingFor(turn.waiting_for)])
        tell(plan, "run.paused", SYSTEM, reason=plan.pause_reason)
        return
    if turn.state == TurnState.QUEUED:  # held until the model's next try
        tell(plan, "plan.updated", SYSTEM, held=True)
        return
    attempt = attempt_of(turn)
    if attempt is not None:
        close_attempt(plan, turn, attempt)
    refresh_state(plan)
    go_from_here(plan, turn)


def close_attempt(plan: Plan, turn: Turn, attempt: Attempt) -> None:
    subtask = attempt.subtask
    claim = claim_of(turn)
    finished = turn.state == TurnState.DONE and claim is not None
    if plan.is_open and finished and claim and claim.tool == "finish_subtask":
        subtask.result = claim.arguments.get("result")
        subtask.save(update_fields=["result"])
        close_subtask(subtask, State.DONE, outcome=str(claim.arguments.get("outcome") or ""))
    else:
        note_failure(turn, attempt, claim)
        if subtask.state == State.IN_PROGRESS:
            subtask.state = State.TODO
            subtask.save(update_fields=["state"])
    tell(
        plan, "plan.updated", SYSTEM, subtask=subtask.key, state=subtask.state, error=attempt.error
    )


def claim_of(turn: Turn) -> ToolCall | None:
    """The call with which the model ended its work, if it was carried out."""
    ending = turn.tool_calls.filter(tool__in=["finish_subtask", "fail_subtask"], state="done")
    return ending.order_by("pk").last()


def note_failure(turn: Turn, attempt: Attempt, claim: ToolCall | None) -> None:
    if turn.state == TurnState.STOPPED:
        attempt.failure_class = Attempt.FailureClass.INTERRUPTED
    elif claim is not None:
        attempt.failure_class = Attempt.FailureClass.LOGIC
        attempt.error = str(claim.arguments.get("error") or "The agent gave up on it.")
    else:
        attempt.failure_class = turn.error_class or Attempt.FailureClass.LOGIC
        attempt.error = turn.error or "It ended without a result."
    attempt.save(update_fields=["failure_class", "error"])


def go_from_here(plan: Plan, turn: Turn) -> None:
    """After an attempt: on to the next, or a halt with its reason. Only a yes goes on."""
    attempt = attempt_of(turn)
    failed = attempt is not None and bool(attempt.error)
    if not plan.is_open:
        save_run(plan, Run.IDLE)
    elif plan.run == Run.STOPPING:
        halt(plan, "run.stopped")
    elif not plan.is_confirmed:
        save_run(plan, Run.PAUSED, Plan.PauseReason.CONFIRM)
        tell(plan, "run.paused", SYSTEM, reason="confirm")
    elif failed:
        halt(plan, "run.failed")
    elif turn.state == TurnState.STOPPED:
        halt(plan, "run.stopped")
    elif plan.run == Run.PAUSING:
        pause_before_next(plan)
    elif plan.run_options.get("mode") == "next" and next_todo(plan):
        halt(plan, "run.halted")
    else:
        queue_next(plan)


def halt(plan: Plan, type: str) -> None:
    save_run(plan, Run.IDLE)
    tell(plan, type, SYSTEM)


def pause_before_next(plan: Plan) -> None:
    """The person's pause came with the last call of the attempt: the next one does not begin."""
    save_run(plan, Run.PAUSED, Plan.PauseReason.USER)
    tell(plan, "run.paused", SYSTEM, reason="user")


def settle_closing(turn: Turn) -> None:
    """The closing turn is over: the plan is done with an outcome, whatever the model did."""
    plan = plan_of(turn)
    if turn.state == TurnState.WAITING:
        save_run(plan, Run.PAUSED, PAUSES[Turn.WaitingFor(turn.waiting_for)])
        return
    if turn.state == TurnState.QUEUED or not plan.is_open:
        return
    if turn.state == TurnState.STOPPED:
        halt(plan, "run.stopped")
    elif next_todo(plan):  # a revision came meanwhile
        save_run(plan, Run.PAUSED, Plan.PauseReason.CONFIRM)
    else:
        finish_plan(plan, said_outcome(turn) or put_together(plan), SYSTEM)


def said_outcome(turn: Turn) -> str:
    texts = turn.messages.filter(role="assistant", kind=Message.Kind.TEXT).values_list(
        "text", flat=True
    )
    return next((text for text in reversed(list(texts)) if text.strip()), "")


def put_together(plan: Plan) -> str:
    """An outcome from the subtasks' own, for a model that gave none."""
    done = checklist(plan).filter(state=State.DONE)
    return "\n".join(f"{subtask.name}: {subtask.outcome or 'done'}" for subtask in done)
