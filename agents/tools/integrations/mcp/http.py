"""An MCP server at a URL: the SDK's streamable HTTP, with a limit on what one answer may hold."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client

from agents.decompression import PLAIN, unpacked, unpacker
from agents.tools.integrations.mcp.errors import MOST_BYTES, NOT_MCP, TOO_LONG, fault_of
from agents.tools.integrations.mcp.server import Server

CONNECT_SECONDS = 10.0
SESSION = "mcp-session-id"
EVENT_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")


class Unusable(httpx2.SSEError, httpx2.StreamError):
    """Of these two, in an event stream and in a body, the SDK tells the call that waits."""


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
            end = end_of_last_event(message, len(piece)) if self.is_events else 0
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


def end_of_last_event(message: bytearray, fresh: int) -> int:
    """Where it ends, 0 if none does; only what touches the fresh bytes is looked at."""
    start = max(0, len(message) - fresh - 3)
    found = ((message.rfind(end, start), len(end)) for end in EVENT_ENDS)
    return max(at + length if at >= 0 else 0 for at, length in found)


def checked(message: bytes) -> bytes:
    if fault := fault_of(message):
        raise Unusable(fault)
    return message


class BoundedClient(httpx2.AsyncClient):
    async def send(
        self, request: httpx2.Request, *, stream: bool = False, **options: Any
    ) -> httpx2.Response:
        response = await super().send(request, stream=True, **options)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        kind = response.headers.get("content-type", "").strip().lower()
        packed = response.headers.pop("content-encoding", "").strip().lower()
        is_events = kind.startswith("text/event-stream")
        response.stream = Bounded(response.stream, is_events, packed)
        response.encoding = "utf-8"  # as JSON and event streams are, whatever the server says
        # Of a session they do not know, as after a restart, many servers say 400 instead of 404.
        if response.status_code == 400 and SESSION in request.headers:
            response.status_code = 404
        if not stream:
            await response.aread()
        return response


@asynccontextmanager
async def streamable_http(server: Server) -> AsyncIterator[TransportStreams]:
    timeout = httpx2.Timeout(server.seconds + 5, connect=CONNECT_SECONDS)
    headers = {**PLAIN, **dict(server.headers)}
    async with (
        BoundedClient(headers=headers, timeout=timeout) as client,
        streamable_http_client(server.url, http_client=client, max_sse_event_size=None) as streams,
    ):
        yield streams
