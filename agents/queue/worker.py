"""The rows of Turn are the queue; a worker claims what is due and runs it."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone
from filelock import FileLock, Timeout

from agents import events
from agents.database import in_db
from agents.errors import NotNow
from agents.models import Turn, TurnState
from agents.queue.wakeup import new_bell, wake
from agents.turns.kinds import all_kinds
from agents.turns.run import run_turn

__all__ = ["Worker", "home_lock", "wake"]

log = logging.getLogger(__name__)

LEASE = timedelta(seconds=30)
LOOK_AGAIN = 1.0  # seconds between two looks at the queue when no bell rings
SLOTS = 50  # turns at once


def home_lock() -> FileLock:
    """Held by the one process that runs turns on a SQLite home; taken here or refused."""
    lock = FileLock(Path(settings.PLANSIDE_HOME) / ".turns.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise NotNow(
            f"Another Planside is running on {settings.PLANSIDE_HOME}. "
            "Stop it first, or set PLANSIDE_HOME to another folder."
        ) from None
    return lock


def due() -> QuerySet[Turn]:
    """Turns that may start: queued, not held back, and the oldest of a lane that is free."""
    same_lane = Turn.objects.filter(conversation=OuterRef("conversation"), lane=OuterRef("lane"))
    live = same_lane.filter(state__in=[TurnState.RUNNING, TurnState.WAITING])
    older = same_lane.filter(state=TurnState.QUEUED, pk__lt=OuterRef("pk"))
    now = timezone.now()
    queued = Turn.objects.filter(Q(not_before=None) | Q(not_before__lte=now), state="queued")
    return queued.exclude(Exists(live)).exclude(Exists(older)).order_by("pk")


def claim(limit: int) -> list[Turn]:
    """Take up to `limit` due turns: each is ours from the commit on, under a new epoch."""
    if not due().exists():  # reading needs no lock
        return []
    with transaction.atomic():
        rows = due()
        if connection.features.has_select_for_update_skip_locked:
            rows = rows.select_for_update(skip_locked=True, of=("self",))
        taken = [pk for pk in rows.values_list("pk", flat=True)[:limit] if take(pk)]
        turns = list(Turn.objects.filter(pk__in=taken).select_related("conversation"))
        for turn in turns:
            events.record(turn.conversation_id, "turn.started", f"turn:{turn.pk}")
    return turns


def take(pk: int) -> bool:
    now = timezone.now()
    return bool(
        Turn.objects.filter(pk=pk, state=TurnState.QUEUED).update(
            state=TurnState.RUNNING,
            epoch=F("epoch") + 1,
            lease_until=now + LEASE,
            not_before=None,
            started_at=Coalesce("started_at", now),
        )
    )


def renew(turns: list[Turn]) -> set[int]:
    """Lengthen the leases of what this worker runs; gives back what is still its own."""
    ours: set[int] = set()
    for turn in turns:
        held = Turn.objects.filter(pk=turn.pk, epoch=turn.epoch, state=TurnState.RUNNING)
        if held.update(lease_until=timezone.now() + LEASE):
            ours.add(turn.pk)
    return ours


def stopped_among(pks: list[int]) -> set[int]:
    wishes = Turn.objects.filter(pk__in=pks, stop_requested=True)
    return set(wishes.values_list("pk", flat=True))


def put_back(turns: QuerySet[Turn]) -> None:
    """Turns whose worker is dead go back to the queue, to be continued at their checkpoint."""
    for turn in turns:
        with transaction.atomic():
            rows = Turn.objects.filter(pk=turn.pk, epoch=turn.epoch, state=TurnState.RUNNING)
            if rows.update(state=TurnState.QUEUED, lease_until=None):
                events.record(turn.conversation_id, "turn.queued", f"turn:{turn.pk}")


def put_back_orphans(*, all_of_them: bool) -> None:
    """`all_of_them` when the home's lock proves that no other worker lives."""
    running = Turn.objects.filter(state=TurnState.RUNNING)
    put_back(running if all_of_them else running.filter(lease_until__lt=timezone.now()))
    for kind in all_kinds():
        kind.repair()


class Worker:
    """Runs due turns in the running loop until it is told to stop."""

    def __init__(self, *, alone: bool = True, slots: int = SLOTS) -> None:
        self.alone = alone
        self.slots = slots
        self.running: dict[int, tuple[Turn, asyncio.Task[None]]] = {}
        self.cancelled: set[int] = set()
        self.stopping = False
        self.renewed_at = 0.0

    async def run(self) -> None:
        bell = new_bell()
        await in_db(put_back_orphans, all_of_them=self.alone)
        while not self.stopping:
            bell.clear()
            try:
                await self.look()
                await self.sweep()
            except Exception:
                log.exception("the queue could not be read; trying again")
            with suppress(TimeoutError):
                await asyncio.wait_for(bell.wait(), LOOK_AGAIN)

    async def look(self) -> None:
        """One look at the queue: stop what is to be stopped, start what is due."""
        self.forget_finished()
        if self.running:
            for pk in await in_db(stopped_among, list(self.running)):
                self.cancel(pk)
        if (free := self.slots - len(self.running)) > 0:
            for turn in await in_db(claim, free):
                self.running[turn.pk] = (turn, asyncio.ensure_future(self.carry_out(turn)))

    async def carry_out(self, turn: Turn) -> None:
        try:
            await run_turn(turn)
        except Exception:
            log.exception("turn %s could not be settled; its lease will run out", turn.pk)
        wake()

    def cancel(self, pk: int) -> None:
        """Once: a second cancel would hit the turn while it writes how it ended."""
        if pk not in self.cancelled:
            self.cancelled.add(pk)
            self.running[pk][1].cancel()

    def forget_finished(self) -> None:
        self.running = {pk: pair for pk, pair in self.running.items() if not pair[1].done()}
        self.cancelled &= set(self.running)

    async def sweep(self) -> None:
        """Now and then: renew leases, give up what is lost, take over what is orphaned."""
        now = asyncio.get_running_loop().time()
        if now - self.renewed_at < LEASE.total_seconds() / 3:
            return
        self.renewed_at = now
        self.forget_finished()
        ours = await in_db(renew, [turn for turn, _ in self.running.values()])
        for pk in set(self.running) - ours:
            self.cancel(pk)
        await in_db(put_back_orphans, all_of_them=False)

    async def stop(self) -> None:
        """Cancel what runs; each turn puts itself back to the queue at its checkpoint."""
        self.stopping = True
        wake()
        tasks = [task for _, task in self.running.values()]
        for pk in self.running:
            self.cancel(pk)
        if tasks:
            await asyncio.wait(tasks, timeout=1.5)
