"""Plans below a plan: those by which other agents work for its subtasks."""

from __future__ import annotations

from collections.abc import Iterable

from agents.models import ToolCall, Turn, TurnState
from agents.statements import fetch_all, places
from plans.models import Plan

BELOW = """
SELECT c.turn_id, p.id FROM plans_plan p
JOIN agents_conversation child ON child.id = p.conversation_id
JOIN agents_toolcall c ON c.id = child.parent_call_id
WHERE c.turn_id IN ({}) ORDER BY p.id
"""


def plans_below(turns: Iterable[int]) -> dict[int, int]:
    """By the turn that called: the newest plan of an agent it called."""
    callers = list(turns)
    return dict(fetch_all(BELOW.format(places(callers)), callers)) if callers else {}


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


def question_call(plan: Plan) -> int:
    """The call with which this plan, or one below it, asks the person; 0 while none does."""
    asking = asking_plan(plan)
    if asking is None:
        return 0
    asked = ToolCall.objects.filter(
        turn__conversation_id=asking.conversation_id, tool="ask_user", state=ToolCall.State.ASKED
    )
    return asked.order_by("-pk").values_list("pk", flat=True).first() or 0
