"""Tells the workers, at once, that the queue or a wish has changed.

Those of this process are rung; on PostgreSQL a notice that leaves with the transaction reaches
those of other processes (agents.queue.worker). Who misses both looks again within a second.
"""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary

from django.db import connection, transaction

from agents.db import is_postgresql

CHANNEL = "planside_turns"

_bells: WeakKeyDictionary[asyncio.Event, asyncio.AbstractEventLoop] = WeakKeyDictionary()


def new_wakeup_event() -> asyncio.Event:
    """An event of the running loop that every wake() sets."""
    bell = asyncio.Event()
    _bells[bell] = asyncio.get_running_loop()
    return bell


def wake() -> None:
    """Ring from any thread."""
    for bell, loop in list(_bells.items()):
        if not loop.is_closed():
            loop.call_soon_threadsafe(bell.set)


def wake_after_commit() -> None:
    if is_postgresql():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, '')", [CHANNEL])
    transaction.on_commit(wake, robust=True)
