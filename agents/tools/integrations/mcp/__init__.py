"""MCP servers, by the official SDK: an optional extra that is imported when it is first needed."""

from __future__ import annotations

import asyncio
import importlib
import logging
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from hashlib import sha256
from types import ModuleType

from django.utils.translation import gettext_noop

from agents.errors import Invalid
from agents.pools import FILES
from agents.stored_text import gettext
from agents.tools.base import Arguments, ToolFailed, ToolResult

NOT_INSTALLED = gettext_noop("MCP servers need the package mcp: install requirements/services.txt.")
CLIENT = f"{__name__}.client"
LONGEST = 10  # times the seconds that a call may be silent
# How a stored operation is asked for, where it is not an ordinary call.
RUN_AS_TASK = "task"
READ_RESOURCE = "resource"

# The SDK logs what servers send, with tracebacks; httpx2 logs URLs. Either may hold a secret.
logging.getLogger("mcp").setLevel(logging.CRITICAL)
logging.getLogger("httpx2").setLevel(logging.WARNING)


@dataclass(frozen=True)
class Server:
    """A command to start (stdio) or a URL (streamable HTTP, or HTTP+SSE as it was before).

    `headers` are sent with every request to a URL; for a command they are its environment
    variables. What may be secret stays out of the repr. `seconds` is how long a call may be
    silent, `longest_name` how long the name of a tool may be. To a server that is `signed_in` we
    show the token that is stored for it.
    """

    name: str
    command: str = field(default="", repr=False)
    url: str = field(default="", repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    seconds: float = 60.0
    longest_name: int = 58
    signed_in: bool = False

    @property
    def longest_seconds(self) -> float:
        """How long a call may take that shows signs of life."""
        return self.seconds * LONGEST


@dataclass(frozen=True)
class RemoteTool:
    """What is called: a tool by its own name, in the way that was stored with it.

    `reader` is the tool by which a model reads what a result only names.
    """

    name: str
    request: str = ""
    reader: str = ""


class SignInNeeded(Invalid):
    """Nobody has signed in to the server yet, or not any more."""


Offer = list[dict[str, object]]
Offered = Callable[[Offer], Awaitable[None]]


async def list_tools(server: Server) -> Offer:
    """What the server offers, asked over a connection of its own. Raises Invalid."""
    client = await _imported_client(Invalid)
    tools: Offer = await client.list_tools(server)
    return tools


async def call_tool(
    server: Server, tool: RemoteTool, arguments: Arguments, changed: Offered | None = None
) -> ToolResult:
    """The result, over the server's one connection. Raises ToolFailed.

    `changed` is given what the server offers whenever it says that this is no longer the same.
    """
    client = await _imported_client(ToolFailed)
    result: ToolResult = await client.pooled(server, changed).call(tool, arguments)
    return result


async def sign_in(server: Server, redirect_uri: str, begun: asyncio.Future[str]) -> Offer:
    """What it offers to somebody who signs in now, by a browser.

    `begun` gets the address for the browser, which brings its answer into the row of the sign-in.
    Raises Invalid.
    """
    client = await _imported_client(Invalid)
    tools: Offer = await client.sign_in(server, redirect_uri, begun)
    return tools


async def sign_out(server: Server) -> None:
    """Tell the server that its tokens are not used any more."""
    client = await _imported_client(Invalid)
    await client.sign_out(server)


def state_hash(state: str) -> str:
    """As the row of a sign-in that is under way has it."""
    return sha256(state.encode(errors="replace")).hexdigest()


async def aclose_all() -> None:
    """End the connections of the running loop and the processes behind them."""
    if client := sys.modules.get(CLIENT):
        await client.aclose_all()


def forget(name: str) -> None:
    """End the connections to a server that is no longer registered, or not like this."""
    if client := sys.modules.get(CLIENT):
        client.forget(name)


async def _imported_client(failure: type[Exception]) -> ModuleType:
    """Importing the SDK takes a second, which the loop need not wait for."""
    try:
        return await FILES.run(importlib.import_module, CLIENT)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("mcp", "httpx2"):
            raise failure(gettext(NOT_INSTALLED) if failure is Invalid else NOT_INSTALLED) from None
        raise
