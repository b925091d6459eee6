"""What work may use: tokens, money, time and model calls. Checked before each model call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from agents.engine.times import times_of
from agents.llm.chat_completions import ModelRequest
from agents.models import Conversation, Turn

NAMES = {
    "tokens": "tokens",
    "cost_usd": "US dollars",
    "seconds": "seconds",
    "model_calls": "model calls",
}
MILLION = Decimal(1_000_000)
DEEPEST = 4  # of agents that call agents


@dataclass
class Used:
    """The sum over some turns; `cost_usd` counts only where prices are known."""

    tokens: float = 0
    cost_usd: float = 0
    seconds: float = 0
    model_calls: float = 0

    def add(self, turns: Iterable[Turn]) -> Used:
        for turn in turns:
            self.tokens += turn.tokens
            self.cost_usd += float(turn.cost or 0)
            self.model_calls += turn.model_calls
        return self


def used_by(turns: Iterable[Turn]) -> Used:
    """What the turns and all that other agents did for them have used.

    A turn counts as working while another agent works for it, so the others' time is in its own.
    """
    used, level = Used(), list(turns)
    seconds = sum(times_of(turn).worked for turn in level)
    for _ in range(DEEPEST):
        used.add(level)
        children = Conversation.objects.filter(parent_call__turn__in=level)
        level = list(Turn.objects.filter(conversation__in=children))
        if not level:
            break
    used.seconds = seconds
    return used


def reached(limits: Mapping[str, object], used: Used) -> str:
    """Which limit is used up, in words; nothing while all hold."""
    for name, unit in NAMES.items():
        limit = limits.get(name)
        if limit is not None and (spent := getattr(used, name)) >= float(str(limit)):
            return f"{number(spent)} of {number(float(str(limit)))} {unit} are used up"
    return ""


def number(amount: float) -> str:
    return f"{amount:,.0f}" if amount == int(amount) or amount > 100 else f"{amount:,.2f}"


def cost_of(request: ModelRequest, tokens_in: int, tokens_out: int) -> Decimal | None:
    """US dollars by the provider's prices per million tokens; None where there are none.

    Prices are {model: {"input": 0.4, "output": 1.6}}.
    """
    prices = request.endpoint.prices.get(request.model)
    if not prices:
        return None
    paid = Decimal(str(prices.get("input", 0))) * tokens_in
    paid += Decimal(str(prices.get("output", 0))) * tokens_out
    return paid / MILLION
