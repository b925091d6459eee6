"""What is asked of an MCP server: its tools, and calls of them, over one connection at most."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, MutableMapping
from contextlib import AsyncExitStack, suppress
from typing import TypeVar
from weakref import WeakKeyDictionary

import httpx2
from mcp import Client, MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    REQUEST_TIMEOUT,
    CallToolResult,
    Tool,
)
from pydantic import ValidationError

from agents.errors import Invalid
from agents.tools.base import Arguments, ToolFailed, ToolResult, safe_name
from agents.tools.integrations.mcp import Server
from agents.tools.integrations.mcp.results import result_of
from agents.tools.integrations.mcp.transports import (
    NOT_MCP,
    TOO_LONG,
    TOO_MANY,
    ServerFailed,
    one_line,
    stdio,
    streamable_http,
)
from agents.tools.integrations.openapi.schemas import (
    LONGEST_DESCRIPTION,
    Document,
    Inliner,
    Json,
    mapping,
)

# Seconds: `npx` fetches a server from the network when it is first used.
CONNECT = 60.0
IDLE = 600.0
# A call's own limit ends it, and tells the server; this is for a connection that is stuck.
SPARE = 2.0
CLOSING = 1.3
LONGEST_PAUSE = 30.0
MOST_PAGES = 100
MOST_TOOLS = 5000

T = TypeVar("T")
Loop = asyncio.AbstractEventLoop


class Connection:
    """One that is being opened, is open, or is over; it is never opened again.

    What one task has entered, the same task has to leave. So a connection is owned by a task that
    connects, waits until it is over, and disconnects. Calls are made from tasks of their own, and
    end at once when the owner ends.
    """

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
        """Connect, wait, disconnect; never raises."""
        server = self.server
        transport = stdio(server, self.over.set) if server.command else streamable_http(server)
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(CONNECT):
                    client = Client(transport, read_timeout_seconds=server.seconds, cache=None)
                    await stack.enter_async_context(client)
                self.ready.set_result(client)
                await self.wait_until_over()
        except asyncio.CancelledError:
            self.failure = ServerFailed("it is being closed")
        except Exception as error:
            self.failure = error
        if not self.ready.done():
            self.ready.set_exception(self.failure or ServerFailed("it is being closed"))
            self.ready.exception()  # nobody may be waiting

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

    @property
    def is_open(self) -> bool:
        return not self.task.done() and not self.over.is_set()

    async def call(self, name: str, arguments: Arguments) -> CallToolResult:
        """Raises whatever the SDK raises, ConnectionError when the server is gone."""
        seconds = self.server.seconds
        return await self.ask(
            lambda client: client.call_tool(name, arguments, read_timeout_seconds=seconds)
        )

    async def ask(self, request: Callable[[Client], Coroutine[object, object, T]]) -> T:
        """What the coroutine gives, unless the connection ends before. Cancelling tells the server.

        Raises what it raises, ConnectionError or TimeoutError.
        """
        self.calls += 1
        try:
            client = await asyncio.shield(self.ready)
            answer = asyncio.ensure_future(request(client))
            either: set[asyncio.Future[T] | asyncio.Task[None]] = {answer, self.task}
            try:
                limit = self.server.seconds + SPARE
                await asyncio.wait(either, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
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


class PooledServer:
    """A connection opened when it is used, and again after a loss.

    After a second failure in a row there is a pause.
    """

    def __init__(self, server: Server) -> None:
        self.server = server
        self.connection: Connection | None = None
        self.failures = 0
        self.not_before = 0.0

    async def call(self, name: str, arguments: Arguments) -> ToolResult:
        """Raises ToolFailed."""
        try:
            connection = self.open()
            try:
                result = await connection.call(name, arguments)
            except Exception as error:
                if is_lost(error) or is_forgotten(error):
                    await connection.aclose(was_lost=True)
                if not is_forgotten(error):
                    raise
                result = await self.open().call(name, arguments)
        except ToolFailed:
            raise
        except Exception as error:  # whatever the SDK and its transports let through
            raise ToolFailed(self.failure_sentence(name, error)) from None
        self.failures = 0
        return result_of(name, result)

    def open(self) -> Connection:
        """The connection, a new one where the last is over. Raises ToolFailed in a pause."""
        if self.connection and self.connection.is_open:
            return self.connection
        wait = self.not_before - asyncio.get_running_loop().time()
        if wait > 0:
            raise ToolFailed(
                f"The MCP server {self.server.name} failed {self.failures} times in a row; "
                f"it is tried again in {wait:.0f} seconds."
            )
        connection = self.connection = Connection(self.server)

        def count_loss(_: object) -> None:
            """One that was lost counts until a call succeeds; one that we closed does not."""
            if connection.was_lost:
                self.failures += 1
                pause = 2.0 ** (self.failures - 2) if self.failures > 1 else 0.0
                self.not_before = asyncio.get_running_loop().time() + min(pause, LONGEST_PAUSE)

        connection.task.add_done_callback(count_loss)
        return connection

    def close(self) -> None:
        if self.connection:
            self.closing = asyncio.ensure_future(self.connection.aclose())

    def failure_sentence(self, name: str, error: Exception) -> str:
        server, connection = self.server.name, self.connection
        cause = ""
        if connection and connection.failure:
            cause = reason(connection.failure)
            if not connection.ready.done() or connection.ready.exception():
                return f"The MCP server {server} could not be reached: {cause}."
        late = isinstance(error, MCPError) and error.code == REQUEST_TIMEOUT
        if late or isinstance(error, TimeoutError):
            return f"{name} of {server} did not answer within {self.server.seconds:g} seconds."
        if is_lost(error) or isinstance(error, ConnectionError):
            ending = f": {cause}." if cause else "."
            return f"The MCP server {server} went away during {name}{ending}"
        return f"{name} of {server} failed: {reason(error)}."


# A connection belongs to the loop it was opened on.
_open: MutableMapping[Loop, set[Connection]] = WeakKeyDictionary()
_pools: MutableMapping[Loop, dict[Server, PooledServer]] = WeakKeyDictionary()


def pooled(server: Server) -> PooledServer:
    mine = _pools.setdefault(asyncio.get_running_loop(), {})
    return mine.setdefault(server, PooledServer(server))


def forget(name: str) -> None:
    """Close what any loop has open to the servers of this name; from any thread."""
    for loop, mine in list(_pools.items()):
        for server in [each for each in mine if each.name == name]:
            if not loop.is_closed() and (pool := mine.pop(server, None)):
                loop.call_soon_threadsafe(pool.close)


async def aclose_all() -> None:
    """Close what the running loop has opened, all at once."""
    mine = _open.pop(asyncio.get_running_loop(), set())
    await asyncio.gather(*(connection.aclose() for connection in list(mine)))


# What can go wrong with a server, in words.

# How the SDK begins what it says about an answer that cannot be read, before the reason.
UNREADABLE = (
    "Failed to parse JSON response: ",
    "Failed to parse SSE message: ",
    "SSE stream failed: ",
)


def reason(error: BaseException) -> str:
    """The end of a sentence. It names no address: that may hold a secret."""
    while isinstance(error, BaseExceptionGroup):  # task groups wrap what happened first
        error = error.exceptions[0]
    if isinstance(error, ServerFailed):
        return str(error)
    if isinstance(error, TimeoutError | httpx2.TimeoutException):
        return "it did not answer in time"
    if isinstance(error, httpx2.ConnectError):
        return "the connection failed"
    if isinstance(error, ValidationError):
        return NOT_MCP
    if not isinstance(error, MCPError):
        return "the connection broke"
    if error.message.startswith(UNREADABLE):
        faults = (fault for fault in (TOO_LONG, TOO_MANY) if error.message.endswith(fault))
        return next(faults, NOT_MCP)
    return one_line(error.message) or "it answered with an error"


def is_lost(error: BaseException) -> bool:
    """Whether the connection ended; an event stream that cannot be read ends its own call alone."""
    closed = isinstance(error, MCPError) and error.code == CONNECTION_CLOSED
    return closed and not str(error).startswith(UNREADABLE)


def is_forgotten(error: BaseException) -> bool:
    """A restarted HTTP server does not know our session: the call was not carried out."""
    return isinstance(error, MCPError) and error.message == "Session terminated"


# What a server offers, as it is stored.


async def list_tools(server: Server, longest: int) -> list[Json]:
    """Connect, ask, disconnect. Raises Invalid."""

    async def all_pages(client: Client) -> list[Tool]:
        """A list that never ends is cut."""
        tools: list[Tool] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = await client.list_tools(cursor=cursor)
            tools += page.tools
            cursor = page.next_cursor
            if not cursor or len(tools) >= MOST_TOOLS:
                break
        return tools[:MOST_TOOLS]

    connection = Connection(server)
    try:
        tools = await connection.ask(all_pages)
    except Exception as error:  # whatever the SDK and its transports let through
        await connection.aclose()
        cause = reason(connection.failure or error)
        raise Invalid(f"The MCP server {server.name} could not be asked: {cause}.") from None
    finally:
        await connection.aclose()
    # Thousands of large schemas take seconds, which the loop need not wait for.
    return await asyncio.to_thread(stored_tools, tools, longest)


def stored_tools(tools: list[Tool], longest: int) -> list[Json]:
    """With schemas without references; one whose references lead nowhere stays as it is."""
    names: set[str] = set()
    stored: list[Json] = []
    for tool in tools:
        schema: Json = dict(tool.input_schema)
        with suppress(Invalid):
            schema = Inliner(Document(schema)).schema(schema, "the schema")
        properties = mapping(schema.get("properties") or {}, "properties")
        hints = tool.annotations
        reads = bool(hints and hints.read_only_hint)
        stored.append(
            {
                "name": safe_name(tool.name, names, longest),
                "remote": tool.name,
                "description": (tool.description or tool.title or tool.name)[:LONGEST_DESCRIPTION],
                "parameters": {**schema, "type": "object", "properties": properties},
                "read_only": reads,
                "idempotent": reads or bool(hints and hints.idempotent_hint),
            }
        )
    return stored
