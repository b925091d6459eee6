"""A loop that need not wait: where nothing is ready, its clock goes on to the next timer.

So a limit of an hour is reached at once, and in the order in which it would be; and a second of this
clock is one that somebody has slept, however busy the machine is. What a thread does for the loop is
waited for; what another process or a server of the network does is not, so nothing of that kind may
be under way.
"""

from __future__ import annotations

import asyncio
import selectors
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

TURN = 1e-6  # seconds that each turn of the loop takes, so that who never waits stops no clock


class Skipping:
    """Takes the place of a loop's selector, clock and executor."""

    def __init__(self, loop: Any) -> None:
        self.selector: selectors.BaseSelector = loop._selector
        self.skipped = 0.0  # seconds
        self.in_threads = 0
        self.began, self.run = loop.time(), loop.run_in_executor
        loop._selector, loop.time, loop.run_in_executor = self, self.now, self.in_thread

    def now(self) -> float:
        return self.began + self.skipped

    def select(self, timeout: float | None = None) -> object:
        self.skipped += TURN
        ready = self.selector.select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None or self.in_threads:
            return self.selector.select(timeout)
        self.skipped += timeout
        return ready

    def in_thread(self, executor: Any, function: Any, *args: object) -> asyncio.Future[Any]:
        self.in_threads += 1
        future = self.run(executor, function, *args)
        future.add_done_callback(self.is_back)
        return future

    def is_back(self, _: object) -> None:
        self.in_threads -= 1

    def __getattr__(self, name: str) -> object:
        return getattr(self.selector, name)


def later(seconds: float) -> None:
    """So many seconds pass on the clock of this loop, where a limit is and other processes are at work."""
    loop: Any = asyncio.get_running_loop()
    now = loop.time
    loop.time = lambda: now() + seconds


async def nothing_comes(socket: Any, seconds: float = 1) -> bool:
    """Nothing is sent on this socket in so many seconds of the loop's clock."""
    await asyncio.sleep(seconds)
    if socket.future.done():
        socket.future.result()
    return bool(socket.output_queue.empty())


@contextmanager
def gives_up_after(seconds: int) -> Iterator[None]:
    """What takes longer does not end in any time worth waiting for."""

    def give_up(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
