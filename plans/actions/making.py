"""A new plan."""

from __future__ import annotations

from django.db import transaction

from agents.actions import add_message
from agents.errors import Invalid
from agents.models import Conversation, Message, Turn
from plans.actions.budgets import first_budget
from plans.actions.ending import cancel_plan
from plans.models import ActivePlan, Plan, Subtask
from plans.operations import operation
from plans.rows import AGENT, active_of, new_keys, save_version, tell
from plans.shapes import MOST_SUBTASKS, NOTHING, PlanDraft, SubtaskDraft


@operation
@transaction.atomic
def create_plan(
    conversation: Conversation,
    draft: PlanDraft,
    by: str,
    turn: Turn | None = None,
    goal: str = "",
) -> Plan:
    """The conversation's active plan from now on, at version 1, waiting for a person's yes.

    What was asked for is answered by it; an older open plan is abandoned (superseded).
    """
    demand_substance(draft, by)
    pointer = active_of(conversation)
    old = pointer.plan
    if old is not None and old.is_open:
        cancel_plan(old, by, reason="superseded")
    plan = Plan.objects.create(
        conversation=conversation,
        goal=pointer.asked_goal or goal,
        title=draft.title,
        content=draft.content,
        expected_outcome=draft.expected_outcome,
        replaces=old,
        budget=first_budget(conversation),
    )
    insert_subtasks(plan, draft.subtasks)
    save_version(plan, by, "")
    put_first(pointer, plan)
    show(plan, turn)
    tell(plan, "plan.created", by, version=1)
    return plan


def demand_substance(draft: PlanDraft, by: str) -> None:
    """A person may begin with a text alone; an agent's plan is a list of things to do."""
    count = len(draft.subtasks)
    if count == 0 and by == AGENT:
        raise Invalid("A plan needs at least one subtask.")
    if count == 0 and not draft.content:
        raise Invalid(NOTHING)
    if count > MOST_SUBTASKS:
        raise Invalid(f"A plan has at most {MOST_SUBTASKS} subtasks; this one has {count:,}.")


def insert_subtasks(plan: Plan, drafts: list[SubtaskDraft]) -> None:
    keys = new_keys(plan, len(drafts))
    Subtask.objects.bulk_create(
        Subtask(
            plan=plan,
            key=key,
            position=position,
            name=draft.name,
            description=draft.description,
            expected_outcome=draft.expected_outcome,
        )
        for position, (key, draft) in enumerate(zip(keys, drafts, strict=True), 1)
    )


def put_first(pointer: ActivePlan, plan: Plan) -> None:
    pointer.plan, pointer.asked_goal, pointer.asked_message = plan, "", None
    pointer.save()


def show(plan: Plan, turn: Turn | None) -> None:
    """The card in the conversation that shows the same checklist as the drawer."""
    meta: dict[str, object] = {"plan": plan.pk}
    plan.card = add_message(
        plan.conversation, Message.Kind.PLAN, plan.title, "assistant", turn, meta
    )
    plan.save(update_fields=["card"])
