"""MCP servers, by the official SDK: an optional extra that is imported when it is first needed."""

from __future__ import annotations

import asyncio
import importlib
import logging
import sys
from types import ModuleType

from agents.errors import Invalid
from agents.tools.base import Arguments, ToolFailed, ToolResult
from agents.tools.integrations.mcp.server import Server

__all__ = ["Server", "aclose_all", "call_tool", "forget", "list_tools"]

NOT_INSTALLED = "MCP servers need the package mcp: install requirements/services.txt."

# The SDK logs what servers send, with tracebacks; httpx2 logs URLs. Either may hold a secret.
logging.getLogger("mcp").setLevel(logging.CRITICAL)
logging.getLogger("httpx2").setLevel(logging.WARNING)


class SdkMissing(Exception):
    """The package mcp is not installed."""


async def list_tools(server: Server, longest: int) -> list[dict[str, object]]:
    """What the server offers, asked over a connection of its own. Raises Invalid."""
    try:
        listing = await _module("listing")
    except SdkMissing:
        raise Invalid(NOT_INSTALLED) from None
    tools: list[dict[str, object]] = await listing.list_tools(server, longest)
    return tools


async def call_tool(server: Server, name: str, arguments: Arguments) -> ToolResult:
    """The result, over the server's one connection. Raises ToolFailed."""
    try:
        pool = await _module("pool")
    except SdkMissing:
        raise ToolFailed(NOT_INSTALLED) from None
    result: ToolResult = await pool.pooled(server).call(name, arguments)
    return result


async def aclose_all() -> None:
    """End the connections of the running loop and the processes behind them."""
    if connection := sys.modules.get(f"{__name__}.connection"):
        await connection.aclose_all()


def forget(name: str) -> None:
    """End the connections to a server that is no longer registered."""
    if pool := sys.modules.get(f"{__name__}.pool"):
        pool.forget(name)


async def _module(name: str) -> ModuleType:
    """Importing the SDK takes a second, which the loop need not wait for. Raises SdkMissing."""
    try:
        return await asyncio.to_thread(importlib.import_module, f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("mcp", "httpx2"):
            raise SdkMissing from None
        raise
