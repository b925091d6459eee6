"""The way out to registered services, and the seam where tests stand in.

A client per exchange: no cookie and no connection is shared between two services.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import ExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import cache
from typing import cast

import httpx

from agents.tools.integrations.openapi.requests import Request
from agents.tools.integrations.openapi.urls import same_origin

SECONDS = 60.0
CONNECT_SECONDS = 10.0
MOST_REDIRECTS = 3

_transport: httpx.AsyncBaseTransport | None = None


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


def use(transport: httpx.AsyncBaseTransport | None) -> ExitStack:
    """Send everything through this transport from now on; in a `with`, only until its end."""
    undo = ExitStack()
    undo.callback(_install, _transport)
    _install(transport)
    return undo


async def exchange(request: Request, most: int, seconds: float = SECONDS) -> Answer:
    """Send it and read at most so many bytes. Raises httpx errors, ValueError or TimeoutError."""
    async with asyncio.timeout(seconds), _client(seconds) as client, _sent(client, request) as got:
        body, is_whole = await _read(got, most)
        content_type = got.headers.get("Content-Type", "")
        return Answer(
            status=got.status_code,
            reason=got.reason_phrase,
            kind=content_type.partition(";")[0].strip().lower(),
            content_type=content_type,
            body=body,
            is_whole=is_whole,
            location=got.headers.get("Location", "") if got.is_redirect else "",
        )


def _client(seconds: float) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        transport=_transport,
        verify=_trusted(),
        follow_redirects=False,
        timeout=httpx.Timeout(seconds, connect=CONNECT_SECONDS),
    )


@cache
def _trusted() -> ssl.SSLContext:
    return httpx.create_ssl_context()


@asynccontextmanager
async def _sent(client: httpx.AsyncClient, request: Request) -> AsyncIterator[httpx.Response]:
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


async def _read(response: httpx.Response, most: int) -> tuple[bytes, bool]:
    body = bytearray()
    async with aclosing(cast(AsyncGenerator[bytes, None], response.aiter_bytes())) as chunks:
        async for chunk in chunks:
            body += chunk
            if len(body) > most:
                return bytes(body[:most]), False
    return bytes(body), True


def _install(transport: httpx.AsyncBaseTransport | None) -> None:
    global _transport
    _transport = transport
