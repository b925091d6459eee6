"""How a plan ends: done, cancelled, superseded or cleared."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from agents import events
from agents.actions import add_message, drop_queued, open_turns
from agents.actors import Actor
from agents.engine.lifecycle import request_stop
from agents.errors import Conflict
from agents.models import Conversation, Lane, Message, TurnState
from plans.actions.request import cancel_request
from plans.actions.run import stop_plan
from plans.models import OPEN, Plan, Run, State
from plans.queries import (
    checklist,
    close_subtask,
    demand_open,
    lock_active_plan,
    lock_plan,
    record_event,
    save_run,
)
from plans.tracing import operation

NOTHING_DONE = "every subtask was skipped"


@operation("cancel_plan")
@transaction.atomic
def cancel_plan(plan: Plan, by: Actor, reason: str = "cancelled", said: str = "") -> Plan:
    """Abandon the plan: what is running stops, what is open is abandoned, nothing is deleted.

    `reason` is the kind of end, with what the person `said` about it behind a colon.

    A plan that is cancelled already is left as it is.
    """
    plan = lock_plan(plan)
    if plan.state == State.ABANDONED:
        return plan
    demand_open(plan)
    reason = f"{reason}: {said}"[:200] if said else reason
    plan.state, plan.reason, plan.finished_at = State.ABANDONED, reason, timezone.now()
    plan.question = ""
    plan.save()
    for subtask in checklist(plan).filter(state__in=OPEN):
        close_subtask(subtask, State.ABANDONED, reason)
    if plan.run != Run.IDLE:
        stop_plan(plan, by)
        plan.refresh_from_db()
    record_event(plan, "plan.finished", by, state=State.ABANDONED, reason=reason)
    return plan


@operation("finish_plan")
@transaction.atomic
def finish_plan(plan: Plan, outcome: str, by: Actor, said: bool = False) -> Plan:
    """Done, with what came of it. Refused while a subtask is open.

    The conversation gets a closing card; it leaves the outcome out where the agent has just `said`
    it there.
    """
    plan = lock_plan(plan)
    if plan.state == State.DONE:
        return plan
    demand_open(plan)
    left = list(checklist(plan).filter(state__in=OPEN).values_list("key", flat=True))
    if left:
        raise Conflict(f"The plan is not done: {', '.join(left[:10])} still open.", plan.version)
    every = checklist(plan)
    if every.filter(state=State.DONE).exists() or not every.exists():
        plan.state = State.DONE
    else:
        plan.state, plan.reason = State.ABANDONED, NOTHING_DONE
    plan.outcome, plan.finished_at = outcome, timezone.now()
    plan.save()
    save_run(plan, Run.IDLE)
    record_event(plan, "plan.finished", by, state=plan.state)
    meta: dict[str, object] = {"closing": plan.pk, "said": said}
    add_message(plan.conversation, Message.Kind.NOTICE, outcome, meta=meta)
    return plan


@operation("clear")
@transaction.atomic
def clear(conversation: Conversation, by: Actor) -> list[Plan]:
    """Empty the drawer: what runs stops, what is queued is dropped, every open plan of the
    conversation is abandoned. Gives those.

    A finished plan only leaves the drawer. Nothing is deleted but what was never sent.
    """
    stop_everything(conversation, by)
    pointer = lock_active_plan(conversation)
    shown = pointer.plan
    ended = give_up_all(conversation, by)
    pointer.plan = None
    pointer.save()
    events.record(conversation, "plan.cleared", f"plan:{shown.pk}" if shown else "", by)
    return ended


@operation("leave")
@transaction.atomic
def end_open_plans(conversation: Conversation, by: Actor) -> list[Plan]:
    """Leave for another conversation: as clearing, but a finished plan stays in the drawer."""
    stop_everything(conversation, by)
    pointer = lock_active_plan(conversation)
    ended = give_up_all(conversation, by)
    if pointer.plan in ended:
        events.record(conversation, "plan.cleared", f"plan:{pointer.plan_id}", by)
        pointer.plan = None
        pointer.save()
    return ended


def give_up_all(conversation: Conversation, by: Actor) -> list[Plan]:
    """Those beside the one in the drawer too: nothing would show them there any more."""
    open_ones = Plan.objects.filter(conversation=conversation, state__in=OPEN).order_by("pk")
    return [cancel_plan(plan, by, reason="cleared") for plan in open_ones]


def stop_everything(conversation: Conversation, by: Actor) -> None:
    for turn in open_turns(conversation, Lane.CHAT):
        if turn.state == TurnState.QUEUED and not turn.started_at:
            drop_queued(turn)
        else:
            request_stop(turn, by)
    cancel_request(conversation, by)
