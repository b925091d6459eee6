"""One connection to a server. What one task has entered, the same task has to leave.

So a connection is owned by a task that connects, waits until it is over, and disconnects. Calls
are made from tasks of their own, and end at once when the owner ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, MutableMapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

from mcp import Client

from agents.tools.base import Arguments
from agents.tools.integrations.mcp.errors import ServerFailed
from agents.tools.integrations.mcp.http import streamable_http
from agents.tools.integrations.mcp.server import Server
from agents.tools.integrations.mcp.stdio import stdio

if TYPE_CHECKING:
    from mcp_types import CallToolResult

# Seconds: `npx` fetches a server from the network when it is first used.
CONNECT = 60.0
IDLE = 600.0
# A call's own limit ends it, and tells the server; this is for a wire that is stuck.
SPARE = 2.0
CLOSING = 1.3

T = TypeVar("T")


@asynccontextmanager
async def connected(server: Server, over: Callable[[], None]) -> AsyncIterator[Client]:
    """A client that has shaken hands. `over` is called when the server is gone."""
    transport = stdio(server, over) if server.command else streamable_http(server)
    async with AsyncExitStack() as stack:
        async with asyncio.timeout(CONNECT):
            client = Client(transport, read_timeout_seconds=server.seconds, cache=None)
            await stack.enter_async_context(client)
        yield client


class Connection:
    """One that is being opened, is open, or is over; it is never opened again."""

    def __init__(self, server: Server, idle: float = IDLE) -> None:
        loop = asyncio.get_running_loop()
        self.server, self.idle = server, idle
        self.over = asyncio.Event()
        self.was_lost = True  # until we end it ourselves
        self.ready: asyncio.Future[Client] = loop.create_future()
        self.calls = 0
        self.used_at = loop.time()
        self.failure: Exception | None = None
        self.task = loop.create_task(self.own(), name=f"mcp {server.name}")
        mine = _open.setdefault(loop, set())
        mine.add(self)
        self.task.add_done_callback(lambda _: mine.discard(self))

    async def own(self) -> None:
        """Enter, stay, leave; never raises."""
        try:
            async with connected(self.server, self.over.set) as client:
                self.ready.set_result(client)
                await self.stay()
        except asyncio.CancelledError:
            self.failure = ServerFailed("it is being closed")
        except Exception as error:
            self.failure = error
        if not self.ready.done():
            self.ready.set_exception(self.failure or ServerFailed("it is being closed"))
            self.ready.exception()  # nobody may be waiting

    async def stay(self) -> None:
        """Until the server is gone, we are asked to close, or nobody has called for a while."""
        loop = asyncio.get_running_loop()
        while not self.over.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(self.idle / 10):
                    await self.over.wait()
            if not self.calls and loop.time() - self.used_at > self.idle:
                self.was_lost = False
                return

    @property
    def is_open(self) -> bool:
        return not self.task.done() and not self.over.is_set()

    @property
    def was_ready(self) -> bool:
        return self.ready.done() and not self.ready.exception()

    async def call(self, name: str, arguments: Arguments) -> CallToolResult:
        """Raises whatever the SDK raises, ConnectionError when the server is gone."""
        seconds = self.server.seconds
        return await self.ask(
            lambda client: client.call_tool(name, arguments, read_timeout_seconds=seconds)
        )

    async def ask(self, asking: Callable[[Client], Coroutine[object, object, T]]) -> T:
        """What the coroutine gives, unless the connection ends before. Cancelling tells the server.

        Raises what it raises, ConnectionError or TimeoutError.
        """
        self.calls += 1
        try:
            client = await asyncio.shield(self.ready)
            return await self.until_either_ends(asyncio.ensure_future(asking(client)))
        finally:
            self.calls -= 1
            self.used_at = asyncio.get_running_loop().time()

    async def until_either_ends(self, asking: asyncio.Future[T]) -> T:
        both: set[asyncio.Future[T] | asyncio.Task[None]] = {asking, self.task}
        try:
            limit = self.server.seconds + SPARE
            await asyncio.wait(both, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if asking.done():
                return asking.result()
            raise ConnectionError if self.task.done() else TimeoutError
        finally:
            if not asking.done():
                asking.cancel()
                await asyncio.wait({asking}, timeout=SPARE)

    async def aclose(self, *, was_lost: bool = False) -> None:
        """Ask the owner to leave, and see to it that it does."""
        self.was_lost = was_lost
        self.over.set()
        if not self.ready.done():
            self.task.cancel()
        _, staying = await asyncio.wait({self.task}, timeout=CLOSING)
        if staying:
            self.task.cancel()
            await asyncio.wait({self.task}, timeout=CLOSING)


_open: MutableMapping[asyncio.AbstractEventLoop, set[Connection]] = WeakKeyDictionary()


async def aclose_all() -> None:
    """Close what the running loop has opened, all at once."""
    mine = _open.pop(asyncio.get_running_loop(), set())
    await asyncio.gather(*(connection.aclose() for connection in list(mine)))
