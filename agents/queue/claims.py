"""Which turns may start, and taking them: from the commit on each is one worker's.

Besides, the queue in numbers.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache

from django.db import IntegrityError, connection, transaction
from django.db.models import (
    Case,
    Count,
    DateTimeField,
    Exists,
    F,
    Max,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Cast, Coalesce, Concat, Greatest, Now
from django.db.models.sql import UpdateQuery

from agents import events
from agents.conversation_tree import tree
from agents.conversations import conversation_by_key
from agents.db import clock, is_postgresql
from agents.engine.lifecycle import LONGEST_WAIT
from agents.models import Event, Lane, Turn, TurnState
from agents.queue.leases import lease_length
from agents.statements import LISTEN, LISTENERS, Prepared, fetch_one, one_of, prepared, updating

SLOTS = 100  # turns at once in one worker, of which one person's replies take half at most


def due() -> QuerySet[Turn]:
    """Turns that may start: queued, not held back, and the oldest of a lane that is free.

    None is held back for longer than LONGEST_WAIT: what seems to be is due, the clock was set back.
    """
    same_lane = Turn.objects.filter(conversation=OuterRef("conversation"), lane=OuterRef("lane"))
    live = same_lane.filter(state__in=[TurnState.RUNNING, TurnState.WAITING])
    older = same_lane.filter(state=TurnState.QUEUED, pk__lt=OuterRef("pk"))
    late = Q(not_before__lte=Now()) | Q(not_before__gt=Now() + timedelta(seconds=LONGEST_WAIT))
    queued = Turn.objects.filter(Q(not_before=None) | late, state=TurnState.QUEUED)
    return queued.exclude(Exists(live)).exclude(Exists(older)).order_by("pk")


# Whose slots a turn takes: a person has a share for replies, another for all other work.
SHARE = F("conversation__owner") * 2 + Case(
    When(lane=Lane.CHAT, conversation__parent_call=None, then=1), default=0
)


@prepared
def shares_of(turns: list[int]) -> QuerySet[Turn, tuple[int]]:
    return Turn.objects.filter(one_of("id", turns)).values_list(SHARE)


@prepared
def oldest_due(full: list[int]) -> QuerySet[Turn, tuple[int, int]]:
    """With their shares, but for those shares that may take no slot."""
    turns = due().annotate(share=SHARE).exclude(one_of("share", full))
    return turns.values_list("pk", "share")[:SLOTS]


def oldest_due_within(conversation: int, full: list[int]) -> list[tuple[int, int]]:
    own = due().annotate(share=SHARE).filter(conversation__in=tree(conversation))
    return list(own.exclude(share__in=full).values_list("pk", "share")[:SLOTS])


def claim(free: int, running: list[int] | None = None, within: int | None = None) -> list[Turn]:
    """Take due turns into the free slots, each under a new epoch; the worker runs others already.

    `within` a conversation and those of the agents that work for it; else all.
    """
    pks = chosen(free, running or [], within)  # reading needs no lock
    if not pks:
        return []
    with suppress(IntegrityError):
        return claim_among(pks)
    claimed = []  # the lane of one of them was taken by another worker just now
    for pk in pks:
        with suppress(IntegrityError):
            claimed += claim_among([pk])
    return claimed


def chosen(free: int, running: list[int], within: int | None) -> list[int]:
    """The oldest, but no share takes more slots than are free besides, so that one is for others.

    That bound is Choudhury and Hahne's dynamic threshold: alone a share takes half of the slots, n
    that want more take one of n + 1 parts each.
    """
    taken = Counter(share for (share,) in shares_of.rows(turns=running)) if running else Counter()
    pks: list[int] = []
    while len(pks) < free:
        full = [share for share, count in taken.items() if count >= free - len(pks)]
        rows = oldest_due_within(within, full) if within else oldest_due.rows(full=full or [NOBODY])
        before = len(pks)
        for pk, share in rows:
            if pk not in pks and taken[share] < free - len(pks):
                pks.append(pk)
                taken[share] += 1
        if len(pks) == before or len(rows) < SLOTS:
            break
    return pks


NOBODY = 0  # the share of no person


@transaction.atomic
def claim_among(pks: list[int]) -> list[Turn]:
    """Those that are still due and that nobody else is writing to."""
    claimed = []
    for pk in pks:
        if connection.features.has_select_for_update_skip_locked and not locked.rows(turn=pk):
            continue
        for turn in claiming(lease_length()).changed(turn=pk):
            (turn.conversation,) = conversation_by_key.models(conversation=turn.conversation_id)
            events.record(turn.conversation_id, "turn.started", f"turn:{turn.pk}")
            claimed.append(turn)
    return claimed


@prepared
def locked(turn: int) -> QuerySet[Turn]:
    """With its conversation, without waiting for who holds them; no row if it is not due."""
    rows = due().filter(pk=turn).select_related("conversation").only("id", "conversation__id")
    return rows.select_for_update(skip_locked=True, of=("self", "conversation"), no_key=True)


@cache
def claiming(lease: timedelta) -> Prepared[..., Turn, Turn]:
    """Takes a turn; no row is changed if it is not due any more."""

    def take(turn: int) -> UpdateQuery:
        return updating(
            due().filter(pk=turn),
            state=TurnState.RUNNING,
            epoch=F("epoch") + 1,
            lease_until=Now() + lease,
            not_before=None,
            started_at=Coalesce("started_at", Now()),
            counted_at=Now(),
        )

    return prepared(take)


# The queue in numbers, read from the rows: what waits, for how long, and who works on it.

MOST = 1_000  # due turns that are looked at for the oldest


@dataclass(frozen=True)
class Backlog:
    """`open` counts turns by (state, what they wait for); `abandoned` run with a lease run out;
    `busiest` are the running ones of the person who has most.
    """

    open: dict[tuple[str, str], int] = field(default_factory=dict)
    due: int = 0
    oldest_due: float = 0.0
    abandoned: int = 0
    busiest: int = 0

    @property
    def running(self) -> int:
        return self.open.get((TurnState.RUNNING, ""), 0)


def backlog() -> Backlog:
    """Every query stays within the open turns, which have an index of their own.

    A turn may have been queued, run and come back, so its last event counts, or the end of the
    time it was held back for.
    """
    rows = Turn.objects.filter(state__in=Turn.OPEN_STATES).values_list("state", "waiting_for")
    running = Turn.objects.filter(state=TurnState.RUNNING)
    subject = Concat(Value("turn:"), Cast(OuterRef("pk"), Turn._meta.get_field("chain")))
    back = Event.objects.filter(subject=subject, type="turn.queued").order_by("-pk")
    came_back = Subquery(back.values("created_at")[:1], output_field=DateTimeField())
    queued = F("queued_at")
    since = Greatest(queued, Coalesce("not_before", queued), Coalesce(came_back, queued))
    waiting = Turn.objects.filter(pk__in=due().values("pk")[:MOST])
    oldest: datetime | None = waiting.aggregate(since=Min(since))["since"]
    by_person = running.values("conversation__owner").annotate(count=Count("pk"))
    return Backlog(
        open={(state, what): count for state, what, count in rows.annotate(Count("pk"))},
        due=due().count(),
        oldest_due=max(0.0, (clock() - oldest).total_seconds()) if oldest else 0.0,
        abandoned=running.filter(lease_until__lt=Now()).count(),
        busiest=by_person.aggregate(most=Max("count", default=0))["most"],
    )


def runners() -> int | None:
    """Processes that run turns: each listens to the queue. Unknown on SQLite."""
    if not is_postgresql():
        return None
    row = fetch_one(LISTENERS, [LISTEN])
    return int(row[0]) if row else 0
