"""What can go wrong with a server, in words."""

from __future__ import annotations

import httpx2
from mcp import MCPError
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT
from pydantic import ValidationError


class ServerFailed(Exception):
    """Why the server cannot be talked to: the end of a sentence."""


def leaf(error: BaseException) -> BaseException:
    """Task groups wrap what happened; the first thing that did is what counts."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def why(error: BaseException) -> str:
    """The end of a sentence. It names no address: that may hold a secret."""
    cause = leaf(error)
    if isinstance(cause, ServerFailed):
        return str(cause)
    if isinstance(cause, TimeoutError | httpx2.TimeoutException):
        return "it did not answer in time"
    if isinstance(cause, httpx2.ConnectError):
        return "the connection failed"
    if isinstance(cause, MCPError):
        return one_line(cause.message) or "it answered with an error"
    if isinstance(cause, ValidationError):
        return "what it answered is not MCP"
    return "the connection broke"


def is_lost(error: BaseException) -> bool:
    return isinstance(error, MCPError) and error.code == CONNECTION_CLOSED


def is_forgotten(error: BaseException) -> bool:
    """A restarted HTTP server does not know our session: the call was not carried out."""
    return isinstance(error, MCPError) and error.message == "Session terminated"


def is_late(error: BaseException) -> bool:
    late = isinstance(error, MCPError) and error.code == REQUEST_TIMEOUT
    return late or isinstance(error, TimeoutError)


def one_line(text: str) -> str:
    return " ".join(text.split())[:300].rstrip(".")
