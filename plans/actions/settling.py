"""The end of a run's turn: its subtask moves by what really happened; the run goes on or rests."""

from __future__ import annotations

from django.conf import settings

from agents.models import Message, ToolCall, Turn, TurnState
from agents.turns.endings import LONGEST_WAIT
from plans.actions.attempts import attempt_of, plan_of
from plans.actions.ending import finish_plan
from plans.actions.running import queue_next
from plans.models import Attempt, Plan, Run, State
from plans.operations import operation
from plans.rows import SYSTEM, checklist, close_subtask, next_todo, refresh_state, save_run, tell

PAUSES = {
    Turn.WaitingFor.PAUSE: Plan.PauseReason.USER,
    Turn.WaitingFor.QUESTION: Plan.PauseReason.QUESTION,
    Turn.WaitingFor.APPROVAL: Plan.PauseReason.APPROVAL,
}
WAITED_FOR = (Attempt.FailureClass.TRANSIENT, Attempt.FailureClass.CAPACITY)


@operation
def settle_subtask(turn: Turn) -> None:
    """The turn of an attempt has left `running`: move the subtask by what really happened."""
    plan = plan_of(turn)
    if turn.state == TurnState.WAITING:
        rest_while_it_waits(plan, turn)
        return
    if turn.state == TurnState.QUEUED:  # held until the model's next try
        tell(plan, "plan.updated", SYSTEM, held=True)
        return
    if plan.question:
        plan.question = ""
        plan.save(update_fields=["question"])
    attempt = attempt_of(turn)
    if attempt is not None:
        close_attempt(plan, turn, attempt)
    refresh_state(plan)
    go_from_here(plan, turn)


def rest_while_it_waits(plan: Plan, turn: Turn) -> None:
    """For a person the run is paused; for another agent it goes on."""
    if turn.waiting_for == Turn.WaitingFor.CHILD:
        tell(plan, "plan.updated", SYSTEM, waiting="child")
        return
    because = str(turn.checkpoint.get("because") or "")
    over_budget = because.startswith("budget")
    reason = PAUSES[Turn.WaitingFor(turn.waiting_for)]
    save_run(plan, Run.PAUSED, Plan.PauseReason.BUDGET if over_budget else reason)
    tell(plan, "run.paused", SYSTEM, reason=plan.pause_reason, because=because)


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
    """After an attempt: on to the next, another try, or a halt with its reason."""
    attempt = attempt_of(turn)
    failed = attempt is not None and bool(attempt.error)
    if not plan.is_open:
        save_run(plan, Run.IDLE)
    elif plan.run == Run.STOPPING:
        halt(plan, "run.stopped")
    elif not plan.is_confirmed:
        save_run(plan, Run.PAUSED, Plan.PauseReason.CONFIRM)
        tell(plan, "run.paused", SYSTEM, reason="confirm")
    elif turn.state == TurnState.STOPPED or (attempt is None and next_todo(plan)):
        halt(plan, "run.stopped")  # stopped, or nothing could be claimed though there is work
    elif failed and not may_try_again(plan, turn, attempt):
        halt(plan, "run.failed")
    elif plan.run == Run.PAUSING:
        pause_before_next(plan)
    elif failed:
        queue_next(plan, wait_before_retry(attempt))
    elif plan.run_options.get("mode") == "next" and next_todo(plan):
        halt(plan, "run.halted")
    else:
        queue_next(plan)


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
    save_run(plan, Run.IDLE)
    tell(plan, type, SYSTEM)


def pause_before_next(plan: Plan) -> None:
    """The person's pause came with the last call of the attempt: the next one does not begin."""
    save_run(plan, Run.PAUSED, Plan.PauseReason.USER)
    tell(plan, "run.paused", SYSTEM, reason="user")


@operation
def settle_closing(turn: Turn) -> None:
    """The closing turn is over: the plan is done with an outcome, whatever the model did."""
    plan = plan_of(turn)
    if turn.state == TurnState.WAITING:
        rest_while_it_waits(plan, turn)
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
