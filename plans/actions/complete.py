"""The end of a run's turn: its subtask moves by what really happened; the run goes on or rests."""

from __future__ import annotations

from django.conf import settings

from agents.engine.lifecycle import LONGEST_WAIT, reset_retries
from agents.engine.results import last_text, result_of
from agents.models import ToolCall, Turn, TurnState
from plans.actions.attempts import attempt_of, plan_of
from plans.actions.close import finish_plan
from plans.actions.run import queue_next
from plans.models import Attempt, Plan, Run, State
from plans.queries import (
    AGENT,
    SYSTEM,
    checklist,
    close_subtask,
    next_todo,
    record_event,
    refresh_state,
    save_run,
)
from plans.schemas import LONGEST_TEXT, plain
from plans.tracing import operation

PAUSES = {
    Turn.WaitingFor.PAUSE: Plan.PauseReason.USER,
    Turn.WaitingFor.QUESTION: Plan.PauseReason.QUESTION,
    Turn.WaitingFor.APPROVAL: Plan.PauseReason.APPROVAL,
}
WAITED_FOR = (Attempt.FailureClass.TRANSIENT, Attempt.FailureClass.CAPACITY)


@operation("settle_subtask")
def settle_subtask(turn: Turn) -> None:
    """The turn of an attempt has left `running`: move the subtask by what really happened."""
    plan = plan_of(turn)
    if turn.state == TurnState.WAITING:
        pause_while_waiting(plan, turn)
        return
    if turn.state == TurnState.QUEUED:  # held until the model's next try
        record_event(plan, "plan.updated", SYSTEM, held=True)
        return
    if plan.question:
        plan.question = ""
        plan.save(update_fields=["question"])
    attempt = attempt_of(turn)
    if attempt is not None:
        close_attempt(plan, turn, attempt)
    refresh_state(plan)
    continue_run(plan, turn)


def pause_while_waiting(plan: Plan, turn: Turn) -> None:
    """For a person the run is paused; for another agent it goes on."""
    if turn.waiting_for == Turn.WaitingFor.CHILD:
        record_event(plan, "plan.updated", SYSTEM, waiting="child")
        return
    because = str(turn.checkpoint.get("because") or "")
    over_budget = because.startswith("budget")
    reason = PAUSES[Turn.WaitingFor(turn.waiting_for)]
    save_run(plan, Run.PAUSED, Plan.PauseReason.BUDGET if over_budget else reason)
    record_event(plan, "run.paused", SYSTEM, reason=plan.pause_reason, because=because)


def close_attempt(plan: Plan, turn: Turn, attempt: Attempt) -> None:
    subtask = attempt.subtask
    claim = claim_of(turn)
    finished = turn.state == TurnState.DONE and claim is not None
    if plan.is_open and finished and claim and claim.tool == "finish_subtask":
        subtask.result = claim.arguments.get("result")
        subtask.save(update_fields=["result"])
        close_subtask(subtask, State.DONE, outcome=str(claim.arguments.get("outcome") or ""))
    elif plan.is_open and claim is None and (outcome := answered(turn)):
        close_subtask(subtask, State.DONE, outcome=outcome)
    else:
        note_failure(turn, attempt, claim)
        if subtask.state == State.IN_PROGRESS:
            subtask.state = State.TODO
            subtask.save(update_fields=["state"])
    by = AGENT if claim is not None and turn.state == TurnState.DONE else SYSTEM
    moved = {"state": subtask.state, "error": attempt.error}
    record_event(plan, "plan.updated", by, subtask=subtask.key, **moved)


def claim_of(turn: Turn) -> ToolCall | None:
    """The call with which the model ended its work, if it was carried out."""
    ending = turn.tool_calls.filter(tool__in=["finish_subtask", "fail_subtask"], state="done")
    return ending.order_by("pk").last()


def answered(turn: Turn) -> str:
    """What came of a chain that no tool can end: its output."""
    if turn.state != TurnState.DONE or not turn.checkpoint.get("by_output"):
        return ""
    return plain(result_of(turn))[:LONGEST_TEXT]


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


