"""The rows of Turn are the queue; a worker claims what is due and runs it."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from agents.db import AWAY, Outage, in_db, is_postgresql, session
from agents.engine.loop import run_turn
from agents.events import new_wakeup_event, wake
from agents.models import Turn
from agents.queue.claims import SLOTS, claim
from agents.queue.housekeeping import keep_recordings
from agents.queue.leases import (
    Held,
    interval,
    put_back_orphans,
    release,
    send_heartbeats,
    to_be_stopped,
)
from agents.statements import LISTEN, OWN_NOTICE

log = logging.getLogger(__name__)

CHECK_INTERVAL = 1.0  # seconds between two checks of the queue when nothing wakes it


def stops_and_claims(
    running: list[int], free: int, within: int | None
) -> tuple[set[int], list[Turn]]:
    """What is to be stopped of what is running, and what was claimed for `free` slots."""
    stops = to_be_stopped(running) if running else set()
    return stops, (claim(free, running, within) if free > 0 else [])


class Worker:
    """Runs due turns in the running loop until stop() is called.

    `within` a conversation and those below it, for a command that does no work but its own.
    """

    def __init__(
        self, *, alone: bool = True, slots: int = SLOTS, within: int | None = None
    ) -> None:
        self.alone = alone
        self.within = within
        self.slots = slots
        self.running: dict[int, tuple[Turn, asyncio.Task[None]]] = {}
        self.cancelled: set[int] = set()
        self.stopping = False
        self.swept_at: float | None = None
        self.outage = Outage("the database")

    async def run(self) -> None:
        wakeup = new_wakeup_event()
        beside = [asyncio.create_task(send_heartbeats(self.own, self.give_up_lost))]
        if is_postgresql():
            beside.append(asyncio.create_task(listen()))
        if self.within is None:
            beside.append(asyncio.create_task(keep_recordings()))
        while not self.stopping:
            wakeup.clear()
            try:
                await self.sweep()
                await self.check_queue()
                self.outage.over()
            except AWAY as error:
                self.outage.began(error)
            except Exception:  # whatever is wrong, the next round may find it mended
                log.exception("the queue could not be read; trying again")
            with suppress(TimeoutError):
                await asyncio.wait_for(wakeup.wait(), CHECK_INTERVAL)
            for task in beside:
                if task.done():
                    task.result()  # it broke, and the worker with it
        for task in beside:
            task.cancel()
        await asyncio.wait(beside)

    async def check_queue(self) -> None:
        """Stop what is to be stopped, start what is due."""
        self.forget_finished()
        free = 0 if self.stopping else self.slots - len(self.running)
        stops, claimed = await in_db(stops_and_claims, list(self.running), free, self.within)
        for pk in stops:
            self.cancel(pk)
        for turn in claimed:
            await self.start(turn)

    async def start(self, turn: Turn) -> None:
        if self.stopping:  # stop() was called while it was being claimed
            await in_db(release, turn)
        else:
            self.running[turn.pk] = (turn, asyncio.ensure_future(self.carry_out(turn)))

    async def carry_out(self, turn: Turn) -> None:
        try:
            await run_turn(turn)
        except AWAY as error:
            self.outage.began(error)
            released = False
            while not released:  # what it could not write it does again, from its checkpoint
                await asyncio.sleep(CHECK_INTERVAL)
                with suppress(*AWAY):
                    await in_db(release, turn)
                    released = True
        except Exception:
            log.exception("turn %s could not be settled; its lease will run out", turn.pk)
        if len(self.running) * 2 >= self.slots:  # somebody's share may have been full until now
            wake()

    def cancel(self, pk: int) -> None:
        """Once: a second cancel would hit the turn while it writes how it ended."""
        if pk not in self.cancelled and pk in self.running:
            self.cancelled.add(pk)
            self.running[pk][1].cancel()

    def forget_finished(self) -> None:
        self.running = {pk: pair for pk, pair in self.running.items() if not pair[1].done()}
        self.cancelled &= set(self.running)

    def own(self) -> list[Turn]:
        return [turn for turn, task in self.running.values() if not task.done()]

    def give_up_lost(self, asked: list[Turn], held: list[Held]) -> None:
        """Cancel what has another owner by now, or is over, and what somebody wants stopped."""
        still_ours = {turn.pk for turn in held if not turn.stop_requested}
        for turn in asked:
            if turn.pk not in still_ours and self.runs(turn):
                self.cancel(turn.pk)

    def runs(self, turn: Turn) -> bool:
        return any(own.pk == turn.pk and own.epoch == turn.epoch for own in self.own())

    async def sweep(self) -> None:
        """At the start and now and then: put back what is orphaned."""
        now = asyncio.get_running_loop().time()
        if self.swept_at is not None and now - self.swept_at < interval():
            return
        is_first = self.swept_at is None
        self.forget_finished()
        await in_db(
            put_back_orphans, all_of_them=self.alone and is_first, but=frozenset(self.running)
        )
        self.swept_at = now

    async def stop(self) -> None:
        """Cancel what runs; each turn puts itself back to the queue at its checkpoint."""
        self.stopping = True
        wake()
        tasks = [task for _, task in self.running.values()]
        for pk in list(self.running):
            self.cancel(pk)
        if tasks:
            await asyncio.wait(tasks, timeout=1.5)


# What other processes do to the queue, heard through PostgreSQL's LISTEN.

AGAIN = 1.0  # seconds between two tries to reach the server


async def listen() -> None:
    """For ever, over restarts of the server; on a session of its own, so no pooler between."""
    from psycopg import Error

    outage = Outage("PostgreSQL, which tells of changes to the queue,")
    while True:
        try:
            async with await session() as connection:
                await connection.execute(LISTEN)
                outage.over()
                wake()  # changes before the LISTEN went unheard
                async for notice in connection.notifies():
                    if notice.payload != OWN_NOTICE:  # this process was woken at the commit
                        wake()
        except (Error, OSError) as error:
            outage.began(error)
        await asyncio.sleep(AGAIN)
