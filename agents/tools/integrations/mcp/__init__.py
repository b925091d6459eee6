"""MCP servers, by the official SDK: an optional extra that is imported when it is first needed."""

from __future__ import annotations

import asyncio
import importlib
import logging
import sys
from dataclasses import dataclass, field
from types import ModuleType

from agents.errors import Invalid
from agents.tools.base import Arguments, ToolFailed, ToolResult

NOT_INSTALLED = "MCP servers need the package mcp: install requirements/services.txt."
CLIENT = f"{__name__}.client"

# The SDK logs what servers send, with tracebacks; httpx2 logs URLs. Either may hold a secret.
logging.getLogger("mcp").setLevel(logging.CRITICAL)
logging.getLogger("httpx2").setLevel(logging.WARNING)


@dataclass(frozen=True)
class Server:
    """A command to start (stdio) or a URL (streamable HTTP).

    `headers` are sent with every request to a URL; for a command they are its environment
    variables. What may be secret stays out of the repr. `seconds` is how long a call may take.
    """

    name: str
    command: str = field(default="", repr=False)
    url: str = field(default="", repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    seconds: float = 60.0


async def list_tools(server: Server, longest: int) -> list[dict[str, object]]:
    """What the server offers, asked over a connection of its own. Raises Invalid."""
    client = await _imported_client(Invalid)
    tools: list[dict[str, object]] = await client.list_tools(server, longest)
    return tools


async def call_tool(server: Server, name: str, arguments: Arguments) -> ToolResult:
    """The result, over the server's one connection. Raises ToolFailed."""
    client = await _imported_client(ToolFailed)
    result: ToolResult = await client.pooled(server).call(name, arguments)
    return result


async def aclose_all() -> None:
    """End the connections of the running loop and the processes behind them."""
    if client := sys.modules.get(CLIENT):
        await client.aclose_all()


def forget(name: str) -> None:
    """End the connections to a server that is no longer registered."""
    if client := sys.modules.get(CLIENT):
        client.forget(name)


async def _imported_client(failure: type[Exception]) -> ModuleType:
    """Importing the SDK takes a second, which the loop need not wait for."""
    try:
        return await asyncio.to_thread(importlib.import_module, CLIENT)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("mcp", "httpx2"):
            raise failure(NOT_INSTALLED) from None
        raise
