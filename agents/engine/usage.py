"""What turns have used: time, tokens, money and model calls; budgets are measured by it.

Time is counted in slices, each by the database's clock and before the turn's state changes. While
a turn runs its worker counts at every heartbeat, and never beyond the lease: time in which a
worker was dead, or the machine asleep, is nobody's. A queued turn, one that is held back until
the model's next try included, counts nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import Case, DurationField, Expression, F, Q, Value, When
from django.db.models.functions import Coalesce, Greatest, Least, Now
from django.db.models.sql import UpdateQuery

from agents.conversation_tree import ancestors, descendants
from agents.db import clock
from agents.llm.reply import Reply
from agents.llm.request import ModelRequest
from agents.models import Turn, TurnState
from agents.sentences import commas
from agents.statements import prepared, updating
from agents.stored_text import gettext, gettext_lazy

NOTHING = timedelta(0)
CHILD, PAUSE = Turn.WaitingFor.CHILD, Turn.WaitingFor.PAUSE


@dataclass(frozen=True)
class Times:
    """Seconds. `waited` is for a person's answer or approval; a reached budget is a pause."""

    worked: float = 0.0
    waited: float = 0.0
    paused: float = 0.0

    def __add__(self, other: Times) -> Times:
        return Times(
            self.worked + other.worked, self.waited + other.waited, self.paused + other.paused
        )

    def document(self) -> dict[str, Any]:
        return {name: round(seconds, 3) for name, seconds in vars(self).items()}

    @property
    def words(self) -> str:
        """0:42 working, 1:02:03 waiting for you, 0:10 paused; rests under a second are left out."""
        parts = [gettext("{time} working").format(time=duration(self.worked))]
        if self.waited >= 1:
            parts.append(gettext("{time} waiting for you").format(time=duration(self.waited)))
        if self.paused >= 1:
            parts.append(gettext("{time} paused").format(time=duration(self.paused)))
        return commas(parts)


def duration(seconds: float) -> str:
    """0:42, 1:02:03."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def times_of(turn: Turn) -> Times:
    """Up to now, for a turn that is still under way."""
    resting = resting_below(turn) if turn.waiting_for == CHILD and not turn.counted_at else None
    newest = uncounted(resting or turn).total_seconds()
    counted = (turn.worked, turn.waited, turn.paused)
    worked, waited, paused = (each.total_seconds() for each in counted)
    if is_at_work(turn) and resting is None:
        return Times(worked + newest, waited, paused)
    if (resting or turn).waiting_for == PAUSE:
        return Times(worked, waited, paused + newest)
    return Times(worked, waited + newest, paused)


def uncounted(turn: Turn) -> timedelta:
    """What went by since it was last counted."""
    if turn.counted_at is None or turn.state not in (TurnState.RUNNING, TurnState.WAITING):
        return NOTHING
    end = clock()
    if turn.state == TurnState.RUNNING and turn.lease_until:
        end = min(end, turn.lease_until)
    return max(NOTHING, end - turn.counted_at)


def is_at_work(turn: Turn) -> bool:
    """It runs, or another agent works for it."""
    return turn.state == TurnState.RUNNING or turn.waiting_for == CHILD


def counts_from(turn: Turn) -> datetime | None:
    """While it works: when it would have begun had it never rested."""
    if not is_at_work(turn) or turn.counted_at is None:
        return None
    return turn.counted_at - turn.worked


@transaction.atomic(savepoint=False)
def count_time(turn: Turn) -> None:
    """Before the turn's state changes: what went by is added to what it was doing."""
    above, rested = turns_above(turn), NOTHING
    if above:  # the rest of the agent that works for a turn is that turn's own
        now = Turn.objects.get(pk=turn.pk)
        is_resting = now.state == TurnState.WAITING and now.waiting_for != CHILD
        rested = uncounted(now) if is_resting else NOTHING
    counting.update(turn=turn.pk)
    for each in above:
        Turn.objects.filter(pk=each.pk, counted_at=None).update(
            waited=F("waited") + rested, counted_at=Now()
        )


@prepared
def counting(turn: int) -> UpdateQuery:
    """Adds what went by since it was last counted to what the turn was doing."""
    zero = Value(NOTHING, output_field=DurationField())
    went_by = Greatest(Now() - F("counted_at"), zero)

    def plus(name: str, states: Q) -> Expression:
        added = Case(When(states, then=went_by), default=zero, output_field=DurationField())
        return F(name) + added

    return updating(
        Turn.objects.filter(pk=turn, counted_at__isnull=False),
        worked=worked_by_now(),
        waited=plus("waited", Q(waiting_for__in=Turn.FOR_A_PERSON)),
        paused=plus("paused", Q(waiting_for=PAUSE)),
        counted_at=Now(),
    )


