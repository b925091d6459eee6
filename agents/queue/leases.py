"""Whose a running turn is, for how long, and what happens to those whose worker is gone.

Besides, who runs the turns of a home at all: one process, and commands beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.db import connection, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from filelock import FileLock, Timeout

from agents import events
from agents.conversations import erase_old
from agents.db import AWAY, Outage, in_db, is_postgresql, session
from agents.engine.handlers import handlers
from agents.engine.lifecycle import request_stop
from agents.engine.usage import worked_by_now
from agents.errors import Conflict
from agents.models import Turn, TurnState
from agents.statements import RENEW_LEASES, one_of, prepared


@prepared
def wishes(turns: list[int]) -> QuerySet[Turn, tuple[int, str, bool]]:
    return Turn.objects.filter(one_of("id", turns)).values_list("pk", "state", "stop_requested")


class Held(NamedTuple):
    """A turn that is still its worker's, and whether somebody wants it stopped."""

    pk: int
    stop_requested: bool


def lease_length() -> timedelta:
    return timedelta(seconds=settings.PLANSIDE_LEASE_SECONDS)


def renew(turns: list[Turn]) -> list[Held]:
    """Lengthen the leases of what this worker runs; gives back what is still its own."""
    running = Turn.objects.filter(pk__in=[turn.pk for turn in turns], state=TurnState.RUNNING)
    epochs = {turn.pk: turn.epoch for turn in turns}
    now = running.values_list("pk", "epoch", "stop_requested")
    held = [Held(pk, stop) for pk, epoch, stop in now if epochs[pk] == epoch]
    ours = [turn.pk for turn in held]
    running.filter(pk__in=ours).update(
        worked=worked_by_now(), counted_at=Now(), lease_until=Now() + lease_length()
    )
    return held


def to_be_stopped(running: list[int]) -> set[int]:
    """Those that somebody wants stopped, and those whose rows are gone with their conversation
    or its owner: nobody wants their work.
    """
    rows = wishes.rows(turns=running)
    asked = {pk for pk, state, stop in rows if stop and state == TurnState.RUNNING}
    return asked | (set(running) - {pk for pk, _, _ in rows})


def release(turn: Turn) -> None:
    """Back into the queue, if it is still ours: the database was away while it ran."""
    ours = Turn.objects.filter(pk=turn.pk, epoch=turn.epoch)
    put_back(ours.filter(state=TurnState.RUNNING))


def put_back(turns: QuerySet[Turn]) -> None:
    """Turns whose worker is gone go back to the queue, to be continued at their checkpoint.

    What another process is writing to at this moment is left for the next sweep.
    """
    for pk in turns.values_list("pk", flat=True):
        with transaction.atomic():
            rows = turns.filter(pk=pk).select_related("conversation")
            if connection.features.has_select_for_update_skip_locked:
                rows = rows.select_for_update(
                    skip_locked=True, of=("self", "conversation"), no_key=True
                )
            for turn in rows:
                turn.state, turn.lease_until = TurnState.QUEUED, None
                turn.save(update_fields=["state", "lease_until"])
                events.record(turn.conversation_id, "turn.queued", f"turn:{turn.pk}")


def put_back_orphans(*, all_of_them: bool, but: frozenset[int] = frozenset()) -> None:
    """`all_of_them` when the home's lock proves that no other worker lives; `but` are our own.

    What a command runs itself, beside the home's lock, is left to it.
    """
    others = but | held_by_commands()
    running = Turn.objects.filter(state=TurnState.RUNNING).exclude(pk__in=others)
    put_back(running if all_of_them else running.filter(lease_until__lt=Now()))
    for handler in handlers().values():
        handler.repair()
    erase_old()


# Keeps the leases of running turns alive, whatever else the process is busy with.

Own = Callable[[], list[Turn]]
Report = Callable[[list[Turn], list[Held]], None]


async def send_heartbeats(own: Own, report: Report) -> None:
    """Every third of a lease, for ever: of the turns that were `own`, those still held."""
    if is_postgresql():
        await beat_on_a_session(own, report)
    while True:
        await asyncio.sleep(interval())
        with suppress(*AWAY):  # the worker logs that the database is away
            turns = own()
            report(turns, await in_db(renew, turns))


def interval() -> float:
    return lease_length().total_seconds() / 3


async def beat_on_a_session(own: Own, report: Report) -> None:
    """On PostgreSQL, off the database thread: however long that is busy, no lease runs out."""
    from psycopg import Error
    from psycopg.rows import class_row

    outage = Outage("PostgreSQL, which keeps the leases of turns,")
    while True:
        try:
            async with await session() as connection:
                outage.over()
                while True:
                    turns = own()
                    async with asyncio.timeout(interval()):
                        ids, epochs = [t.pk for t in turns], [t.epoch for t in turns]
                        rows = connection.cursor(row_factory=class_row(Held))
                        await rows.execute(RENEW_LEASES, [ids, epochs, lease_length()])
                        held = await rows.fetchall()
                    report(turns, held)
                    await asyncio.sleep(interval())
        except (Error, OSError) as error:  # a TimeoutError is an OSError
            outage.began(error)
        await asyncio.sleep(min(1.0, interval()))


# Who runs the turns of a home: one process of a SQLite home, and commands beside it.

COMMAND = ".command.lock"  # held beside the home's lock by a command, not by the server


def home_lock() -> FileLock:
    """Held by the one process that runs turns on a SQLite home; taken here or refused."""
    lock = FileLock(Path(settings.PLANSIDE_HOME) / ".turns.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise Conflict(
            f"Another Planside is running on {settings.PLANSIDE_HOME}. "
            "Stop it first, or set PLANSIDE_HOME to another folder."
        ) from None
    return lock


@contextmanager
def as_command() -> Iterator[None]:
    """While a command runs its own turns and nobody else's."""
    with FileLock(Path(settings.PLANSIDE_HOME) / COMMAND):
        yield


def a_command_runs() -> bool:
    """Whether the home is held by a command, which does no work but its own."""
    lock = FileLock(Path(settings.PLANSIDE_HOME) / COMMAND)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    lock.release()
    return False


# Turns that a command runs itself: proof that it lives, which every other process respects.
#
# A command holds a file of the home locked for as long as it runs a turn, a server beside it or
# not. The lock ends with the process, however that ends; the file then tells whose the turn was.

FOLDER = ".commands"


@contextmanager
def held_by_this_command(turn: int) -> Iterator[None]:
    """While this process runs a turn of its own; nobody else takes it up or ends it."""
    path = folder() / f"{turn}.lock"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with FileLock(path):
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def held_by_commands() -> frozenset[int]:
    """Turns whose command lives. What one that was killed has left is stopped on the way.

    Nobody asked for it to go on: its output had one reader, and that has gone.
    """
    held = set()
    for path in [each for each in folder().glob("*.lock") if each.stem.isdecimal()]:
        try:
            with FileLock(path, timeout=0):
                stop_left(int(path.stem))
                path.unlink(missing_ok=True)
        except Timeout:
            held.add(int(path.stem))
    return frozenset(held)


def stop_left(turn: int) -> None:
    rows = Turn.objects.filter(pk=turn)
    rows.filter(state=TurnState.RUNNING).update(state=TurnState.QUEUED, lease_until=None)
    for left in rows.filter(state=TurnState.QUEUED):
        request_stop(left, "")


def folder() -> Path:
    return Path(settings.PLANSIDE_HOME) / FOLDER
