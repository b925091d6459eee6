"""MCP servers, by the official SDK: an optional extra that is imported when it is first needed."""

from __future__ import annotations

import asyncio
import importlib
import logging
import sys
from types import ModuleType

from agents.errors import Invalid
from agents.tools.base import Arguments, ToolFailed
from agents.tools.mcp.server import Server

__all__ = ["Server", "aclose_all", "call_tool", "forget", "list_tools"]

NOT_INSTALLED = "MCP servers need the package mcp: install requirements/services.txt."

# The SDK logs what servers send, with tracebacks; httpx2 logs URLs. Either may hold a secret.
logging.getLogger("mcp").setLevel(logging.CRITICAL)
logging.getLogger("httpx2").setLevel(logging.WARNING)


async def list_tools(server: Server, longest: int) -> list[dict[str, object]]:
    """What the server offers, asked over a connection of its own. Raises Invalid."""
    try:
        asking = await _module("listing")
    except ImportError:
        raise Invalid(NOT_INSTALLED) from None
    listed: list[dict[str, object]] = await asking.list_tools(server, longest)
    return listed


async def call_tool(server: Server, name: str, arguments: Arguments) -> str:
    """The result as text, over the server's one connection. Raises ToolFailed."""
    try:
        lines = await _module("lines")
    except ImportError:
        raise ToolFailed(NOT_INSTALLED) from None
    text: str = await lines.line_to(server).call(name, arguments)
    return text


async def aclose_all() -> None:
    """End the connections of the running loop and the processes behind them."""
    if connection := sys.modules.get(f"{__name__}.connection"):
        await connection.aclose_all()


def forget(name: str) -> None:
    """End the connections to a server that is no longer registered."""
    if lines := sys.modules.get(f"{__name__}.lines"):
        lines.forget(name)


async def _module(name: str) -> ModuleType:
    """Importing the SDK takes a second, which the loop need not wait for."""
    return await asyncio.to_thread(importlib.import_module, f"{__name__}.{name}")
