"""Requests to registered services: one exchange, and what a call's answer means.

A client per exchange: no cookie and no connection is shared between two services.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass

import httpx
from django.utils.translation import gettext_noop

from agents.http import usual_tls
from agents.http_bodies import decoded, pieces
from agents.json_size import has_more_values
from agents.pools import FILES
from agents.telemetry.redaction import redacted_url
from agents.tools.base import Arguments, ToolFailed, ToolResult, truncated
from agents.tools.integrations.openapi.addresses import same_origin
from agents.tools.integrations.openapi.bodies import is_json
from agents.tools.integrations.openapi.requests import ReadFile, Request, no_files, request_of

SECONDS = 60.0
CONNECT_SECONDS = 10.0
MOST_REDIRECTS = 3
MOST_BYTES = 1024 * 1024
MOST_VALUES = 100_000  # of a JSON body that is read
MOST_CHARACTERS = 60_000
MOST_OF_AN_ERROR = 2_000
TEXTS = (
    "text/", "application/xml", "application/javascript", "application/yaml", "application/x-yaml",
    "application/x-www-form-urlencoded", "application/graphql",
)  # fmt: skip

_transport: httpx.AsyncBaseTransport | None = None  # where tests stand in


def use(transport: httpx.AsyncBaseTransport | None) -> ExitStack:
    """Send everything through this transport from now on; in a `with`, only until its end."""
    undo = ExitStack()
    undo.callback(_install, _transport)
    _install(transport)
    return undo


def _install(transport: httpx.AsyncBaseTransport | None) -> None:
    global _transport
    _transport = transport


@dataclass(frozen=True)
class Answer:
    """What came back, read as far as it was wanted."""

    status: int
    reason: str
    kind: str  # media type without parameters
    content_type: str
    body: bytes
    is_whole: bool
    location: str  # a redirect that was not followed


async def exchange(request: Request, most: int, seconds: float = SECONDS) -> Answer:
    """Send it and read at most so many bytes. Raises httpx errors, ValueError or TimeoutError."""
    client = httpx.AsyncClient(
        transport=_transport,
        verify=usual_tls(),
        headers={"Accept-Encoding": "gzip"},
        follow_redirects=False,
        timeout=httpx.Timeout(seconds, connect=CONNECT_SECONDS),
    )
    async with asyncio.timeout(seconds), client, sent(client, request) as response:
        body = bytearray()
        async with aclosing(pieces(response, unknown_as_plain=True)) as received:
            async for piece in received:
                body += piece
                if len(body) > most:
                    break
        content_type = response.headers.get("Content-Type", "")
        return Answer(
            status=response.status_code,
            reason=response.reason_phrase,
            kind=content_type.partition(";")[0].strip().lower(),
            content_type=content_type,
            body=bytes(body[:most]),
            is_whole=len(body) <= most,
            location=response.headers.get("Location", "") if response.is_redirect else "",
        )


@asynccontextmanager
async def sent(client: httpx.AsyncClient, request: Request) -> AsyncIterator[httpx.Response]:
    """The response, after redirects that stay on the same origin; others are for the caller."""
    message = client.build_request(
        request.method, request.url, headers=request.headers, content=request.content
    )
    for left in reversed(range(MOST_REDIRECTS + 1)):
        response = await client.send(message, stream=True)
        onward = response.next_request
        if not left or onward is None or not same_origin(str(onward.url), request.url):
            break
        await response.aclose()
        message = onward
    try:
        yield response
    finally:
        await response.aclose()


def failure_reason(error: Exception) -> str:
    """Why it failed without the URL, which may hold a secret: in English, as a model reads it."""
    if isinstance(error, httpx.TimeoutException):
        return gettext_noop("it took too long")
    if isinstance(error, httpx.ConnectError):
        return gettext_noop("the connection failed")
    if isinstance(error, httpx.TransportError | httpx.DecodingError):
        return gettext_noop("the connection broke")
    return gettext_noop("its address or headers cannot be sent")


async def call_operation(
    operation: Mapping[str, object],
    arguments: Arguments,
    headers: Mapping[str, str],
    seconds: float,
    read_file: ReadFile = no_files,
) -> ToolResult:
    """The answer as status and body. Raises ToolFailed, also for an answer that is an error.

    For a model both are one text; for a chain the status is a field and the body is alone.
    `read_file` reads what is to be sent.
    """
    name = operation["name"]
    try:
        request = await FILES.run(request_of, operation, arguments, read_file)
        registered = {each.lower() for each in headers}
        own = {k: v for k, v in request.headers.items() if k.lower() not in registered}
        request.headers = {**own, **headers}
        answer = await exchange(request, MOST_BYTES, seconds)
    except (TimeoutError, httpx.TimeoutException):
        raise ToolFailed(f"{name} did not answer within {seconds:g} seconds.") from None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise ToolFailed(f"{name} could not be called: {failure_reason(error)}.") from None
    if answer.location:
        where = redacted_url(answer.location)[:500]
        raise ToolFailed(f"{name} was answered with a redirect to {where}, which is not followed.")
    status = f"{answer.status} {answer.reason}".rstrip()
    body, facts = body_text(answer), {"status": answer.status}
    if answer.status < 400:
        text = truncated(body, MOST_CHARACTERS)
        return ToolResult(f"{status}\n{text}".rstrip(), body=body, facts={**facts})
    body = truncated(body, MOST_OF_AN_ERROR)
    sentence = f"{name} was answered with {status}" + (f": {body}" if body else ".")
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        data = body
    raise ToolFailed(sentence, {**facts, "body": data})


def body_text(answer: Answer) -> str:
    """The body as text, JSON without spaces; what is not text is named.

    JSON is left as it is where it has so many values that others would wait for the parser.
    """
    if not answer.body:
        return ""
    json_like = is_json(answer.kind) or "json" in answer.kind
    is_text = json_like or answer.kind.endswith("+xml") or answer.kind.startswith(TEXTS)
    if not answer.kind:
        try:
            answer.body[:-4].decode()  # the last character may be cut
            is_text = True
        except UnicodeDecodeError:
            is_text = False
    if b"\0" in answer.body or not is_text:
        size = len(answer.body) if answer.is_whole else MOST_BYTES
        return (
            f"[{answer.kind or 'binary'}, {'' if answer.is_whole else 'more than '}{size:,} bytes]"
        )
    text = decoded(answer.body, answer.content_type)
    if not json_like or has_more_values(text.encode(errors="replace"), MOST_VALUES):
        return text
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        return text
