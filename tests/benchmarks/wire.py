"""A lean client for the load: the cores are shared with what is measured."""

import asyncio
import base64
import json
import os
from urllib.parse import urlsplit


class Http:
    """One kept connection. `ask` gives (status, document)."""

    def __init__(self, address, headers):
        parts = urlsplit(address)
        self.host, self.port = parts.hostname, parts.port
        self.head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.reader = self.writer = None

    async def open(self):
        self.reader, self.writer = await asyncio.open_connection(self.host, self.port, limit=2**24)

    async def send(self, method, path, body=None, more=""):
        if self.writer is None:
            await self.open()
        data = b"" if body is None else json.dumps(body).encode()
        kind = "Content-Type: application/json\r\n" if data else ""
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n{self.head}{more}{kind}"
            f"Content-Length: {len(data)}\r\n\r\n"
        )
        self.writer.write(head.encode() + data)

    async def read_head(self):
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        fields = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
        return int(lines[0].split()[1]), fields

    async def ask(self, method, path, body=None, more=""):
        await self.send(method, path, body, more)
        status, fields = await self.read_head()
        if "chunked" in fields.get("transfer-encoding", ""):
            data = b"".join([piece async for piece in self.chunks()])
        else:
            data = await self.reader.readexactly(int(fields.get("content-length", 0)))
        is_json = "json" in fields.get("content-type", "") and data
        return status, json.loads(data) if is_json else data

    async def chunks(self):
        while size := int(await self.reader.readuntil(b"\r\n"), 16):
            yield (await self.reader.readexactly(size + 2))[:-2]
        await self.reader.readuntil(b"\r\n")

    async def lines(self, path):
        """A live tail of server-sent events, line by line."""
        await self.send("GET", path, more="Accept: text/event-stream\r\n")
        status, _ = await self.read_head()
        assert status == 200, status
        async for piece in self.chunks():
            for line in piece.decode().splitlines():
                yield line

    def close(self):
        if self.writer:
            self.writer.close()
            self.writer = None


class Socket:
    """A WebSocket as a browser opens it; `frame` gives the next text."""

    def __init__(self, address, path, cookie):
        self.http = Http(address, {"Cookie": cookie, "Origin": address})
        self.path = path

    async def open(self):
        key = base64.b64encode(os.urandom(16)).decode()
        more = (
            "Connection: Upgrade\r\nUpgrade: websocket\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
        )
        await self.http.send("GET", self.path, more=more)
        status, _ = await self.http.read_head()
        assert status == 101, status
        return self

    async def frame(self):
        """The next text, without its bytes being looked at; pings are answered by silence."""
        while True:
            first, second = await self.http.reader.readexactly(2)
            length = second & 127
            if length > 125:
                more = await self.http.reader.readexactly(2 if length == 126 else 8)
                length = int.from_bytes(more, "big")
            data = await self.http.reader.readexactly(length)
            if first & 15 == 8:
                raise ConnectionError(f"closed: {data!r}")
            if first & 15 == 1:
                return data

    def close(self):
        self.http.close()
