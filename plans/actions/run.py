"""Running, pausing and stopping: wishes about the run, carried out by its turns."""

from __future__ import annotations

from datetime import timedelta
from typing import cast

from django.db.models import Max

from agents.actions import queue_turn, retry_now
from agents.actors import PERSON, Actor, kind_of, name_of
from agents.chains.store import demand_tool, load_chain
from agents.db import clock
from agents.engine.lifecycle import hold, request_stop, requeue
from agents.engine.subagents import parent_waits
from agents.engine.usage import NAMES
from agents.errors import Conflict, Invalid
from agents.events import wake_after_commit
from agents.models import Lane, Turn, TurnState
from agents.models.turn import Checkpoint
from agents.stored_text import gettext, gettext_lazy
from agents.tools import permissions
from plans.actions.endings import STOPPED, goes_on, tell_end
from plans.actions.verb import verb
from plans.actions.versions import find
from plans.attempts import why_over
from plans.expected_version import NOT_CHANGED, NOT_STARTED, demand_active
from plans.models import Attempt, Plan, Run, State, Subtask
from plans.queries import (
    assign_subtasks,
    check_turns_of,
    close_subtask,
    has_work_left,
    lock_plan,
    plan_of_turn,
    ready,
    record_event,
    refresh_state,
    run_by_turns,
    run_turns_of,
    save_run,
)

NOT_WAITING = {
    State.IN_PROGRESS: gettext_lazy("{key} is in progress, not waiting to be done."),
    State.DONE: gettext_lazy("{key} is done, not waiting to be done."),
    State.ABANDONED: gettext_lazy("{key} is abandoned, not waiting to be done."),
}
Options = dict[str, object]


@verb("run_plan", open=True, version=NOT_STARTED, confirmed=True)
def run_plan(
    plan: Plan,
    by: Actor,
    mode: str = "",
    options: Options | None = None,
    version: int | None = None,
) -> Plan:
    """Start or go on: the next subtask only, or all until the end or a failure.

    Without a `mode` it keeps the one it ran in. `options` holds for this run: `executor`, a chain,
    and `allow`, tools granted for it.
    """
    if mode not in ("", "all", "next"):
        raise Invalid(gettext("The mode is next or all."))
    demand_room(plan)
    options = options or {}
    allow = [str(name) for name in cast(list[str], options.get("allow") or [])]
    executor = str(options.get("executor") or "")
    if executor:  # refused before anything starts
        demand_tool(load_chain(executor), "executor", "finish_subtask")
    if allow:
        now = permissions.of_conversation(plan.conversation)
        allow = permissions.check_lifted(allow, now, plan.conversation.owner_id)
    if plan.run not in (Run.QUEUED, Run.RUNNING):
        start_run(plan, by, mode, {"executor": executor, "allow": allow})
    return plan


def demand_room(plan: Plan) -> None:
    """A run that rests at a limit would only rest again: the limit is raised first."""
    halted = plan.run == Run.PAUSED and plan.pause_reason == Plan.PauseReason.BUDGET
    if halted and (what := why_over(plan)):
        raise Conflict(
            gettext(
                "The budget is used up: {budget}. Nothing was started. Raise the limit in the "
                "drawer, or with POST /api/plans/{plan}/budget."
            ).format(budget=what, plan=plan.pk)
        )


def start_run(plan: Plan, by: Actor, mode: str = "", options: Options | None = None) -> None:
    """Queue the next turn of the run, or let those that wait go on.

    Without `mode` that of the run so far holds on, which is to the end unless a person said
    otherwise; without `options` theirs do too, which is right only where the same run goes on.
    """
    demand_startable(plan)
    known = dict(plan.run_options)
    ended = known.pop("ended", None)
    kept = known if options is None else options
    mode = mode or str(plan.run_options.get("mode") or "all")
    # A person's start begins the count of attempts anew.
    newest = Attempt.objects.filter(subtask__plan=plan).aggregate(last=Max("pk"))["last"]
    plan.run_options = {**kept, "mode": mode, "tried": newest or 0, "halted": False}
    plan.save(update_fields=["run_options"])
    turns = run_turns_of(plan)
    for turn in turns:
        end_pause(turn)
    if turns:  # One that is being stopped still has to end: the next one is queued when it has.
        save_run(plan, *run_by_turns(plan, run_turns_of(plan)))
    else:
        queue_next(plan)
    goes_on(ended, record_event(plan, "run.started", by, mode=mode))


