"""Keeps the leases of running turns alive, whatever else the process is busy with."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from agents.database import AWAY, in_db, is_shared, session
from agents.models import Turn
from agents.outages import Outage
from agents.queue.leases import Held, lease_length, renew

# Renews what is free at once and waits for nobody: a row that is being written to is as good as
# renewed, and waiting for it while holding others could end in a deadlock.
BEAT = """
WITH mine AS (
    SELECT turn.id, turn.epoch, turn.stop_requested
    FROM agents_turn turn JOIN unnest(%s::bigint[], %s::int[]) AS own(id, epoch)
        ON turn.id = own.id AND turn.epoch = own.epoch
    WHERE turn.state = 'running'
), free AS (
    SELECT id FROM agents_turn WHERE id IN (SELECT id FROM mine) FOR NO KEY UPDATE SKIP LOCKED
), renewed AS (
    UPDATE agents_turn turn SET lease_until = now() + %s FROM mine, free
    WHERE turn.id = mine.id AND turn.id = free.id
        AND turn.epoch = mine.epoch AND turn.state = 'running'
)
SELECT id AS pk, stop_requested FROM mine
"""

Own = Callable[[], list[Turn]]
Report = Callable[[list[Turn], list[Held]], None]


async def beat(own: Own, report: Report) -> None:
    """Every third of a lease, for ever: of the turns that were `own`, those still held."""
    if is_shared():
        await beat_on_a_session(own, report)
    while True:
        await asyncio.sleep(interval())
        with suppress(*AWAY):  # the worker's own look at the database says so
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
                        await rows.execute(BEAT, [ids, epochs, lease_length()])
                        held = await rows.fetchall()
                    report(turns, held)
                    await asyncio.sleep(interval())
        except (Error, OSError) as error:  # a TimeoutError is an OSError
            outage.began(error)
        await asyncio.sleep(min(1.0, interval()))
