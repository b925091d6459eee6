"""MCP servers over HTTP in this loop: `web.add(4711, app)` answers at http://127.0.0.1:4711.

What stands in is the transport under httpx2, the SDK's client: nothing listens on a port, and at any
other address the connection fails. An app is ASGI, or a function from a request to a response.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import httpx2

PIECE = 2**16  # bytes, as a socket gives them

Answer = Callable[[httpx2.Request], Awaitable[httpx2.Response]]


class Web:
    def __init__(self) -> None:
        self.servers: dict[int, Answer] = {}
        self.refused = 0

    def add(self, port: int, answer: Answer) -> str:
        """Its address."""
        self.servers[port] = answer
        return f"http://127.0.0.1:{port}"

    def remove(self, port: int) -> None:
        del self.servers[port]

    async def answer(self, request: httpx2.Request) -> httpx2.Response:
        """What httpx2.AsyncHTTPTransport does otherwise."""
        server = self.servers.get(request.url.port or 80)
        if server is None or request.url.host != "127.0.0.1":
            raise httpx2.ConnectError("Nobody listens there.", request=request)
        return await server(request)

    async def get(self, url: str) -> httpx2.Response:
        """As a browser beside the product asks."""
        response = await self.answer(httpx2.Request("GET", url))
        await response.aread()
        return response


def says(status: int, body: bytes = b"", **headers: str) -> httpx2.Response:
    """A response that comes in pieces, as from the network."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.Response(status, headers=named, stream=Pieces(body))


class Pieces(httpx2.AsyncByteStream):
    def __init__(self, body: bytes) -> None:
        self.body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self.body), PIECE):
            yield self.body[start : start + PIECE]
            await asyncio.sleep(0)


class Served:
    """An ASGI app with its lifespan, as a server in a process of its own has it."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.exchanges: set[Exchange] = set()
        self.is_up = asyncio.Event()
        self.is_ending = asyncio.Event()
        self.life = asyncio.ensure_future(self.live())

    async def live(self) -> None:
        async with self.app.router.lifespan_context(self.app):
            self.is_up.set()
            await self.is_ending.wait()

    async def __call__(self, request: httpx2.Request) -> httpx2.Response:
        await self.is_up.wait()
        exchange = Exchange(self.app, request, await request.aread())
        self.exchanges.add(exchange)
        exchange.task.add_done_callback(lambda _: self.exchanges.discard(exchange))
        return await exchange.response()

    async def kill(self) -> None:
        """Every answer that is under way breaks off."""
        for exchange in list(self.exchanges):
            exchange.break_off()
        self.is_ending.set()
        with suppress(asyncio.CancelledError):
            await self.life


class Exchange(httpx2.AsyncByteStream):
    """One request to an app, and what the app sends as it comes."""

    def __init__(self, app: Any, request: httpx2.Request, body: bytes) -> None:
        self.request, self.body, self.is_read = request, body, False
        self.head: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self.parts: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.is_broken = False
        self.is_left = asyncio.Event()
        self.task = asyncio.ensure_future(app(self.scope(), self.receive, self.send))
        self.task.add_done_callback(self.ended)

    def scope(self) -> dict[str, Any]:
        url = self.request.url
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": self.request.method,
            "headers": [(name.lower(), value) for name, value in self.request.headers.raw],
            "scheme": url.scheme,
            "path": url.path,
            "raw_path": url.raw_path.split(b"?")[0],
            "query_string": url.query,
            "server": (url.host, url.port),
            "client": ("127.0.0.1", 50000),
            "root_path": "",
        }

    async def receive(self) -> dict[str, Any]:
        if not self.is_read:
            self.is_read = True
            return {"type": "http.request", "body": self.body, "more_body": False}
        await self.is_left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start" and not self.head.done():
            self.head.set_result(message)
        elif message["type"] == "http.response.body":
            self.parts.put_nowait(message.get("body", b""))
            if not message.get("more_body"):
                self.parts.put_nowait(None)
        await asyncio.sleep(0)

    def ended(self, task: asyncio.Task[None]) -> None:
        """Also by an error of the app, which is then the client's to see as a broken answer."""
        if task.cancelled() or task.exception():
            self.is_broken = True
        if not self.head.done():
            self.head.set_exception(self.broken())
        self.parts.put_nowait(None)

    def break_off(self) -> None:
        self.is_broken = True
        self.task.cancel()

    def broken(self) -> httpx2.RemoteProtocolError:
        return httpx2.RemoteProtocolError("The server went away.", request=self.request)

    async def response(self) -> httpx2.Response:
        try:
            head = await self.head
        except asyncio.CancelledError:
            self.is_left.set()
            raise
        return httpx2.Response(head["status"], headers=head.get("headers", []), stream=self)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (part := await self.parts.get()) is not None:
            yield part
        if self.is_broken:
            raise self.broken()

    async def aclose(self) -> None:
        self.is_left.set()
