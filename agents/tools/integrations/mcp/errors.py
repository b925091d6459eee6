"""What can go wrong with a server, in words."""

from __future__ import annotations

import httpx2
from mcp import MCPError
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT
from pydantic import ValidationError

from agents.json_values import has_more_values

# Validating one message holds up the whole process, by about 10 µs for each value. A result is cut
# at 60,000 characters anyway; the bytes leave room for the picture of a screen.
MOST_BYTES = 2 * 1024 * 1024
MOST_VALUES = 20_000

TOO_LONG = f"it sent more than {MOST_BYTES // 1024**2} MB in one message"
TOO_MANY = f"it sent more than {MOST_VALUES:,} JSON values in one message"
NOT_MCP = "what it answered is not MCP"
# How the SDK begins what it says about an answer that cannot be read, before the reason.
UNREADABLE = (
    "Failed to parse JSON response: ",
    "Failed to parse SSE message: ",
    "SSE stream failed: ",
)


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
        return in_words(cause.message) or "it answered with an error"
    if isinstance(cause, ValidationError):
        return NOT_MCP
    return "the connection broke"


def in_words(message: str) -> str:
    """Our own reason for an answer that was not read, or what the server says, on one line."""
    if message.startswith(UNREADABLE):
        return next((fault for fault in (TOO_LONG, TOO_MANY) if message.endswith(fault)), NOT_MCP)
    return one_line(message)


def fault_of(message: bytes) -> str:
    """Why a message is not parsed, or nothing."""
    if len(message) > MOST_BYTES:
        return TOO_LONG
    return TOO_MANY if has_more_values(message, MOST_VALUES) else ""


def is_lost(error: BaseException) -> bool:
    """Whether the connection ended; an event stream that cannot be read ends its own call alone."""
    closed = isinstance(error, MCPError) and error.code == CONNECTION_CLOSED
    return closed and not str(error).startswith(UNREADABLE)


def is_forgotten(error: BaseException) -> bool:
    """A restarted HTTP server does not know our session: the call was not carried out."""
    return isinstance(error, MCPError) and error.message == "Session terminated"


def is_late(error: BaseException) -> bool:
    late = isinstance(error, MCPError) and error.code == REQUEST_TIMEOUT
    return late or isinstance(error, TimeoutError)


def one_line(text: str) -> str:
    return " ".join(text.split())[:300].rstrip(".")
