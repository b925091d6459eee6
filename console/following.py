"""Waiting for turns from the command line: beside a running server, or by running them here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from django.db import connection

from agents import events, wire
from agents.database import in_db
from agents.errors import NotNow
from agents.queue.home import home_lock
from agents.queue.worker import Worker
from agents.tools import mcp

LOOK_AGAIN = 0.1  # seconds

Check = Callable[[], bool]


def follow(is_over: Check) -> None:
    """Until `is_over`. On a home that no server holds, the turns run in this process.

    With external workers or PostgreSQL any number of processes may run turns.
    """
    if connection.vendor == "postgresql":
        asyncio.run(work_until(is_over, Worker(alone=False)))
        return
    try:
        lock = home_lock()
    except NotNow:
        asyncio.run(wait_until(is_over))
        return
    with lock:
        asyncio.run(work_until(is_over, Worker()))


async def work_until(is_over: Check, worker: Worker) -> None:
    working = asyncio.create_task(worker.run())
    try:
        await wait_until(is_over)
    finally:
        await worker.stop()
        await working
        await let_go()


async def let_go() -> None:
    """What a process opened to the outside is closed before its loop ends."""
    await events.all_told()
    await mcp.aclose_all()
    await wire.aclose_all()


async def wait_until(is_over: Check) -> None:
    while not await in_db(is_over):  # noqa: ASYNC110 - it may come true in another process
        await asyncio.sleep(LOOK_AGAIN)
