"""What is asked of an MCP server: its tools, and calls of them, over one connection at most."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from contextlib import suppress
from weakref import WeakKeyDictionary

from mcp import Client, MCPError
from mcp_types import REQUEST_TIMEOUT, CallToolResult

from agents.errors import Invalid
from agents.stored_text import gettext
from agents.tools.base import Arguments, ToolFailed, ToolResult
from agents.tools.integrations.mcp import (
    READ_RESOURCE,
    RUN_AS_TASK,
    Offer,
    Offered,
    RemoteTool,
    Server,
    SignInNeeded,
)
from agents.tools.integrations.mcp.connection import CONNECT, Connection, Loop, open_connections
from agents.tools.integrations.mcp.failures import is_forgotten, is_lost, is_stand_in, reason
from agents.tools.integrations.mcp.listing import offered, resources
from agents.tools.integrations.mcp.oauth import SIGN_IN_SECONDS, NewSignIn, revoke
from agents.tools.integrations.mcp.results import resource_of, result_of
from agents.tools.integrations.mcp.tasks import call_as_task
from agents.tools.integrations.mcp.watch import Watch

LONGEST_PAUSE = 30.0
SIGN_OUT = 10.0  # seconds that a server has to take its tokens back


class PooledServer:
    """A connection opened when it is used, and again after a loss.

    After a second failure in a row there is a pause.
    """

    def __init__(self, server: Server) -> None:
        self.server = server
        self.changed: Offered | None = None
        self.connection: Connection | None = None
        self.failures = 0
        self.not_before = 0.0

    async def call(self, tool: RemoteTool, arguments: Arguments) -> ToolResult:
        """Raises ToolFailed."""
        watch = Watch(self.server.seconds)
        try:
            connection = self.open()
            try:
                result = await self.asked(connection, tool, arguments, watch)
            except Exception as error:
                if is_lost(error) or is_forgotten(error):
                    await connection.aclose(was_lost=True)
                if not is_forgotten(error):
                    raise
                result = await self.asked(self.open(), tool, arguments, watch)
        except ToolFailed:
            raise
        except Exception as error:  # whatever the SDK and its transports let through
            name = tool.name or "Reading the resource"
            raise ToolFailed(self.failure_sentence(name, error, watch)) from None
        return result

    async def asked(
        self, connection: Connection, tool: RemoteTool, arguments: Arguments, watch: Watch
    ) -> ToolResult:
        """Raises ToolFailed for a result that says so, and whatever the SDK raises."""
        uri = str(arguments.get("uri") or "")
        if tool.request == READ_RESOURCE and not uri:
            text = await connection.ask(resources, watch)
            self.failures = 0
            return ToolResult(text)
        if tool.request == READ_RESOURCE:
            resource = await connection.ask(lambda client: client.read_resource(uri), watch)
            self.failures = 0
            return resource_of(resource)
        call = call_as_task if tool.request == RUN_AS_TASK else call_tool
        result = await connection.ask(
            lambda client: call(client, tool.name, arguments, watch), watch
        )
        self.failures = 0
        return result_of(tool.name, result, tool.reader)

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
        connection = self.connection = Connection(self.server, self.changed)

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

    def failure_sentence(self, name: str, error: Exception, watch: Watch) -> str:
        server, connection = self.server.name, self.connection
        cause = ""
        if connection and connection.failure:
            cause = cause_of(connection, connection.failure)
            if not connection.ready.done() or connection.ready.exception():
                return f"The MCP server {server} could not be reached: {cause}."
        late = isinstance(error, MCPError) and error.code == REQUEST_TIMEOUT
        if late or isinstance(error, TimeoutError):
            words = f" The last it said was: {watch.words[:200]}." if watch.words else ""
            seconds = f"{self.server.seconds:g} seconds"
            return f"{name} of {server} did not answer within {seconds}.{words}"
        if is_lost(error) or isinstance(error, ConnectionError):
            ending = f": {cause}." if cause else "."
            return f"The MCP server {server} went away during {name}{ending}"
        known = cause_of(connection, error) if connection else reason(error)
        return f"{name} of {server} failed: {known}."


async def call_tool(
    client: Client, name: str, arguments: Arguments, watch: Watch
) -> CallToolResult:
    limit = watch.longest + watch.seconds  # its own watch ends it before
    progress = watch.progress
    return await client.call_tool(name, arguments, limit, progress_callback=progress)


def cause_of(connection: Connection, error: BaseException) -> str:
    """The end of a sentence, with what the status of the answer means where that is all."""
    return (is_stand_in(error) and connection.remote.refusal) or reason(error)


_pools: MutableMapping[Loop, dict[Server, PooledServer]] = WeakKeyDictionary()


def pooled(server: Server, changed: Offered | None = None) -> PooledServer:
    mine = _pools.setdefault(asyncio.get_running_loop(), {})
    pool = mine.setdefault(server, PooledServer(server))
    pool.changed = changed
    return pool


def forget(name: str) -> None:
    """Close what any loop has open to the servers of this name; from any thread."""
    for loop, mine in list(_pools.items()):
        for server in [each for each in mine if each.name == name]:
            if not loop.is_closed() and (pool := mine.pop(server, None)):
                loop.call_soon_threadsafe(pool.close)


async def aclose_all() -> None:
    """Close what the running loop has opened, all at once."""
    mine = open_connections.pop(asyncio.get_running_loop(), set())
    await asyncio.gather(*(connection.aclose() for connection in list(mine)))


async def sign_in(server: Server, redirect_uri: str, begun: asyncio.Future[str]) -> Offer:
    auth = NewSignIn(server, redirect_uri, begun)
    return await asked_once(Connection(server, auth=auth, connect=SIGN_IN_SECONDS + CONNECT))


async def sign_out(server: Server) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(SIGN_OUT):
            await revoke(server)


async def list_tools(server: Server) -> Offer:
    return await asked_once(Connection(server))


async def asked_once(connection: Connection) -> Offer:
    """What the server offers, over a connection that is closed then. Raises Invalid."""
    server = connection.server
    try:
        return await connection.ask(lambda client: offered(client, server.longest_name))
    except Exception as error:  # whatever the SDK and its transports let through
        await connection.aclose()
        cause = cause_of(connection, connection.failure or error)
        failure = SignInNeeded if connection.wants_sign_in else Invalid
        sentence = gettext("The MCP server {name} could not be asked: {cause}.")
        raise failure(sentence.format(name=server.name, cause=gettext(cause))) from None
    finally:
        await connection.aclose()
