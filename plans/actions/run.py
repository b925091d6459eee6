"""Running, pausing and stopping: wishes about the run, carried out by its turns."""

from __future__ import annotations

from datetime import timedelta
from typing import cast

from django.db import transaction
from django.db.models import Max

from agents.actions import queue_turn, retry_now
from agents.actors import Actor
from agents.chains.store import load_chain
from agents.db import clock
from agents.engine.lifecycle import request_stop, requeue
from agents.engine.subagents import parent_waits
from agents.errors import Conflict, Invalid
from agents.models import Lane, Turn, TurnState
from agents.tools import permissions
from agents.wakeup import wake_after_commit
from plans.actions.ordering import find
from plans.expected_version import NOT_STARTED, VersionConflict, demand_active, demand_version
from plans.limits import demand_room
from plans.models import Attempt, Plan, Run, State, Subtask
from plans.queries import (
    close_subtask,
    demand_open,
    lock_plan,
    next_todo,
    record_event,
    refresh_state,
    run_turn_of,
    save_run,
)
from plans.tracing import operation

NOT_YET = "Nothing runs without your yes: start v{version} first."


@operation("run_plan")
@transaction.atomic
def run_plan(
    plan: Plan,
    by: Actor,
    mode: str = "",
    options: dict[str, object] | None = None,
    version: int | None = None,
) -> Plan:
    """Start or go on: the next subtask only, or all until the end or a failure.

    Without a `mode` it keeps the one it ran in. `options` holds for this run: `executor`, a chain,
    and `allow`, tools granted for it.
    """
    if mode not in ("", "all", "next"):
        raise Invalid("The mode is next or all.")
    plan = lock_plan(plan)
    demand_open(plan)
    demand_version(plan, version, NOT_STARTED)
    demand_confirmed(plan)
    demand_room(plan)
    wanted = checked_options(plan, options or {})
    if plan.run not in (Run.QUEUED, Run.RUNNING):
        start_run(plan, by, mode, wanted)
    return plan


def checked_options(plan: Plan, options: dict[str, object]) -> dict[str, object]:
    """No more than the person may grant; refused before anything starts."""
    allow = [str(name) for name in cast(list[str], options.get("allow") or [])]
    executor = str(options.get("executor") or "")
    if executor:
        load_chain(executor)
    if allow:
        conversation = plan.conversation
        now = permissions.of_conversation(conversation)
        allow = permissions.check_lifted(allow, now, conversation.owner_id)
    return {"executor": executor, "allow": allow}


def demand_confirmed(plan: Plan) -> None:
    if not plan.is_confirmed:
        raise VersionConflict(NOT_YET.format(version=plan.version), plan.pk, plan.version)


def start_run(
    plan: Plan, by: Actor, mode: str = "", options: dict[str, object] | None = None
) -> None:
    """Queue the next turn of the run, or let the one that waits go on.

    Without `mode` that of the run so far holds on; without `options` theirs do too, which is
    right only where the same run goes on.
    """
    demand_startable(plan)
    kept = plan.run_options if options is None else options
    mode = mode or mode_of(plan)
    plan.run_options = {**kept, "mode": mode, "tried": last_attempt(plan), "halted": False}
    plan.save(update_fields=["run_options"])
    turn = run_turn_of(plan)
    if turn is None:
        queue_next(plan)
    elif turn.waiting_for == Turn.WaitingFor.PAUSE:
        requeue(turn)
        save_run(plan, Run.QUEUED)
    elif turn.state == TurnState.RUNNING:
        Turn.objects.filter(pk=turn.pk).update(pause_requested=False)
        save_run(plan, Run.RUNNING)
    elif turn.state == TurnState.QUEUED:
        save_run(plan, Run.QUEUED)
    record_event(plan, "run.started", by, mode=mode)


def mode_of(plan: Plan) -> str:
    """How far a person lets it run at once: to the end, unless they last said otherwise."""
    return str(plan.run_options.get("mode") or "all")