def continue_run(plan: Plan, turn: Turn) -> None:
    """After an attempt: on to the next, another try, or a halt with its reason."""
    attempt = attempt_of(turn)
    failed = attempt is not None and bool(attempt.error)
    if not plan.is_open:
        save_run(plan, Run.IDLE)
    elif plan.run == Run.STOPPING:
        halt(plan, "run.stopped")
    elif not plan.is_confirmed:
        save_run(plan, Run.PAUSED, Plan.PauseReason.CONFIRM)
        record_event(plan, "run.paused", SYSTEM, reason="confirm")
    elif plan.run == Run.PAUSING and turn.state == TurnState.STOPPED:
        pause_before_next(plan)  # set aside for another plan
    elif turn.state == TurnState.STOPPED or (attempt is None and next_todo(plan)):
        halt(plan, "run.stopped")  # stopped, or nothing could be claimed though there is work
    elif failed and not may_try_again(plan, turn, attempt):
        halt(plan, "run.failed")
    elif plan.run == Run.PAUSING:
        pause_before_next(plan)
    elif failed:
        reset_retries(turn)  # it is tried again: one failure is one card, the last
        queue_next(plan, wait_before_retry(attempt), after=turn)
    elif plan.run_options.get("mode") == "next" and next_todo(plan):
        halt(plan, "run.halted")
    else:
        queue_next(plan, after=turn)


def may_try_again(plan: Plan, turn: Turn, attempt: Attempt | None) -> bool:
    """Up to `plan.max_attempts` attempts since a person last started the run.

    What no repetition mends (a refused key, an unknown model, a context too long) fails at once.
    """
    if attempt is None or turn.checkpoint.get("final"):
        return False
    allowed = int((turn.config.get("plan") or {}).get("max_attempts") or 3)
    return counted_attempts(plan, attempt) < allowed


def counted_attempts(plan: Plan, attempt: Attempt) -> int:
    tried = Attempt.objects.filter(subtask=attempt.subtask_id)
    tried = tried.exclude(failure_class=Attempt.FailureClass.INTERRUPTED)
    return tried.filter(pk__gt=int(plan.run_options.get("tried") or 0)).count()


def wait_before_retry(attempt: Attempt | None) -> float:
    """Seconds: a model that was not to be had is given time, the longer the more it failed."""
    if attempt is None or attempt.failure_class not in WAITED_FOR:
        return 0
    return min(float(settings.MODEL_RETRY_BASE) * 5 * float(2**attempt.number), LONGEST_WAIT)


def halt(plan: Plan, type: str) -> None:
    plan.run_options = {**plan.run_options, "halted": type == "run.halted"}
    save_run(plan, Run.IDLE)
    record_event(plan, type, SYSTEM)


def pause_before_next(plan: Plan) -> None:
    """The person's pause came with the last call of the attempt: the next one does not begin."""
    save_run(plan, Run.PAUSED, Plan.PauseReason.USER)
    record_event(plan, "run.paused", SYSTEM, reason="user")


@operation("break_off")
def interrupt_attempt(turn: Turn) -> None:
    """The last resort, where a turn could not be settled: its subtask is to do again."""
    plan = plan_of(turn)
    attempt = attempt_of(turn)
    if attempt is not None:
        Attempt.objects.filter(pk=attempt.pk, error="").update(
            failure_class=turn.error_class or Attempt.FailureClass.LOGIC,
            error=turn.error or "Its end could not be recorded.",
        )
        attempt.subtask.refresh_from_db()
        if attempt.subtask.state == State.IN_PROGRESS:
            attempt.subtask.state = State.TODO
            attempt.subtask.save(update_fields=["state"])
    refresh_state(plan)
    halt(plan, "run.failed")


@operation("settle_closing")
def settle_closing(turn: Turn) -> None:
    """The closing turn is over: the plan is done with an outcome, whatever the model did."""
    plan = plan_of(turn)
    if turn.state == TurnState.WAITING:
        pause_while_waiting(plan, turn)
        return
    if turn.state == TurnState.QUEUED:
        return
    if not plan.is_open:
        save_run(plan, Run.IDLE)  # cancelled meanwhile, or finished by the model
    elif turn.state == TurnState.STOPPED:
        halt(plan, "run.stopped")
    elif next_todo(plan):  # a revision came meanwhile
        save_run(plan, Run.PAUSED, Plan.PauseReason.CONFIRM)
    else:
        said = last_text(turn)
        finish_plan(plan, said or combined_outcome(plan), SYSTEM, said=bool(said))


def combined_outcome(plan: Plan) -> str:
    """An outcome from the subtasks' own, for a model that gave none."""
    done = checklist(plan).filter(state=State.DONE)
    return "\n".join(f"- {each.name}: {indented(each.outcome or 'done')}" for each in done)


def indented(text: str) -> str:
    """All of a text within its item of a markdown list."""
    return text.strip().replace("\n", "\n  ")
