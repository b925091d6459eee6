"""Waiting for turns from the command line: beside a running server, or by running them here.

A command that runs turns itself takes only those of its own conversation. Ended by Ctrl-C, SIGTERM
or because nobody reads what it prints, it leaves the work to the server that has it, or stops it.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from django.db import connection

from agents import events, http
from agents.conversation_tree import tree
from agents.db import in_db
from agents.errors import Conflict
from agents.models import Turn, TurnState
from agents.queue.claims import runners
from agents.queue.leases import a_command_runs, as_command, home_lock
from agents.queue.worker import Worker
from agents.tools.integrations import mcp

INTERVAL = 0.1  # seconds
TAKE_OVER = 1.0  # seconds between two checks whether whoever ran the turns is gone
SETTLING = 3.0  # seconds that what is stopped has to come to its end
SIGNALS = (signal.SIGINT, signal.SIGTERM)
SIGPIPE = 13

Check = Callable[[], bool]


class Interrupted(Exception):
    """A signal ended the command. `goes_on`: a server has the work, else it was stopped."""

    def __init__(self, number: int, goes_on: bool = False) -> None:
        super().__init__(f"ended by signal {number}")
        self.code = 128 + number
        self.goes_on = goes_on


def follow(is_over: Check, conversation: int, give_up: Callable[[], object]) -> None:
    """Until `is_over`. On a home that no server holds, the turns run in this process.

    With external workers or PostgreSQL any number of processes may run turns. `give_up` stops
    the work where nobody would go on with it.
    """
    if connection.vendor == "postgresql":
        asyncio.run(run_until(is_over, Worker(alone=False, within=conversation), give_up))
        return
    while not is_over():
        try:
            lock = home_lock()
        except Conflict:
            asyncio.run(wait_beside(is_over, conversation, give_up))
            continue
        with lock, as_command():
            asyncio.run(run_until(is_over, Worker(within=conversation), give_up))


async def run_until(is_over: Check, worker: Worker, give_up: Callable[[], object]) -> None:
    working = asyncio.create_task(worker.run())
    try:
        await wait_until(is_over)
    except (Interrupted, BrokenPipeError) as end:
        goes_on = await in_db(lambda: (runners() or 0) > 1)  # this process listens too
        if not goes_on:
            await in_db(give_up)
            await wait_for_rest(worker.within or 0)
        raise interrupted(end, goes_on) from None
    finally:
        await worker.stop()
        await working
        await release()


async def wait_beside(is_over: Check, conversation: int, give_up: Callable[[], object]) -> None:
    """Until another process has done it, or is gone and this one may take its place."""
    try:
        await wait_until(lambda: is_over() or nobody_runs(), TAKE_OVER / 10)
    except (Interrupted, BrokenPipeError) as end:
        goes_on = not a_command_runs()
        if not goes_on:
            await in_db(give_up)
        raise interrupted(end, goes_on) from None
    finally:
        await events.wait_until_sent()


def interrupted(end: Exception, goes_on: bool) -> Interrupted:
    number = end.code - 128 if isinstance(end, Interrupted) else SIGPIPE
    return Interrupted(number, goes_on)


def nobody_runs() -> bool:
    """Whether the turns of this home (SQLite) have no process that runs them."""
    try:
        home_lock().release()
    except Conflict:
        return False
    return True


def has_no_worker() -> bool:
    """Whether a live run has no process that runs it: the command that did was killed."""
    return not runners() if connection.vendor == "postgresql" else nobody_runs()


async def wait_for_rest(conversation: int) -> None:
    """What was stopped is written down before the process goes."""

    def rests() -> bool:
        turns = Turn.objects.filter(conversation__in=tree(conversation))
        return not turns.filter(state=TurnState.RUNNING).exists()

    with suppress(TimeoutError):
        async with asyncio.timeout(SETTLING):
            while not await in_db(rests):  # noqa: ASYNC110 - the worker writes it
                await asyncio.sleep(INTERVAL)


async def release() -> None:
    """What a process opened to the outside is closed before its loop ends."""
    await events.wait_until_sent()
    await mcp.aclose_all()
    await http.aclose_all()


async def wait_until(is_over: Check, pause: float = INTERVAL) -> None:
    """It may come true in another process. Raises Interrupted when a signal comes first."""
    with signals_to_end() as signalled:
        while not await in_db(is_over):
            await asyncio.wait([signalled], timeout=pause)
            if signalled.done():
                raise Interrupted(signalled.result())


@contextmanager
def signals_to_end() -> Iterator[asyncio.Future[int]]:
    """Done with the number of the first signal; a second one ends the process as ever."""
    loop = asyncio.get_running_loop()
    signalled: asyncio.Future[int] = loop.create_future()

    def receive(number: int) -> None:
        remove()
        if not signalled.done():
            signalled.set_result(number)

    def remove() -> None:
        for each in SIGNALS:
            loop.remove_signal_handler(each)

    with suppress(ValueError, RuntimeError):  # not in the main thread
        for each in SIGNALS:
            loop.add_signal_handler(each, receive, each)
    try:
        yield signalled
    finally:
        remove()
