"""Running, pausing and stopping: wishes about the run, carried out by its turns."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import Max

from agents.actions import queue_turn
from agents.database import clock
from agents.errors import Invalid, NotNow
from agents.models import Lane, Turn, TurnState
from agents.queue.wakeup import wake_after_commit
from agents.turns.endings import go_on, request_stop
from plans.models import ActivePlan, Attempt, Plan, Run, State, Subtask
from plans.operations import operation
from plans.rows import (
    checklist,
    close_subtask,
    demand_open,
    lock,
    next_todo,
    refresh_state,
    run_turn_of,
    save_run,
    tell,
)

NOT_YET = "Nothing runs without your yes: start v{version} first."


@operation
@transaction.atomic
def run_plan(
    plan: Plan, by: str, mode: str = "all", options: dict[str, object] | None = None
) -> Plan:
    """Start or go on: the next subtask only, or all until the end or a failure.

    `options` holds for this run: `executor`, a chain, and `allow`, tools granted for it.
    """
    if mode not in ("all", "next"):
        raise Invalid("The mode is next or all.")
    plan = lock(plan)
    demand_open(plan)
    demand_confirmed(plan)
    if plan.run not in (Run.QUEUED, Run.RUNNING):
        set_off(plan, by, mode, options or {})
    return plan


def demand_confirmed(plan: Plan) -> None:
    if not plan.is_confirmed:
        raise NotNow(NOT_YET.format(version=plan.version), plan.version)


def set_off(plan: Plan, by: str, mode: str, options: dict[str, object] | None = None) -> None:
    """Queue the next turn of the run, or let the one that waits go on.

    Without `options` those of the run so far hold on.
    """
    if not ActivePlan.objects.filter(plan=plan).exists():
        raise NotNow("Only the plan in the drawer can run.")
    demand_free_lane(plan)
    kept = plan.run_options if options is None else options
    plan.run_options = {**kept, "mode": mode, "tried": last_attempt(plan)}
    plan.save(update_fields=["run_options"])
    turn = run_turn_of(plan)
    if turn is None:
        queue_next(plan)
    elif turn.waiting_for == Turn.WaitingFor.PAUSE:
        go_on(turn)
        save_run(plan, Run.QUEUED)
    elif turn.state == TurnState.RUNNING:
        Turn.objects.filter(pk=turn.pk).update(pause_requested=False)
        save_run(plan, Run.RUNNING)
    elif turn.state == TurnState.QUEUED:
        save_run(plan, Run.QUEUED)
    tell(plan, "run.started", by, mode=mode)


def demand_free_lane(plan: Plan) -> None:
    """A run that waits in the midst of a subtask would keep any other from ever starting."""
    waiting = Turn.objects.filter(
        conversation_id=plan.conversation_id, lane=Lane.RUN, state=TurnState.WAITING
    )
    for turn in waiting.exclude(checkpoint__plan=plan.pk):
        other = Plan.objects.get(pk=turn.checkpoint["plan"])
        raise NotNow(f"“{other.title}” is paused in the midst of a subtask: stop it first.")


def last_attempt(plan: Plan) -> int:
    """A person's start begins the count of attempts anew."""
    newest = Attempt.objects.filter(subtask__plan=plan).aggregate(last=Max("pk"))["last"]
    return int(newest or 0)


def queue_next(plan: Plan, wait: float = 0) -> None:
    """The next turn of the run: a subtask's, or the closing one when every subtask is closed.

    `wait`, in seconds, holds it back.
    """
    kind = "subtask" if next_todo(plan) else "closing"
    options = plan.run_options
    chain = str(options.get("executor") or "")
    allow = [str(name) for name in options.get("allow") or []]
    turn = queue_turn(plan.conversation, kind, Lane.RUN, chain, {"plan": plan.pk}, allow)
    if wait:
        not_before = clock() + timedelta(seconds=wait)
        Turn.objects.filter(pk=turn.pk).update(not_before=not_before)
    save_run(plan, Run.QUEUED)


