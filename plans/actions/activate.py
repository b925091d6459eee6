"""Several plans in one conversation: which is in the drawer, which is gone, which begins again."""

from __future__ import annotations

from django.db import transaction

from agents.actors import Actor
from agents.engine.lifecycle import request_stop
from agents.errors import Conflict
from plans.actions.create import create_plan
from plans.models import PLAN_TEXT, SUBTASK_TEXT, Plan
from plans.queries import (
    checklist,
    demand_no_child,
    lock_active_plan,
    lock_plan,
    record_event,
    redraw_card,
    run_turn_of,
)
from plans.schemas import PlanDraft, SubtaskDraft
from plans.tracing import operation


@operation("activate")
@transaction.atomic
def activate_plan(plan: Plan, by: Actor) -> Plan:
    """Put this plan into the drawer; the one that was there stays open. Not while one runs."""
    plan = lock_plan(plan)
    demand_no_child(plan.conversation, by)
    pointer = lock_active_plan(plan.conversation)
    if pointer.plan_id == plan.pk:
        return plan
    if pointer.plan is not None and pointer.plan.is_live:
        raise Conflict("A plan is running in this conversation: stop or pause it first.")
    before, pointer.plan = pointer.plan, plan
    pointer.save()
    redraw_card(before, record_event(plan, "plan.activated", by))
    return plan


@operation("delete_plan")
@transaction.atomic
def delete_plan(plan: Plan, by: Actor) -> None:
    """Gone, with its versions, attempts and events' details; the conversation's text stays."""
    plan = lock_plan(plan)
    if plan.is_live:
        raise Conflict("The plan is running: stop it first.", plan.version)
    if turn := run_turn_of(plan):  # paused: what waits ends with it
        request_stop(turn, by)
    record_event(plan, "plan.deleted", by, title=plan.title)
    if plan.card is not None:
        plan.card.delete()
    plan.delete()


@operation("use_again")
@transaction.atomic
def use_again(plan: Plan, by: Actor) -> Plan:
    """A new plan with the same text, waiting for a new yes. All others stay as they are."""
    rows = checklist(plan).values(*SUBTASK_TEXT)
    draft = PlanDraft.model_construct(
        **{field: getattr(plan, field) for field in PLAN_TEXT},
        subtasks=[SubtaskDraft.model_construct(**row) for row in rows],
    )
    return create_plan(plan.conversation, draft, by, goal=plan.goal, beside=True)