def end_pause(turn: Turn) -> None:
    """It goes on, now or once it has what else it waits for; one that is held back goes at once."""
    turn.pause_requested = False
    if turn.state == TurnState.QUEUED:
        turn.not_before = None
        wake_after_commit()
    turn.save(update_fields=["pause_requested", "not_before"])
    if turn.waiting_for == Turn.WaitingFor.PAUSE:
        requeue(turn)


def demand_startable(plan: Plan) -> None:
    """Refuse to queue a turn that nothing would ever claim, or whose plan nobody sees."""
    demand_active(plan, NOT_STARTED)
    if plan.conversation.parent_call_id and not parent_waits(plan.conversation):
        raise Conflict(gettext("The subtask this plan worked for does not wait for it any more."))
    demand_free_lane(plan)


def demand_free_lane(plan: Plan) -> None:
    if why := why_no_lane(plan):
        raise Conflict(why)


def why_no_lane(plan: Plan) -> str:
    """A run that waits in the midst of a subtask would keep any other from ever starting."""
    waiting = Turn.objects.filter(
        conversation_id=plan.conversation_id, lane=Lane.RUN, state=TurnState.WAITING
    )
    for turn in waiting.exclude(plan=plan.pk):
        other = plan_of_turn(turn)
        title = other.title if other else gettext("Another plan")
        sentence = gettext("“{title}” is paused in the midst of a subtask: stop it first.")
        return sentence.format(title=title)
    return ""


def queue_next(plan: Plan, wait: float = 0, after: Turn | None = None) -> None:
    """A turn for each subtask that may begin, or the closing one when every subtask is closed.

    `wait`, in seconds, holds it back. `after` is the turn that ends by this.
    """
    chain = str(plan.run_options.get("executor") or "")
    works: list[Checkpoint] = [{"subtask": each.key} for each in ready(plan)]
    kind = "subtask" if works else "closing"
    for work in works or [Checkpoint()]:
        turn = queue_turn(plan.conversation, kind, Lane.RUN, chain, work, after, plan.pk)
        if wait:
            not_before = clock() + timedelta(seconds=wait)
            Turn.objects.filter(pk=turn.pk).update(not_before=not_before)
    save_run(plan, Run.QUEUED)


@verb("pause_plan", open=True)
def pause_plan(plan: Plan, by: Actor) -> Plan:
    """Pause after the model or tool call that is running now, or another agent's work.

    Where it waits for an answer, a decision or a higher limit it stays paused when it has that.
    """
    turns = run_turns_of(plan)
    if plan.run == Run.PAUSED and not turns:
        return plan
    if not turns or plan.run in (Run.IDLE, Run.STOPPING):
        raise Conflict(gettext("The plan is not running."))
    wishes = [begin_pause(turn) for turn in turns]
    if any(wishes):
        plan.paused_by = person_of(by)
        save_run(plan, *run_by_turns(plan, turns))
        record_event(plan, "run.paused", by, reason="user")
    return plan


def begin_pause(turn: Turn) -> bool:
    """The turn rests, now or after its step; False if that is so already."""
    is_paused = turn.waiting_for == Turn.WaitingFor.PAUSE
    if turn.pause_requested or (is_paused and not turn.checkpoint.get("because")):
        return False
    if is_paused or (turn.state == TurnState.QUEUED and has_free_lane(turn)):
        # It stays where it is. Before its attempt has begun the rest is the plan's own.
        hold(turn, counts=Attempt.objects.filter(turn=turn).exists())
    else:
        turn.pause_requested = True
        turn.save(update_fields=["pause_requested"])
    return True


def has_free_lane(turn: Turn) -> bool:
    """Nobody has its place: another plan's turn may still be ending."""
    same_lane = Turn.objects.filter(conversation=turn.conversation_id, lane=turn.lane)
    live = same_lane.filter(state__in=(TurnState.RUNNING, TurnState.WAITING))
    return not live.exclude(pk=turn.pk).exists()


def person_of(by: Actor) -> str:
    return name_of(by) if kind_of(by) == PERSON else ""


@verb("resume_plan", open=True, version=NOT_STARTED, confirmed=True)
def resume_plan(plan: Plan, by: Actor, version: int | None = None) -> Plan:
    """Go on where it was paused; a new version or a question waits for another answer.

    A pause that was asked for while it waits for an answer is taken back.
    """
    if plan.run in (Run.QUEUED, Run.RUNNING):
        return plan
    if plan.run not in (Run.PAUSED, Run.PAUSING):
        raise Conflict(gettext("The plan is not paused."))
    turns = run_turns_of(plan)
    pausing = any(turn.pause_requested for turn in turns)
    if turns and not pausing and all(turn.waiting_for in Turn.FOR_A_PERSON for turn in turns):
        raise Conflict(gettext("The plan waits for your answer, not for a resume."))
    demand_room(plan)
    start_run(plan, by)
    return plan


