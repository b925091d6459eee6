"""Asking for a plan, and taking that back."""

from __future__ import annotations

from django.db import transaction

from agents import events
from agents.errors import Invalid
from agents.models import Conversation, Message
from plans.actions.running import stop_plan
from plans.operations import operation
from plans.rows import active_of


@operation
@transaction.atomic
def ask_for_plan(
    conversation: Conversation, goal: str, by: str, message: Message | None = None
) -> None:
    """From now on, until a plan exists, the model may only plan. A run goes no further.

    The goal is kept word for word. An older open plan stays active until the new one exists.
    """
    if not goal.strip():
        raise Invalid("Say what you want after /plan.")
    pointer = active_of(conversation)
    if pointer.plan is not None and pointer.plan.is_live:
        stop_plan(pointer.plan, by)
    pointer.asked_goal, pointer.asked_message = goal, message
    pointer.save()
    events.record(conversation, "plan.asked", "", by, goal=goal[:500])


@operation
@transaction.atomic
def cancel_asking(conversation: Conversation, by: str) -> bool:
    """No plan is asked for any more; False if none was."""
    pointer = active_of(conversation)
    if not pointer.asked_goal:
        return False
    pointer.asked_goal, pointer.asked_message = "", None
    pointer.save()
    events.record(conversation, "plan.asking_cancelled", "", by)
    return True
