"""Which of a plan's limits are used up, and how far up it makes sense to raise them."""

from __future__ import annotations

from dataclasses import dataclass

from agents.turns.budget import NAMES
from plans.actions.budgets import why_over
from plans.models import Plan


@dataclass(frozen=True)
class Over:
    """One limit that is used up: in words, and twice as high (or as often as it takes)."""

    name: str
    unit: str
    words: str
    limit: float
    offer: str


def used_up(plan: Plan) -> list[Over]:
    return [over for name in NAMES if name in plan.budget and (over := look_at(plan, name))]


def look_at(plan: Plan, name: str) -> Over | None:
    limit = float(plan.budget[name])
    words = why(plan, name, limit)
    if not words:
        return None
    offer = 2 * limit or 1
    while why(plan, name, offer):
        offer *= 2
    return Over(name, NAMES[name], words, limit, f"{offer:.15g}")


def why(plan: Plan, name: str, limit: float) -> str:
    """As it would be if this were the plan's only limit."""
    alone = Plan(pk=plan.pk, conversation_id=plan.conversation_id, budget={name: limit})
    return why_over(alone)
