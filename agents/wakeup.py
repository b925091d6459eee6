"""Tells the workers, at once, that the queue or a wish has changed.

Those of this process are woken; on PostgreSQL a notice that leaves with the transaction reaches
those of other processes (agents.queue.worker). A worker that misses both looks again within a
second.
"""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary

from django.db import connection, transaction

from agents.db import is_postgresql

CHANNEL = "planside_turns"

_events: WeakKeyDictionary[asyncio.Event, asyncio.AbstractEventLoop] = WeakKeyDictionary()


def new_wakeup_event() -> asyncio.Event:
    """An event of the running loop that every wake() sets."""
    event = asyncio.Event()
    _events[event] = asyncio.get_running_loop()
    return event


def wake() -> None:
    """Wake this process's workers, from any thread."""
    for event, loop in list(_events.items()):
        if not loop.is_closed():
            loop.call_soon_threadsafe(event.set)


def wake_after_commit() -> None:
    if is_postgresql():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, '')", [CHANNEL])
    transaction.on_commit(wake, robust=True)