def demand_startable(plan: Plan) -> None:
    """Refuse to queue a turn that nothing would ever claim, or whose plan nobody sees."""
    demand_active(plan, NOT_STARTED)
    demand_purpose(plan)
    demand_free_lane(plan)


def demand_purpose(plan: Plan) -> None:
    """A plan below a subtask works for it; when that attempt is over, so is its purpose."""
    if plan.conversation.parent_call_id and not parent_waits(plan.conversation):
        raise Conflict("The subtask this plan worked for does not wait for it any more.")


def demand_free_lane(plan: Plan) -> None:
    """A run that waits in the midst of a subtask would keep any other from ever starting."""
    waiting = Turn.objects.filter(
        conversation_id=plan.conversation_id, lane=Lane.RUN, state=TurnState.WAITING
    )
    for turn in waiting.exclude(checkpoint__plan=plan.pk):
        other = Plan.objects.filter(pk=turn.checkpoint.get("plan", 0)).first()
        title = other.title if other else "Another plan"
        raise Conflict(f"“{title}” is paused in the midst of a subtask: stop it first.")


def last_attempt(plan: Plan) -> int:
    """A person's start begins the count of attempts anew."""
    newest = Attempt.objects.filter(subtask__plan=plan).aggregate(last=Max("pk"))["last"]
    return int(newest or 0)


def queue_next(plan: Plan, wait: float = 0, after: Turn | None = None) -> None:
    """The next turn of the run: a subtask's, or the closing one when every subtask is closed.

    `wait`, in seconds, holds it back. `after` is the turn that ends by this.
    """
    kind = "subtask" if next_todo(plan) else "closing"
    options = plan.run_options
    chain = str(options.get("executor") or "")
    turn = queue_turn(plan.conversation, kind, Lane.RUN, chain, {"plan": plan.pk}, after=after)
    if wait:
        not_before = clock() + timedelta(seconds=wait)
        Turn.objects.filter(pk=turn.pk).update(not_before=not_before)
    save_run(plan, Run.QUEUED)


@operation("pause_plan")
@transaction.atomic
def pause_plan(plan: Plan, by: Actor) -> Plan:
    """Pause after the tool call that is running now."""
    plan = lock_plan(plan)
    demand_open(plan)
    if plan.run in (Run.PAUSED, Run.PAUSING):
        return plan
    turn = run_turn_of(plan)
    if turn is None or plan.run not in (Run.QUEUED, Run.RUNNING):
        raise Conflict("The plan is not running.")
    if turn.state == TurnState.RUNNING:
        Turn.objects.filter(pk=turn.pk).update(pause_requested=True)
        save_run(plan, Run.PAUSING, Plan.PauseReason.USER)
    else:
        wait_in_place(turn)
        save_run(plan, Run.PAUSED, Plan.PauseReason.USER)
    record_event(plan, "run.paused", by, reason="user")
    return plan


def wait_in_place(turn: Turn) -> None:
    """A turn that has not begun, or waits for its next try, stays where it is.

    Before its attempt has begun the rest is the plan's own.
    """
    has_begun = Attempt.objects.filter(turn=turn).exists()
    Turn.objects.filter(pk=turn.pk, state=TurnState.QUEUED).update(
        state=TurnState.WAITING,
        waiting_for=Turn.WaitingFor.PAUSE,
        not_before=None,
        counted_at=clock() if has_begun else None,
    )