@operation
@transaction.atomic
def pause_plan(plan: Plan, by: str) -> Plan:
    """Pause after the tool call that is running now."""
    plan = lock(plan)
    demand_open(plan)
    if plan.run in (Run.PAUSED, Run.PAUSING):
        return plan
    turn = run_turn_of(plan)
    if turn is None or plan.run not in (Run.QUEUED, Run.RUNNING):
        raise NotNow("The plan is not running.")
    if turn.state == TurnState.RUNNING:
        Turn.objects.filter(pk=turn.pk).update(pause_requested=True)
        save_run(plan, Run.PAUSING, Plan.PauseReason.USER)
    else:
        wait_in_place(turn)
        save_run(plan, Run.PAUSED, Plan.PauseReason.USER)
    tell(plan, "run.paused", by, reason="user")
    return plan


def wait_in_place(turn: Turn) -> None:
    """A turn that has not begun, or waits for its next try, stays where it is."""
    Turn.objects.filter(pk=turn.pk, state=TurnState.QUEUED).update(
        state=TurnState.WAITING, waiting_for=Turn.WaitingFor.PAUSE, not_before=None
    )


@operation
@transaction.atomic
def resume_plan(plan: Plan, by: str) -> Plan:
    """Go on where it was paused; a new version or a question waits for another answer."""
    plan = lock(plan)
    demand_open(plan)
    demand_confirmed(plan)
    if plan.run in (Run.QUEUED, Run.RUNNING):
        return plan
    if plan.run not in (Run.PAUSED, Run.PAUSING):
        raise NotNow("The plan is not paused.")
    turn = run_turn_of(plan)
    if turn and turn.waiting_for in (Turn.WaitingFor.QUESTION, Turn.WaitingFor.APPROVAL):
        raise NotNow("The plan waits for your answer, not for a resume.")
    set_off(plan, by, str(plan.run_options.get("mode") or "all"))
    return plan


@operation
@transaction.atomic
def stop_plan(plan: Plan, by: str) -> Plan:
    """End the run: the subtask is todo again, its attempt does not count."""
    plan = lock(plan)
    turn = run_turn_of(plan)
    if turn is None:
        if plan.run != Run.IDLE:
            save_run(plan, Run.IDLE)
            tell(plan, "run.stopped", by)
        return plan
    plan.question = ""
    plan.save(update_fields=["question"])
    save_run(plan, Run.STOPPING)
    tell(plan, "run.stopping", by)
    request_stop(turn, by)
    wake_after_commit()
    plan.refresh_from_db()
    return plan


@operation
@transaction.atomic
def retry_subtask(plan: Plan, key: str, by: str) -> Plan:
    """Try a failed subtask again, now."""
    plan = lock(plan)
    demand_open(plan)
    demand_confirmed(plan)
    subtask = find_todo(plan, key)
    first = next_todo(plan)
    if first is None or first.pk != subtask.pk:
        raise NotNow(f"{key} comes later: the next one is {first.key if first else 'none'}.")
    if plan.run not in (Run.QUEUED, Run.RUNNING):
        set_off(plan, by, "all")
    return plan


@operation
@transaction.atomic
def skip_subtask(plan: Plan, key: str, by: str, reason: str = "") -> Plan:
    """Leave a subtask out: it stays in the list, abandoned, and counts as settled."""
    plan = lock(plan)
    demand_open(plan)
    subtask = find_todo(plan, key)
    words = " ".join(reason.split())[:400]
    close_subtask(subtask, State.ABANDONED, f"skipped: {words}" if words else "skipped")
    refresh_state(plan)
    tell(plan, "plan.updated", by, subtask=key, state=State.ABANDONED, reason=words)
    if plan.is_confirmed and plan.run == Run.IDLE and next_todo(plan) is None:
        queue_next(plan)  # nothing is left but to say what came of it
    return plan


def find_todo(plan: Plan, key: str) -> Subtask:
    subtask = checklist(plan).filter(key=key).first()
    if subtask is None:
        raise Invalid(f"There is no subtask {key[:20]} in this plan.")
    if subtask.state != State.TODO:
        raise NotNow(f"{key} is {subtask.get_state_display().lower()}, not waiting to be done.")
    return subtask
