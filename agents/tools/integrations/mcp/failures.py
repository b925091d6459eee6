"""What can go wrong with an MCP server, in words that name no address: that may hold a secret.

In English, as a model reads it; where a person does, it is translated (client.py: asked_once).
"""

from __future__ import annotations

import re

import httpx2
from django.utils.translation import gettext_noop
from mcp import MCPError
from mcp.client.auth import OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp_types import CONNECTION_CLOSED
from pydantic import ValidationError

from agents.json_size import has_more_values

# Validating one message holds up the whole process, by about 10 µs for each value. A result is cut
# at 60,000 characters anyway; the bytes leave room for the picture of a screen.
MOST_BYTES = 2 * 1024 * 1024
MOST_VALUES = 20_000

TOO_LONG = f"it sent more than {MOST_BYTES // 1024**2} MB in one message"
TOO_MANY = f"it sent more than {MOST_VALUES:,} JSON values in one message"
NOT_MCP = gettext_noop("what it answered is not MCP")

# How the SDK begins what it says about an answer that cannot be read, before the reason.
UNREADABLE = (
    "Failed to parse JSON response: ",
    "Failed to parse SSE message: ",
    "SSE stream failed: ",
)
# How the SDK refuses a result that does not fit the tool's own description of it.
ODD_RESULT = re.compile("structured content|Invalid schema for tool")
ADDRESS = re.compile(r"https?://[^ ]+")
# What the SDK says for a status, which it does not name.
STAND_INS = ("Server returned an error response", "Not Found", "Session terminated")


class ServerFailed(Exception):
    """Why the server cannot be talked to: the end of a sentence, in English."""


class SignInWanted(ServerFailed):
    """It wants somebody to sign in."""


def fault_of(message: bytes) -> str:
    """Why a message is not parsed, or nothing."""
    if len(message) > MOST_BYTES:
        return TOO_LONG
    return TOO_MANY if has_more_values(message, MOST_VALUES) else ""


def one_line(text: str) -> str:
    return " ".join(text.split())[:300].rstrip(".")


def first_cause(error: BaseException) -> BaseException:
    """Task groups wrap what happened first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def reason(error: BaseException) -> str:
    """The end of a sentence."""
    error = first_cause(error)
    if isinstance(error, ServerFailed):
        return str(error)
    if isinstance(error, TimeoutError | httpx2.TimeoutException):
        return gettext_noop("it did not answer in time")
    if isinstance(error, httpx2.ConnectError):
        return gettext_noop("the connection failed")
    if isinstance(error, ValidationError):
        return NOT_MCP
    if isinstance(error, OAuthRegistrationError):
        return gettext_noop(
            "its sign-in takes no new program by itself: register Planside there, and enter the "
            "client ID that it gives at the service in Settings > Tools, or a key as a header"
        )
    if isinstance(error, OAuthTokenError | OAuthFlowError):
        return (
            f"its sign-in failed: {one_line(re.sub(r'https?://[^ ]+', 'an address', str(error)))}"
        )
    if isinstance(error, RuntimeError) and ODD_RESULT.search(str(error)):
        return gettext_noop("what it gave is not what it says that the tool gives")
    if not isinstance(error, MCPError):
        return gettext_noop("the connection broke")
    if error.message.startswith(UNREADABLE):
        faults = (fault for fault in (TOO_LONG, TOO_MANY) if error.message.endswith(fault))
        return next(faults, NOT_MCP)
    if error.message.startswith("Unexpected content type"):
        return NOT_MCP
    return one_line(error.message) or gettext_noop("it answered with an error")


def is_stand_in(error: BaseException) -> bool:
    """Whether the SDK says only that there was a status, of which more is known elsewhere."""
    error = first_cause(error)
    return isinstance(error, MCPError) and error.message in STAND_INS


def is_lost(error: BaseException) -> bool:
    """Whether the connection ended; an event stream that cannot be read ends its own call alone."""
    closed = isinstance(error, MCPError) and error.code == CONNECTION_CLOSED
    return closed and not str(error).startswith(UNREADABLE)


def is_forgotten(error: BaseException) -> bool:
    """A restarted HTTP server does not know our session: the call was not carried out."""
    return isinstance(error, MCPError) and error.message == "Session terminated"


# What an answer of HTTP means. Statuses that are said of a whole address, not of one call.


def refusal_of(status: int, has_key: bool) -> str:
    """The end of a sentence, with the remedy."""
    if status == 401 and has_key:
        return gettext_noop(
            "it does not accept the key it was sent (401): enter a valid one at the service in "
            "Settings > Tools"
        )
    if status == 401:
        return gettext_noop(
            "it wants to know who asks (401): press Connect at the service in Settings > Tools, "
            "or enter a key there as a header, such as Authorization: Bearer …"
        )
    if status == 403:
        return gettext_noop("it refuses this account or key (403): see there what it may do")
    if status in (404, 405, 410):
        return (
            f"there is no MCP server at this address ({status}): look up its whole address, which "
            "mostly ends in /mcp or /sse"
        )
    if status == 429:
        return gettext_noop("it is asked too often (429): try again later")
    return f"it answered with an error of its own ({status})"


# What a program wrote before it ended.

NPM = re.compile(r"npm (?:error|ERR!)\s?")
CAUSES = ("╰─▶", "cause: ")
UNTELLING = re.compile(r"code |errno |syscall |path |A complete log|$")
ERROR = re.compile(r"\s*(?:Uncaught )?[\w.]*(?:Error|Exception)(?: \[\w+\])?: |(?i:error|fatal): ")


def telling_line(stderr: str) -> str:
    """The line that says what is wrong. It is often not the last one."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    of_npm = [NPM.sub("", line).strip() for line in lines if NPM.match(line)]
    for line in of_npm:
        if not UNTELLING.match(line):
            return one_line(line)
    for number, line in enumerate(lines):  # uv draws a tree, and breaks its lines
        if line.startswith(CAUSES):
            return one_line(" ".join(lines[number:]).removeprefix("╰─▶").removeprefix("cause:"))
    errors = [line for line in lines if ERROR.match(line)]
    return one_line((errors or lines or [""])[-1])