@operation("resume_plan")
@transaction.atomic
def resume_plan(plan: Plan, by: Actor, version: int | None = None) -> Plan:
    """Go on where it was paused; a new version or a question waits for another answer."""
    plan = lock_plan(plan)
    demand_open(plan)
    demand_version(plan, version, NOT_STARTED)
    demand_confirmed(plan)
    if plan.run in (Run.QUEUED, Run.RUNNING):
        return plan
    if plan.run not in (Run.PAUSED, Run.PAUSING):
        raise Conflict("The plan is not paused.")
    turn = run_turn_of(plan)
    if turn and turn.waiting_for in (Turn.WaitingFor.QUESTION, Turn.WaitingFor.APPROVAL):
        raise Conflict("The plan waits for your answer, not for a resume.")
    demand_room(plan)
    start_run(plan, by)
    return plan


@operation("stop_plan")
@transaction.atomic
def stop_plan(plan: Plan, by: Actor) -> Plan:
    """End the run: the subtask is todo again, its attempt does not count."""
    plan = lock_plan(plan)
    turn = run_turn_of(plan)
    if turn is None:
        if plan.run != Run.IDLE:
            save_run(plan, Run.IDLE)
            record_event(plan, "run.stopped", by)
        return plan
    plan.question = ""
    plan.save(update_fields=["question"])
    save_run(plan, Run.STOPPING)
    record_event(plan, "run.stopping", by)
    request_stop(turn, by)
    wake_after_commit()
    plan.refresh_from_db()
    return plan


def stop_work(plan: Plan, by: Actor) -> None:
    """Another plan gets the drawer and the lane: the run pauses, its subtask is to do again."""
    plan = lock_plan(plan)
    turn = run_turn_of(plan)
    if turn is None or plan.run == Run.STOPPING:
        return
    plan.question = ""
    plan.save(update_fields=["question"])
    save_run(plan, Run.PAUSING, Plan.PauseReason.USER)
    record_event(plan, "run.paused", by, reason="user")
    request_stop(turn, by)
    wake_after_commit()


@operation("retry_subtask")
@transaction.atomic
def retry_subtask(plan: Plan, key: str, by: Actor, version: int | None = None) -> Plan:
    """Try a failed subtask again, now; also one that is held back until its next try."""
    plan = lock_plan(plan)
    demand_open(plan)
    demand_version(plan, version, NOT_STARTED)
    demand_confirmed(plan)
    subtask = find_todo(plan, key)
    first = next_todo(plan)
    if first is None or first.pk != subtask.pk:
        raise Conflict(f"{key} comes later: the next one is {first.key if first else 'none'}.")
    if plan.run not in (Run.QUEUED, Run.RUNNING):
        start_run(plan, by, options={})
    else:
        end_backoff(plan, by)
    return plan


def end_backoff(plan: Plan, by: Actor) -> None:
    """The next attempt, if it waits for its time, goes at once."""
    turn = run_turn_of(plan)
    if turn is not None and turn.state == TurnState.QUEUED and turn.not_before:
        retry_now(turn, by)


@operation("skip_subtask")
@transaction.atomic
def skip_subtask(
    plan: Plan, key: str, by: Actor, reason: str = "", version: int | None = None
) -> Plan:
    """Leave a subtask out: it stays in the list, abandoned, and counts as settled.

    What follows does not wait for the next try of a subtask that was skipped.
    """
    plan = lock_plan(plan)
    demand_open(plan)
    demand_version(plan, version)
    subtask = find_todo(plan, key)
    if subtask == next_todo(plan):
        end_backoff(plan, by)
    words = " ".join(reason.split())[:400]
    close_subtask(subtask, State.ABANDONED, f"skipped: {words}" if words else "skipped")
    refresh_state(plan)
    record_event(plan, "plan.updated", by, subtask=key, state=State.ABANDONED, reason=words)
    if plan.is_confirmed and plan.run == Run.IDLE and next_todo(plan) is None:
        demand_startable(plan)
        queue_next(plan)  # nothing is left but to say what came of it
    return plan


def find_todo(plan: Plan, key: str) -> Subtask:
    subtask = find(plan, key)
    if subtask.state != State.TODO:
        raise Conflict(f"{key} is {subtask.get_state_display().lower()}, not waiting to be done.")
    return subtask
