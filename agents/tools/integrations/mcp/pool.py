"""The line to each server: one connection at most, opened when used, and again after a loss."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from agents.tools.base import Arguments, ToolFailed, ToolResult
from agents.tools.integrations.mcp.connection import Connection
from agents.tools.integrations.mcp.errors import is_forgotten, is_late, is_lost, why
from agents.tools.integrations.mcp.listing import told_by
from agents.tools.integrations.mcp.server import Server

if TYPE_CHECKING:
    from mcp_types import CallToolResult

LONGEST_PAUSE = 30.0

# A connection belongs to the loop it was opened on.
_lines: MutableMapping[asyncio.AbstractEventLoop, dict[Server, PooledServer]] = WeakKeyDictionary()


class PooledServer:
    """Calls go over the open connection. After a second failure in a row there is a pause."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.connection: Connection | None = None
        self.failures = 0
        self.not_before = 0.0

    async def call(self, name: str, arguments: Arguments) -> ToolResult:
        """Raises ToolFailed."""
        try:
            result = await self.carried_out(name, arguments)
        except ToolFailed:
            raise
        except Exception as error:  # whatever the SDK and its transports let through
            raise ToolFailed(self.sentence(name, error)) from None
        self.failures = 0
        return told_by(name, result)

    async def carried_out(self, name: str, arguments: Arguments) -> CallToolResult:
        connection = self.open()
        try:
            return await connection.call(name, arguments)
        except Exception as error:
            if is_lost(error) or is_forgotten(error):
                await connection.aclose(was_lost=True)
            if not is_forgotten(error):
                raise
        return await self.open().call(name, arguments)

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
        connection.task.add_done_callback(lambda _: self.note_end(connection))
        return connection

    def note_end(self, connection: Connection) -> None:
        """One that was lost counts until a call succeeds; one that we closed does not."""
        if not connection.was_lost:
            return
        self.failures += 1
        pause = 2.0 ** (self.failures - 2) if self.failures > 1 else 0.0
        self.not_before = asyncio.get_running_loop().time() + min(pause, LONGEST_PAUSE)

    def leave(self) -> None:
        if self.connection:
            self.closing = asyncio.ensure_future(self.connection.aclose())

    def sentence(self, name: str, error: Exception) -> str:
        server, connection = self.server.name, self.connection
        told = why(connection.failure) if connection and connection.failure else ""
        if told and connection and not connection.was_ready:
            return f"The MCP server {server} could not be reached: {told}."
        if is_late(error):
            return f"{name} of {server} did not answer within {self.server.seconds:g} seconds."
        if is_lost(error) or isinstance(error, ConnectionError):
            return f"The MCP server {server} went away during {name}" + (
                f": {told}." if told else "."
            )
        return f"{name} of {server} failed: {why(error)}."


def pooled(server: Server) -> PooledServer:
    mine = _lines.setdefault(asyncio.get_running_loop(), {})
    return mine.setdefault(server, PooledServer(server))


def forget(name: str) -> None:
    """Close what any loop has open to the servers of this name; from any thread."""
    for loop, mine in list(_lines.items()):
        for server in [each for each in mine if each.name == name]:
            if not loop.is_closed() and (line := mine.pop(server, None)):
                loop.call_soon_threadsafe(line.leave)
