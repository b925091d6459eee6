"""The attempts at a plan's subtasks, and what they have used."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import QuerySet

from agents.config.schema import PlanSettings
from agents.engine import usage
from agents.engine.usage import Times, counts_from, times_of
from agents.models import Lane, Turn
from agents.statements import prepared
from agents.timestamps import timestamp
from plans.models import Attempt, Plan
from plans.queries import backoff_seconds, plans_below


def limit_of(turn: Turn, name: str) -> int:
    """`max_attempts` or `max_check_failures`, as the agent had it when the turn was queued."""
    return int((turn.config.get("plan") or {}).get(name) or PlanSettings.model_fields[name].default)


@prepared
def attempts_at(plan: int) -> QuerySet[Attempt]:
    return Attempt.objects.filter(subtask__plan=plan).order_by("number")


@prepared
def attempted_turns(plan: int) -> QuerySet[Turn]:
    """What their times and cost are made of."""
    return Turn.objects.filter(attempt__subtask__plan=plan).only(
        *("state", "waiting_for", "started_at", "finished_at", "lease_until", "counted_at"),
        *("worked", "waited", "paused", "tokens_in", "tokens_out", "tokens_cached"),
        *("usage_estimated", "cost"),
    )


@dataclass
class Cost:
    """What a subtask or a plan has used so far."""

    times: Times = field(default_factory=Times)
    tokens: int = 0
    tokens_cached: int = 0  # of these, those that came from the server's cache
    usage_estimated: bool = False
    cost: Decimal | None = None
    worked: timedelta = timedelta()  # by all turns, as far as it is counted in their rows
    counted_at: datetime | None = None  # when that of the turn at work was counted last

    def add(self, turn: Turn) -> None:
        """The turns may come in any order: the one at work need not be the last."""
        self.times += times_of(turn)
        self.worked += turn.worked
        if counts_from(turn):
            self.counted_at = turn.counted_at
        self.tokens += turn.tokens
        self.tokens_cached += turn.tokens_cached
        self.usage_estimated = self.usage_estimated or turn.usage_estimated
        if turn.cost is not None:
            self.cost = (self.cost or Decimal(0)) + turn.cost

    def document(self) -> dict[str, Any]:
        """`cost` is in US dollars, null where no price is known.

        `seconds` is work alone; a clock that runs counts from `counts_from`, which is when the
        work would have begun had it never rested.
        """
        cost = None if self.cost is None else float(self.cost)
        began = timestamp(self.counted_at - self.worked) if self.counted_at else None
        seconds = round(self.times.worked, 3)
        return {
            "seconds": seconds,
            "counts_from": began,
            "tokens": self.tokens,
            "tokens_cached": self.tokens_cached,
            "usage_estimated": self.usage_estimated,
            "cost": cost,
        }


@dataclass
class AttemptSummary:
    """The attempts at one subtask, and what they cost."""

    attempts: list[Attempt] = field(default_factory=list)
    below: int | None = None  # the plan of an agent that works for it
    used: Cost = field(default_factory=Cost)

    @property
    def last_failure(self) -> str:
        """Of which class it was."""
        return self.attempts[-1].failure_class if self.attempts else ""

    @property
    def last_error(self) -> str:
        return self.attempts[-1].error if self.attempts else ""


def attempts_of(plan: Plan) -> defaultdict[int, AttemptSummary]:
    """By subtask."""
    summaries: defaultdict[int, AttemptSummary] = defaultdict(AttemptSummary)
    attempts = attempts_at.models(plan=plan.pk)
    turns = {turn.pk: turn for turn in attempted_turns.models(plan=plan.pk)} if attempts else {}
    below = plans_below(turns)
    for attempt in attempts:
        if attempt.turn_id not in turns:  # deleted while this was read
            continue
        attempt.turn = turns[attempt.turn_id]
        each = summaries[attempt.subtask_id]
        each.attempts.append(attempt)
        each.used.add(attempt.turn)
        each.below = below.get(attempt.turn_id, each.below)
    return summaries


def used_by(summaries: dict[int, AttemptSummary]) -> Cost:
    """What all attempts have used together."""
    total = Cost()
    for each in summaries.values():
        for attempt in each.attempts:
            total.add(attempt.turn)
    return total


def times_of_plan(plan: Plan, summaries: dict[int, AttemptSummary]) -> Times:
    """What its attempts worked, waited and were paused, and its rests between two of them."""
    waited, paused = backoff_seconds(plan)
    rests = Times(0.0, waited.total_seconds(), paused.total_seconds())
    return used_by(summaries).times + rests


def why_over(plan: Plan) -> str:
    """The limit of its budget that is used up, in words; nothing while there is room."""
    turns = Turn.objects.filter(
        conversation_id=plan.conversation_id,
        lane__in=(Lane.RUN, Lane.CHECK),
        plan=plan.pk,
    )
    return usage.reached(plan.budget, usage.used_by(turns))