# A turn that another agent works for counts as working, but not while that agent waits.


def turns_above(turn: Turn) -> list[Turn]:
    """The turns that wait for what this one does for them."""
    return [above for above in ancestors(turn.conversation) if above.waiting_for == CHILD]


def resting_below(turn: Turn) -> Turn | None:
    """The turn of an agent that works for this one and that waits for a person."""
    waiting = descendants([turn], Turn.objects.filter(state=TurnState.WAITING))
    return next((below for below in waiting if below.waiting_for != CHILD), None)


def rest(turn: Turn) -> None:
    """The turn has begun to wait for a person: those above it count no work meanwhile."""
    for above in turns_above(turn):
        counting.update(turn=above.pk)
        Turn.objects.filter(pk=above.pk).update(counted_at=None)


def worked_by_now() -> Expression:
    """The same as `times_of(turn).worked`, as an expression of the database."""
    zero = Value(NOTHING, output_field=DurationField())
    until = Least(Now(), Coalesce("lease_until", Now()))
    at_work = Q(state=TurnState.RUNNING) | Q(waiting_for=CHILD)
    is_going = at_work & Q(counted_at__isnull=False)
    going = When(is_going, then=Greatest(until - F("counted_at"), zero))
    return F("worked") + Case(going, default=zero, output_field=DurationField())


# Budgets: limits on what work may use, checked before each model call.

NAMES = {
    "tokens": gettext_lazy("tokens"),
    "cost_usd": gettext_lazy("US dollars"),
    "seconds": gettext_lazy("seconds"),
    "model_calls": gettext_lazy("model calls"),
}
USED_UP = {
    "tokens": gettext_lazy("{spent} of {limit} tokens are used up"),
    "cost_usd": gettext_lazy("{spent} of {limit} US dollars are used up"),
    "seconds": gettext_lazy("{spent} of {limit} seconds are used up"),
    "model_calls": gettext_lazy("{spent} of {limit} model calls are used up"),
}
MILLION = Decimal(1_000_000)


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
    """What turns of one conversation, and all that other agents did for them, have used.

    A turn counts as working while another agent works for it, so the others' time is in its own.
    """
    own = list(turns)
    used = Used().add([*own, *descendants(own, Turn.objects.all())])
    used.seconds = sum(times_of(turn).worked for turn in own)
    return used


def reached(limits: Mapping[str, object], used: Used) -> str:
    """Which limit is used up, in words; nothing while all hold."""
    for name, sentence in USED_UP.items():
        limit = limits.get(name)
        if limit is not None and (spent := getattr(used, name)) >= float(str(limit)):
            return sentence.format(spent=number(spent), limit=number(float(str(limit))))
    return ""


def number(amount: float) -> str:
    return f"{amount:,.0f}" if amount == int(amount) or amount > 100 else f"{amount:,.2f}"


# What Anthropic takes for tokens that are read from its cache and written to it, as parts of the
# price of input (platform.claude.com/docs, prompt caching). Others charge nothing for writing, and
# for reading each model has a price of its own.
CACHE_RATES = {"anthropic_messages": (Decimal("0.1"), Decimal("1.25"))}


def cost_of(request: ModelRequest, reply: Reply) -> Decimal | None:
    """US dollars: by the prices that an admin has entered, else as the server says itself, else by
    the prices it lists; None where there are none.

    Prices are {"input": 0.4, "cached_input": 0.1, "stored_input": 0.5, "output": 1.6} per million
    tokens; without the two of the cache its tokens cost what others do.
    """
    own = request.endpoint.prices.get(request.model)
    if not own and reply.cost is not None and request.endpoint.provider == "openrouter":
        return Decimal(str(reply.cost))
    prices = {name: Decimal(str(each)) for name, each in (own or request.prices).items()}
    if not prices:
        return None
    full = prices.get("input", Decimal(0))
    read, write = CACHE_RATES.get(request.endpoint.api, (Decimal(1), Decimal(1)))
    paid = full * max(0, reply.tokens_in - reply.cached_tokens - reply.stored_tokens)
    paid += prices.get("cached_input", full * read) * reply.cached_tokens
    paid += prices.get("stored_input", full * write) * reply.stored_tokens
    paid += prices.get("output", Decimal(0)) * reply.tokens_out
    return paid / MILLION
