"""An MCP server at a URL: the SDK's streamable HTTP, or HTTP+SSE as it was before.

What comes is bounded. What the server names besides, for signing in, is only asked where it is
public or on the server's own host.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import httpx
import httpx2
from django.utils.translation import gettext_noop
from mcp.client._transport import TransportStreams
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from agents.http_bodies import PLAIN, unpacked, unpacker
from agents.tools.base import ToolFailed
from agents.tools.integrations.mcp import Server
from agents.tools.integrations.mcp.failures import (
    MOST_BYTES,
    NOT_MCP,
    TOO_LONG,
    ServerFailed,
    fault_of,
    refusal_of,
)
from agents.tools.ssrf_guard import Guard

CONNECT_SECONDS = 10.0
QUIET_SECONDS = 900.0  # an event stream may be silent as long as a connection is kept
SESSION = "mcp-session-id"
EVENT_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")
# What a server of the time before streamable HTTP says to its first request.
OLD_STATUSES = {400, 404, 405, 406, 415, 501}


class Remote:
    """One connection's HTTP, and what is known of why it does not work."""

    def __init__(self, server: Server, auth: httpx2.Auth | None = None) -> None:
        self.server, self.auth = server, auth
        self.url = httpx2.URL(server.url)
        self.guard = Guard([self.url.host, f"[{self.url.host}]"])
        self.status = 0  # of the last answer at the server's address that was an error

    @property
    def refusal(self) -> str:
        """What the last error of the address means: the end of a sentence, or nothing."""
        return refusal_of(self.status, self.has_key) if self.status else ""

    @property
    def has_key(self) -> bool:
        return any(name.lower() == "authorization" for name, _ in self.server.headers)

    @property
    def wants_sign_in(self) -> bool:
        return self.status == 401 and not self.has_key

    def streamable_http(self) -> AbstractAsyncContextManager[TransportStreams]:
        @asynccontextmanager
        async def transport() -> AsyncIterator[TransportStreams]:
            async with (
                self.client() as client,
                streamable_http_client(
                    self.server.url, http_client=client, max_sse_event_size=None
                ) as streams,
            ):
                yield streams

        return transport()

    def http_and_sse(self) -> AbstractAsyncContextManager[TransportStreams]:
        """The transport of the protocol's version 2024-11-05."""

        def factory(
            headers: dict[str, str] | None = None,
            timeout: httpx2.Timeout | None = None,
            auth: httpx2.Auth | None = None,
        ) -> httpx2.AsyncClient:
            return self.client(timeout)

        return sse_client(
            self.server.url,
            timeout=self.server.seconds + 5,
            sse_read_timeout=QUIET_SECONDS,
            httpx_client_factory=factory,
        )

    def client(self, timeout: httpx2.Timeout | None = None) -> httpx2.AsyncClient:
        seconds = self.server.longest_seconds + 5
        return httpx2.AsyncClient(
            headers={**PLAIN, **dict(self.server.headers)},
            timeout=timeout or httpx2.Timeout(seconds, connect=CONNECT_SECONDS),
            auth=self.auth,
            event_hooks={"request": [self.check_address], "response": [self.bound]},
        )

    async def check_address(self, request: httpx2.Request) -> None:
        """Before each request: what is on another host goes to an address that was checked.

        Such a connection is not kept: it would be found by its address.
        """
        if request.url.host == self.url.host:
            return
        try:
            addresses = await self.guard.addresses(httpx.URL(str(request.url)))
        except ToolFailed:
            raise ServerFailed(
                gettext_noop(
                    "it names an address for signing in that is neither public nor on its own host"
                )
            ) from None
        host = request.url.raw_host.decode("ascii")
        request.extensions = {**request.extensions, "sni_hostname": host}
        request.headers["Connection"] = "close"
        request.url = request.url.copy_with(host=addresses[0])

    async def bound(self, response: httpx2.Response) -> None:
        """After each answer's head: limits for its body, and what its status says."""
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        kind = response.headers.get("content-type", "").strip().lower()
        packed = response.headers.pop("content-encoding", "").strip().lower()
        is_events = kind.startswith("text/event-stream")
        response.stream = Bounded(response.stream, is_events, packed)
        response.encoding = "utf-8"  # as JSON and event streams are, whatever the server says
        request = response.request
        # Of a session they do not know, as after a restart, many servers say 400 instead of 404.
        if response.status_code == 400 and SESSION in request.headers:
            response.status_code = 404
        if request.method == "POST" and request.url == self.url:
            self.status = response.status_code if response.status_code >= 400 else 0


class Unusable(httpx2.SSEError, httpx2.StreamError):
    """The errors for which the SDK ends the waiting call: in an event stream, and in a body."""


class Bounded(httpx2.AsyncByteStream):
    """A stream that breaks off at a message too large to be parsed while others wait.

    A message is one event of an event stream, or the whole of another body. It is given on when
    it is complete, and counted as it is after unpacking.
    """

    def __init__(self, stream: httpx2.AsyncByteStream, is_events: bool, packed: str) -> None:
        self.stream, self.is_events, self.packed = stream, is_events, packed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        message = bytearray()
        async for piece in self.pieces():
            message += piece
            if self.is_events:
                fresh = max(0, len(message) - len(piece) - 3)  # an end may lie across two pieces
                ends = [(message.rfind(mark, fresh), len(mark)) for mark in EVENT_ENDS]
                end = max(at + length if at >= 0 else 0 for at, length in ends)
                if end:
                    yield checked(bytes(message[:end]))
                    del message[:end]
            if len(message) > MOST_BYTES:
                raise Unusable(TOO_LONG)
        yield checked(bytes(message))

    async def pieces(self) -> AsyncIterator[bytes]:
        try:
            unpack = unpacker(self.packed)
            async for chunk in self.stream:
                for piece in unpacked(unpack, chunk) if unpack else (chunk,):
                    yield piece
        except (zlib.error, httpx.DecodingError):
            raise Unusable(NOT_MCP) from None

    async def aclose(self) -> None:
        await self.stream.aclose()


def checked(message: bytes) -> bytes:
    if fault := fault_of(message):
        raise Unusable(fault)
    return message
