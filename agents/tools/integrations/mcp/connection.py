"""One connection to an MCP server, from opening it to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, MutableMapping
from contextlib import AsyncExitStack, suppress
from typing import TypeVar
from weakref import WeakKeyDictionary

import httpx2
from django.utils.translation import gettext_noop
from mcp import Client, MCPError
from mcp.client._transport import Transport
from mcp.client.subscriptions import SubscriptionLost
from mcp_types import ToolListChangedNotification
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from agents.tools.integrations.mcp import Offered, Server
from agents.tools.integrations.mcp.failures import ServerFailed, SignInWanted, first_cause
from agents.tools.integrations.mcp.listing import offered
from agents.tools.integrations.mcp.oauth import StoredSignIn
from agents.tools.integrations.mcp.remote import OLD_STATUSES, Remote
from agents.tools.integrations.mcp.stdio import stdio
from agents.tools.integrations.mcp.watch import Watch

# Seconds: `npx` fetches a server from the network when it is first used.
CONNECT = 60.0
IDLE = 600.0
# A call's own limit ends it, and tells the server; this is for a connection that is stuck.
SPARE = 2.0
CLOSING = 1.3
CALM = 0.2  # a server that changes its tools one by one says so for each
LONGEST_CALM = 30.0  # for one that says so again and again
RELISTEN = 5.0
CLOSED = gettext_noop("it is being closed")

T = TypeVar("T")
Loop = asyncio.AbstractEventLoop

# A connection belongs to the loop it was opened on.
open_connections: MutableMapping[Loop, set[Connection]] = WeakKeyDictionary()


class Connection:
    """One that is being opened, is open, or is over; it is never opened again.

    What one task has entered, the same task has to leave. So a connection is owned by a task that
    connects, waits until it is over, and disconnects. Calls are made from tasks of their own, and
    end at once when the owner ends.
    """

    def __init__(
        self,
        server: Server,
        changed: Offered | None = None,
        *,
        auth: httpx2.Auth | None = None,
        idle: float = IDLE,
        connect: float = CONNECT,
    ) -> None:
        loop = asyncio.get_running_loop()
        self.server, self.changed, self.idle, self.patience = server, changed, idle, connect
        self.remote = Remote(server, auth or (StoredSignIn(server) if server.signed_in else None))
        self.over = asyncio.Event()
        self.list_is_old = asyncio.Event()
        self.was_lost = True  # until we end it ourselves
        self.ready: asyncio.Future[Client] = loop.create_future()
        self.calls = 0
        self.used_at = loop.time()
        self.failure: Exception | None = None
        self.task = loop.create_task(self.own(), name=f"mcp {server.name}")
        mine = open_connections.setdefault(loop, set())
        mine.add(self)
        self.task.add_done_callback(lambda _: mine.discard(self))

    async def own(self) -> None:
        """Connect, wait, disconnect; never raises."""
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(self.patience):
                    client = await self.connect(stack)
                self.ready.set_result(client)
                watching = asyncio.ensure_future(self.watch_list(client))
                try:
                    await self.wait_until_over()
                finally:
                    watching.cancel()
                    await asyncio.wait({watching})
        except asyncio.CancelledError:
            self.failure = ServerFailed(CLOSED)
        except Exception as error:
            self.failure = error
        if not self.ready.done():
            self.ready.set_exception(self.failure or ServerFailed(CLOSED))
            self.ready.exception()  # nobody may be waiting

    async def connect(self, stack: AsyncExitStack) -> Client:
        """The newest version of the protocol that both know, over the newest transport."""
        if self.server.command:
            return await stack.enter_async_context(self.client(stdio(self.server, self.over.set)))
        try:
            client = self.client(self.remote.streamable_http())
            return await stack.enter_async_context(client)
        except Exception as error:
            if self.remote.status not in OLD_STATUSES:
                raise
            try:
                old = self.client(self.remote.http_and_sse(), mode="legacy")
                return await stack.enter_async_context(old)
            except Exception:
                raise error from None

    def client(self, transport: Transport, mode: str = "auto") -> Client:
        async def heard(message: object) -> None:
            if isinstance(message, ToolListChangedNotification):
                self.list_is_old.set()

        return Client(
            transport,
            mode=mode,
            read_timeout_seconds=self.server.seconds,
            cache=None,
            message_handler=heard,
        )

    async def wait_until_over(self) -> None:
        """Until the server is gone, we are asked to close, or nobody has called for a while."""
        loop = asyncio.get_running_loop()
        while not self.over.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(self.idle / 10):
                    await self.over.wait()
            if not self.calls and loop.time() - self.used_at > self.idle:
                self.was_lost = False
                return

    async def watch_list(self, client: Client) -> None:
        """Ask again what is offered each time the server says that it has changed."""
        if self.changed is None:
            return
        capability = client.server_capabilities.tools
        says_so = bool(capability and capability.list_changed)
        listening = None
        if says_so and client.protocol_version in MODERN_PROTOCOL_VERSIONS:
            listening = asyncio.ensure_future(self.listen(client))
        loop, calm, asked_at = asyncio.get_running_loop(), CALM, -LONGEST_CALM
        try:
            while True:
                await self.list_is_old.wait()
                is_again = loop.time() - asked_at < LONGEST_CALM
                calm = min(2 * calm, LONGEST_CALM) if is_again else CALM
                await asyncio.sleep(calm)
                self.list_is_old.clear()
                asked_at = loop.time()
                with suppress(MCPError, TimeoutError):  # what was known stays
                    await self.changed(await offered(client, self.server.longest_name))
        finally:
            if listening:
                listening.cancel()
                await asyncio.wait({listening})

    async def listen(self, client: Client) -> None:
        """Since 2026-07-28 a server tells only who listens. A lost stream is opened anew."""
        while True:
            with suppress(SubscriptionLost, MCPError, TimeoutError):
                async with client.listen(tools_list_changed=True) as events:
                    async for _ in events:
                        self.list_is_old.set()
            await asyncio.sleep(RELISTEN)
            self.list_is_old.set()  # nobody told what changed meanwhile

    @property
    def is_open(self) -> bool:
        return not self.task.done() and not self.over.is_set()

    async def ask(
        self, request: Callable[[Client], Coroutine[object, object, T]], watch: Watch | None = None
    ) -> T:
        """What the coroutine gives, unless the connection ends before. Cancelling tells the server.

        Raises what it raises, ConnectionError or TimeoutError.
        """
        self.calls += 1
        try:
            client = await asyncio.shield(self.ready)
            watch = watch or Watch(self.server.seconds + SPARE)
            watch.begin()
            answer = asyncio.ensure_future(request(client))
            either: set[asyncio.Future[T] | asyncio.Task[None]] = {answer, self.task}
            try:
                while not (answer.done() or self.task.done()) and watch.left > 0:
                    await asyncio.wait(
                        either, timeout=watch.left, return_when=asyncio.FIRST_COMPLETED
                    )
                if answer.done():
                    return answer.result()
                raise ConnectionError if self.task.done() else TimeoutError
            finally:
                if not answer.done():
                    answer.cancel()
                    await asyncio.wait({answer}, timeout=SPARE)
        finally:
            self.calls -= 1
            self.used_at = asyncio.get_running_loop().time()

    @property
    def wants_sign_in(self) -> bool:
        ended = self.failure is not None and isinstance(first_cause(self.failure), SignInWanted)
        return ended or self.remote.wants_sign_in

    async def aclose(self, *, was_lost: bool = False) -> None:
        """Ask the owner to disconnect, and see to it that it does."""
        self.was_lost = was_lost
        self.over.set()
        if not self.ready.done():
            self.task.cancel()
        _, staying = await asyncio.wait({self.task}, timeout=CLOSING)
        if staying:
            self.task.cancel()
            await asyncio.wait({self.task}, timeout=CLOSING)
