"""Tells this process's worker, at once, that the queue or a wish has changed."""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary

from django.db import transaction

_bells: WeakKeyDictionary[asyncio.Event, asyncio.AbstractEventLoop] = WeakKeyDictionary()


def new_bell() -> asyncio.Event:
    """An event of the running loop that every wake() sets."""
    bell = asyncio.Event()
    _bells[bell] = asyncio.get_running_loop()
    return bell


def wake() -> None:
    """Ring from any thread. A worker that misses it looks again within a second."""
    for bell, loop in list(_bells.items()):
        if not loop.is_closed():
            loop.call_soon_threadsafe(bell.set)


def wake_after_commit() -> None:
    transaction.on_commit(wake, robust=True)
