"""Threads for slow work, a pool for each kind, shared out between people (docs/rules.md, R35).

Work in one pool never waits for another: what follows on it is begun by whoever awaited it.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from functools import partial
from typing import ParamSpec, TypeVar
from weakref import WeakValueDictionary

P = ParamSpec("P")
R = TypeVar("R")

person: ContextVar[int | None] = ContextVar("person", default=None)  # for whom a turn works


class Pool:
    """Threads for one kind of work, of which each person has `each` at most.

    What `computes` gives way to all that waits for a core: a turn beside searches in two workers
    takes 1.9 times as long as alone, else 3.2 (tests/benchmarks/fairness.py, 2 cores).
    """

    def __init__(self, name: str, threads: int, each: int, *, computes: bool = False) -> None:
        is_polite = computes and sys.platform == "linux"  # elsewhere it is the whole process
        self.threads = ThreadPoolExecutor(
            threads, name, partial(os.nice, 10) if is_polite else None
        )
        self.each = each
        self.places: WeakValueDictionary[object, asyncio.Semaphore] = WeakValueDictionary()

    async def run(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """What the work gives back. Where nobody waits for it any more it does not begin; what has
        begun keeps its place to its end, as a thread cannot be ended.
        """
        loop, given_up = asyncio.get_running_loop(), threading.Event()
        place = self.places.setdefault((loop, person.get()), asyncio.Semaphore(self.each))

        def begin() -> R:
            if given_up.is_set():
                raise asyncio.CancelledError
            return work(*args, **kwargs)

        def leave(done: asyncio.Future[R]) -> None:
            place.release()
            if given_up.is_set() and not done.cancelled():
                done.exception()  # nobody asks for it any more, and asyncio would say so

        await place.acquire()
        future = loop.run_in_executor(self.threads, copy_context().run, begin)
        future.add_done_callback(leave)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            given_up.set()
            raise


# What computes: one person has half of the cores. Eight who ask for all they may have fill a pool.
HALF = max(1, (os.cpu_count() or 1) // 2)
FILES = Pool("files", 8 * HALF, HALF, computes=True)  # tools, checks, texts of what was fetched
RECORDINGS = Pool("recordings", 8 * HALF, HALF, computes=True)  # of folders; they wait for locks
DOWNLOADS = Pool("downloads", 8 * HALF, HALF, computes=True)
PROCESSES = Pool("processes", 32, 4)  # beginning and ending commands, which no search may delay
LOOKUPS = Pool("lookups", 32, 4)  # of names; of hosts that an admin has set in the loop's own pool
