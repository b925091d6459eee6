"""The attempts at a plan's subtasks, and what they have used."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from decimal import Decimal

from django.utils import timezone

from agents.models import Turn
from agents.statements import found
from plans.below import plans_below
from plans.models import Attempt, Plan

Document = dict[str, object]

ATTEMPTS = """
SELECT a.* FROM plans_attempt a JOIN plans_subtask s ON s.id = a.subtask_id
WHERE s.plan_id = %s ORDER BY a.number
"""
ATTEMPTED = """
SELECT t.id, t.started_at, t.finished_at, t.tokens_in, t.tokens_out, t.cost
FROM agents_turn t JOIN plans_attempt a ON a.turn_id = t.id
JOIN plans_subtask s ON s.id = a.subtask_id WHERE s.plan_id = %s
"""


@dataclass
class Cost:
    """What a subtask or a plan has used so far."""

    seconds: float = 0.0
    tokens: int = 0
    cost: Decimal | None = None

    def add(self, turn: Turn) -> None:
        if turn.started_at:
            self.seconds += ((turn.finished_at or timezone.now()) - turn.started_at).total_seconds()
        self.tokens += turn.tokens
        if turn.cost is not None:
            self.cost = (self.cost or Decimal(0)) + turn.cost

    def document(self) -> Document:
        """`cost` is in US dollars, null where no price is known."""
        cost = None if self.cost is None else float(self.cost)
        return {"seconds": round(self.seconds, 3), "tokens": self.tokens, "cost": cost}


@dataclass
class Tries:
    """The attempts at one subtask, and what they cost."""

    attempts: list[Attempt] = field(default_factory=list)
    below: int | None = None  # the plan of an agent that works for it
    used: Cost = field(default_factory=Cost)

    @property
    def last_error(self) -> str:
        return self.attempts[-1].error if self.attempts else ""


def tries_of(plan: Plan) -> defaultdict[int, Tries]:
    tries: defaultdict[int, Tries] = defaultdict(Tries)
    attempts = found(Attempt, ATTEMPTS, [plan.pk])
    turns = {turn.pk: turn for turn in found(Turn, ATTEMPTED, [plan.pk])} if attempts else {}
    below = plans_below(turns)
    for attempt in attempts:
        if attempt.turn_id not in turns:  # deleted while this was read
            continue
        attempt.turn = turns[attempt.turn_id]
        each = tries[attempt.subtask_id]
        each.attempts.append(attempt)
        each.used.add(attempt.turn)
        each.below = below.get(attempt.turn_id, each.below)
    return tries


def used_by(tries: dict[int, Tries]) -> Cost:
    """What all attempts have used together."""
    total = Cost()
    for each in tries.values():
        for attempt in each.attempts:
            total.add(attempt.turn)
    return total
