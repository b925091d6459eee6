"""Several plans in one conversation: which is in the drawer, which is gone, which begins again."""

from __future__ import annotations

from django.db import transaction

from agents.errors import NotNow
from agents.turns.endings import request_stop
from plans.actions.making import create_plan
from plans.models import Plan
from plans.operations import operation
from plans.rows import active_of, checklist, lock, run_turn_of, tell
from plans.shapes import PlanDraft, SubtaskDraft


@operation
@transaction.atomic
def activate(plan: Plan, by: str) -> Plan:
    """Put this plan into the drawer; the one that was there stays open. Not while one runs."""
    plan = lock(plan)
    pointer = active_of(plan.conversation)
    if pointer.plan_id == plan.pk:
        return plan
    if pointer.plan is not None and pointer.plan.is_live:
        raise NotNow("A plan is running in this conversation: stop or pause it first.")
    pointer.plan = plan
    pointer.save()
    tell(plan, "plan.activated", by)
    return plan


@operation
@transaction.atomic
def delete_plan(plan: Plan, by: str) -> None:
    """Gone, with its versions, attempts and events' details; the conversation's text stays."""
    plan = lock(plan)
    if plan.is_live:
        raise NotNow("The plan is running: stop it first.", plan.version)
    if turn := run_turn_of(plan):  # paused: what waits ends with it
        request_stop(turn, by)
    tell(plan, "plan.deleted", by, title=plan.title)
    if plan.card is not None:
        plan.card.delete()
    plan.delete()


@operation
@transaction.atomic
def use_again(plan: Plan, by: str) -> Plan:
    """A new plan with the same text, waiting for a new yes. The old one stays as it is."""
    names = ("name", "description", "expected_outcome")
    draft = PlanDraft.model_construct(
        title=plan.title,
        content=plan.content,
        expected_outcome=plan.expected_outcome,
        subtasks=[SubtaskDraft.model_construct(**row) for row in checklist(plan).values(*names)],
    )
    return create_plan(plan.conversation, draft, by, goal=plan.goal)
