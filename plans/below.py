"""Plans below a plan: those by which other agents work for its subtasks."""

from __future__ import annotations

from collections.abc import Iterable

from agents.models import Turn, TurnState
from plans.models import Plan


def plans_below(turns: Iterable[int]) -> dict[int, int]:
    """By the turn that called: the newest plan of an agent it called."""
    rows = Plan.objects.filter(conversation__parent_call__turn__in=list(turns)).order_by("pk")
    return dict(rows.values_list("conversation__parent_call__turn", "pk"))


def asking_plan(plan: Plan) -> Plan | None:
    """The plan whose question waits for the person: this one's own, or one below it."""
    if plan.question:
        return plan
    waiting = Turn.objects.filter(
        conversation_id=plan.conversation_id,
        checkpoint__plan=plan.pk,
        state=TurnState.WAITING,
        waiting_for=Turn.WaitingFor.CHILD,
    )
    below = plans_below(waiting.values_list("pk", flat=True))
    for child in Plan.objects.filter(pk__in=below.values()):
        if asking := asking_plan(child):
            return asking
    return None
