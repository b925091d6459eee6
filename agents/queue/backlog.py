"""The queue in numbers, read from the rows: what waits, for how long, and who works on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from django.db import connection
from django.db.models import Count, DateTimeField, F, Min, OuterRef, Subquery, Value
from django.db.models.functions import Cast, Coalesce, Concat, Greatest, Now

from agents.db import clock, is_postgresql
from agents.models import Event, Turn, TurnState
from agents.queue.claims import due
from agents.wakeup import CHANNEL

MOST = 1_000  # due turns that are looked at for the oldest


@dataclass(frozen=True)
class Backlog:
    """`open` counts turns by (state, what they wait for); `abandoned` run with a lease run out."""

    open: dict[tuple[str, str], int] = field(default_factory=dict)
    due: int = 0
    oldest_due: float = 0.0
    abandoned: int = 0

    @property
    def running(self) -> int:
        return self.open.get((TurnState.RUNNING, ""), 0)


def backlog() -> Backlog:
    """Every query stays within the open turns, which have an index of their own."""
    rows = Turn.objects.filter(state__in=Turn.OPEN_STATES).values_list("state", "waiting_for")
    running = Turn.objects.filter(state=TurnState.RUNNING)
    oldest = oldest_due()
    return Backlog(
        open={(state, what): count for state, what, count in rows.annotate(Count("pk"))},
        due=due().count(),
        oldest_due=max(0.0, (clock() - oldest).total_seconds()) if oldest else 0.0,
        abandoned=running.filter(lease_until__lt=Now()).count(),
    )


def oldest_due() -> datetime | None:
    """Since when the one has waited that has waited longest.

    A turn may have been queued, run and come back, so its last event counts, or the end of the
    time it was held back for.
    """
    subject = Concat(Value("turn:"), Cast(OuterRef("pk"), Turn._meta.get_field("chain")))
    back = Event.objects.filter(subject=subject, type="turn.queued").order_by("-pk")
    came_back = Subquery(back.values("created_at")[:1], output_field=DateTimeField())
    queued = F("queued_at")
    since = Greatest(queued, Coalesce("not_before", queued), Coalesce(came_back, queued))
    waiting = Turn.objects.filter(pk__in=due().values("pk")[:MOST])
    oldest: datetime | None = waiting.aggregate(since=Min(since))["since"]
    return oldest


def runners() -> int | None:
    """Processes that run turns: each listens to the queue. Unknown on SQLite."""
    if not is_postgresql():
        return None
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND query = %s",
            [f"LISTEN {CHANNEL}"],
        )
        return int(cursor.fetchone()[0])
