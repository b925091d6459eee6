"""How a plan ends: done, cancelled, superseded or cleared."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from agents import events
from agents.actions import drop_queued, open_turns
from agents.errors import NotNow
from agents.models import Conversation, Lane, TurnState
from agents.turns.endings import request_stop
from plans.actions.asking import cancel_asking
from plans.actions.running import stop_plan
from plans.models import OPEN, Plan, Run, State
from plans.operations import operation
from plans.rows import active_of, checklist, close_subtask, demand_open, lock, save_run, tell


@operation
@transaction.atomic
def cancel_plan(plan: Plan, by: str, reason: str = "cancelled") -> Plan:
    """Abandon the plan: what is running stops, what is open is abandoned, nothing is deleted.

    A plan that is cancelled already is left as it is.
    """
    plan = lock(plan)
    if plan.state == State.ABANDONED:
        return plan
    demand_open(plan)
    plan.state, plan.reason, plan.finished_at = State.ABANDONED, reason, timezone.now()
    plan.question = ""
    plan.save()
    for subtask in checklist(plan).filter(state__in=OPEN):
        close_subtask(subtask, State.ABANDONED, reason)
    if plan.run != Run.IDLE:
        stop_plan(plan, by)
        plan.refresh_from_db()
    tell(plan, "plan.finished", by, state=State.ABANDONED, reason=reason)
    return plan


@operation
@transaction.atomic
def finish_plan(plan: Plan, outcome: str, by: str) -> Plan:
    """Done, with what came of it. Refused while a subtask is open."""
    plan = lock(plan)
    if plan.state == State.DONE:
        return plan
    demand_open(plan)
    left = list(checklist(plan).filter(state__in=OPEN).values_list("key", flat=True))
    if left:
        raise NotNow(f"The plan is not done: {', '.join(left[:10])} still open.", plan.version)
    done = checklist(plan).filter(state=State.DONE).exists()
    plan.state = State.DONE if done else State.ABANDONED
    plan.outcome, plan.finished_at = outcome, timezone.now()
    plan.save()
    save_run(plan, Run.IDLE)
    tell(plan, "plan.finished", by, state=plan.state)
    return plan


@operation
@transaction.atomic
def clear(conversation: Conversation, by: str) -> None:
    """Empty the drawer: what runs stops, what is queued is dropped, the open plan is abandoned.

    A finished plan only leaves the drawer. Nothing is deleted but what was never sent.
    """
    cancel_asking(conversation, by)
    for turn in open_turns(conversation, Lane.CHAT):
        if turn.state == TurnState.QUEUED and not turn.started_at:
            drop_queued(turn)
        else:
            request_stop(turn, by)
    pointer = active_of(conversation)
    plan = pointer.plan
    if plan is not None:
        if plan.is_open:
            cancel_plan(plan, by, reason="cleared")
        pointer.plan = None
        pointer.save()
    events.record(conversation, "plan.cleared", f"plan:{plan.pk}" if plan else "", by)
