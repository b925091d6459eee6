"""The limits that halt a run: which are used up, and how far they are raised with one press."""

from __future__ import annotations

from dataclasses import dataclass

from agents.engine.usage import NAMES
from plans.attempts import why_over
from plans.models import Plan


@dataclass(frozen=True)
class ExceededLimit:
    """One limit that is used up: in words, and twice as high (or as often as it takes)."""

    name: str
    unit: str
    words: str
    limit: float
    offer: str

    @property
    def id(self) -> str:
        """For an element that is another one when the limit is."""
        return f"{self.name}-{self.limit:.15g}"


def used_up(plan: Plan) -> list[ExceededLimit]:
    """Which of a plan's limits are used up, and how far up it makes sense to raise them."""

    def why(name: str, limit: float) -> str:
        """As it would be if this were the plan's only limit."""
        alone = Plan(pk=plan.pk, conversation_id=plan.conversation_id, budget={name: limit})
        return why_over(alone)

    exceeded = []
    for name in NAMES:
        if name in plan.budget and (words := why(name, limit := float(plan.budget[name]))):
            offer = 2 * limit or 1
            while why(name, offer):
                offer *= 2
            exceeded.append(ExceededLimit(name, str(NAMES[name]), words, limit, f"{offer:.15g}"))
    return exceeded
