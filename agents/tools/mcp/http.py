"""An MCP server at a URL: the SDK's streamable HTTP, with a limit on what one answer may hold."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client

from agents.tools.mcp.server import Server

MOST_BYTES = 16 * 1024 * 1024
CONNECT_SECONDS = 10.0
SESSION = "mcp-session-id"


class Bounded(httpx2.AsyncByteStream):
    """A stream that breaks off when it has given too much."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self.stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        count = 0
        async for chunk in self.stream:
            count += len(chunk)
            if count > MOST_BYTES:
                raise httpx2.ReadError("the answer is too long")
            yield chunk

    async def aclose(self) -> None:
        await self.stream.aclose()


class BoundedClient(httpx2.AsyncClient):
    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        response = await super().send(request, **options)
        if options.get("stream") and isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = Bounded(response.stream)
        # Of a session they do not know, as after a restart, many servers say 400 instead of 404.
        if response.status_code == 400 and SESSION in request.headers:
            response.status_code = 404
        return response


@asynccontextmanager
async def streamable_http(server: Server) -> AsyncIterator[TransportStreams]:
    timeout = httpx2.Timeout(server.seconds + 5, connect=CONNECT_SECONDS)
    async with (
        BoundedClient(headers=dict(server.headers), timeout=timeout) as client,
        streamable_http_client(
            server.url, http_client=client, max_sse_event_size=MOST_BYTES
        ) as streams,
    ):
        yield streams