@verb("stop_plan")
def stop_plan(plan: Plan, by: Actor) -> Plan:
    """End the run: the subtask is todo again, its attempt does not count."""
    for turn in check_turns_of(plan).filter(state__in=Turn.OPEN_STATES):
        request_stop(turn, by)
    turns = run_turns_of(plan)
    if turns:
        stop_turns(plan, turns, by, Run.STOPPING)
        plan.refresh_from_db()
    elif plan.run != Run.IDLE:
        save_run(plan, Run.IDLE)
        record_event(plan, "run.stopped", by)
        tell_end(plan, STOPPED)
    return plan


def set_aside(plan: Plan, by: Actor) -> None:
    """Another plan gets the drawer and the lane: the run pauses, its subtask is to do again."""
    plan = lock_plan(plan)
    turns = run_turns_of(plan)
    if turns and plan.run != Run.STOPPING:
        stop_turns(plan, turns, by, Run.PAUSING, Plan.PauseReason.ASIDE)


def stop_turns(plan: Plan, turns: list[Turn], by: Actor, run: str, reason: str = "") -> None:
    """What the run is while its turns end, and how it goes on is decided when they have."""
    plan.paused_by = person_of(by)
    save_run(plan, run, reason)
    type = "run.stopping" if run == Run.STOPPING else "run.paused"
    record_event(plan, type, by, **({"reason": reason} if reason else {}))
    for turn in turns:
        request_stop(turn, by)
    wake_after_commit()


def end_backoff(plan: Plan, subtask: Subtask, by: Actor) -> None:
    """The next attempt at a subtask, if it waits for its time, goes at once."""
    for turn in run_turns_of(plan):
        # Of turns that an older Planside queued it is not said; there was one at a time.
        is_for_it = turn.checkpoint.get("subtask", subtask.key) == subtask.key
        if is_for_it and turn.state == TurnState.QUEUED and turn.not_before:
            retry_now(turn, by)


@verb("skip_subtask", open=True, version=NOT_CHANGED)
def skip_subtask(
    plan: Plan, key: str, by: Actor, reason: str = "", version: int | None = None
) -> Plan:
    """Leave a subtask out: it stays in the list, abandoned, and counts as settled.

    What follows does not wait for the next try of a subtask that was skipped.
    """
    subtask = find_todo(plan, key)
    end_backoff(plan, subtask, by)
    words = " ".join(reason.split())[:400]
    close_subtask(subtask, State.ABANDONED, f"skipped: {words}" if words else "skipped")
    assign_subtasks(plan)
    refresh_state(plan)
    seq = record_event(plan, "plan.updated", by, subtask=key, state=State.ABANDONED, reason=words)
    if plan.is_confirmed and plan.run == Run.IDLE:
        end_or_rest(plan, seq)
    return plan


def end_or_rest(plan: Plan, seq: int) -> None:
    """After a skip nothing is left but to say what came of it, or a person has to say go on."""
    known = dict(plan.run_options)
    goes_on(known.pop("ended", None), seq)
    plan.run_options = {**known, "halted": has_work_left(plan)}
    plan.save(update_fields=["run_options"])
    if not has_work_left(plan):
        demand_startable(plan)
        queue_next(plan)


def find_todo(plan: Plan, key: str) -> Subtask:
    subtask = find(plan, key)
    if subtask.state != State.TODO:
        raise Conflict(NOT_WAITING[State(subtask.state)].format(key=key))
    return subtask


@verb("raise_budget", open=True, version=NOT_CHANGED)
def raise_budget(
    plan: Plan, by: Actor, limits: dict[str, object], version: int | None = None
) -> Plan:
    """Set new limits (None = none any more) and go on, if the old ones had halted the run."""
    for name, limit in limits.items():
        is_number = isinstance(limit, int | float) and not isinstance(limit, bool)
        is_positive = is_number and cast(float, limit) > 0
        if name not in NAMES or not (limit is None or is_positive):
            raise Invalid(
                gettext("A budget is a positive number of {names}.").format(names=", ".join(NAMES))
            )
    budget = {**plan.budget, **limits}
    plan.budget = {name: limit for name, limit in budget.items() if limit is not None}
    plan.save(update_fields=["budget"])
    record_event(plan, "plan.updated", by, budget=plan.budget)
    halted = plan.run == Run.PAUSED and plan.pause_reason == Plan.PauseReason.BUDGET
    if halted and plan.is_confirmed and not why_over(plan):
        start_run(plan, by)
    return plan
