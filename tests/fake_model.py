"""Two fakes of the wire to a model: a transport for tests in-process, a server for all others.

Both play a script. A script is a list of replies, used up one per request and in order; or a dict

    {"replies": [REPLY, …], "rules": [RULE, …], "delay": 0.01, "chunk": 8}

in which rules are asked first and can be used again (a restarted product asks again, so browser
and kill -9 tests go by rules); or, in-process, a callable from the request's JSON to a REPLY.
When nothing is left the answer is the text "(end of script)".

REPLY, all keys optional (the builders below write them):
    text, reasoning       what is said, streamed in chunks
    calls                 [[tool, {arguments}], …]; arguments as a str are sent as they are
    finish                finish_reason; by itself "tool_calls" with calls, else "stop"
    usage                 [tokens in, tokens out]; by itself none is reported
    status, headers, body an answer other than 200; body is text or JSON
    cut                   true: the stream ends after the text, without finish_reason and [DONE];
                          "hard": the connection breaks there
    error                 an error object sent inside the stream, after the text
    wait                  seconds before the answer begins; "forever"; in-process an Event, or a
                          coroutine function for what happens meanwhile
    hang                  the same, after the text and before the end
    then                  another REPLY in the place of the end, which goes on with the text
    plain                 true: one JSON body, as from a server that ignores `stream`
    raw                   the body of a 200 word for word; "hang" holds behind it
    delay, chunk          seconds between chunks and characters per chunk, for this reply
RULE:
    {"when": {…}, "reply": REPLY or [REPLY, …], "times": n}
    when, all must hold; texts are regular expressions, searched for without regard to case:
        offered   a tool (or list of tools) on offer      only      exactly these tools, any order
        last      in the last message's text              role      the last message's role
        user      in the last user message                system    in the system messages
        after     the last call of the model was of this tool
        results   how many tool messages follow the last user message
    A list of replies is used up in order, its last one again and again.

Server:  python -m tests.fake_model --port N [--script FILE.json]   (port 0: any; it prints its URL)
    GET /v1/models; POST /v1/chat/completions, and with a `raw` answer /v1/messages, /v1/responses or
    …:streamGenerateContent; GET /requests: what was asked; PUT /script: another script.
    In a thread:  with FakeModelServer(script) as server: server.url
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import httpx

from tests.fake_script import (
    MODELS,
    Broken,
    Reply,
    Request,
    Script,
    body_of,
    call,
    calls,
    cut,
    fails,
    head_of,
    rule,
    say,
    silent,
    think,
)

__all__ = [
    "FakeModelServer",
    "ScriptedTransport",
    "call",
    "calls",
    "cut",
    "fails",
    "rule",
    "say",
    "silent",
    "think",
]


class ScriptedTransport(httpx.AsyncBaseTransport):
    """Plays a script to the product's own client.

    `requests` are the bodies asked so far, `headers` what came with them, `open` the number of
    answers now streaming, `abandoned` the number of those closed before their end.
    """

    def __init__(self, script: Any = ()) -> None:
        self.script = Script(script)
        self.headers: list[httpx.Headers] = []
        self.open = 0
        self.abandoned = 0

    @property
    def requests(self) -> list[Request]:
        return self.script.requests

    def add(self, *replies: Reply) -> None:
        self.script.replies.extend(replies)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            is_list = request.url.path.endswith("/models")
            return httpx.Response(200, json=MODELS) if is_list else httpx.Response(404)
        asked = json.loads(await request.aread())
        self.headers.append(request.headers)
        reply = self.script.next(asked)
        await self.script.pause(reply.get("wait"))
        status, headers = head_of(reply)
        return httpx.Response(status, headers=headers, stream=_Body(self, reply, asked))


class _Body(httpx.AsyncByteStream):
    def __init__(self, transport: ScriptedTransport, reply: Reply, asked: Request) -> None:
        self.transport = transport
        self.parts = body_of(reply, asked, transport.script)
        self.is_closed = self.is_whole = False
        transport.open += 1

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for part in self.parts:
                yield part
        except Broken:
            raise httpx.ReadError("The script broke the connection.") from None
        self.is_whole = True

    async def aclose(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            self.transport.open -= 1
            self.transport.abandoned += not self.is_whole


class FakeModelServer:
    """The same scripts over real HTTP, in a thread with a loop of its own."""

    def __init__(self, script: Any = (), port: int = 0) -> None:
        self.script = Script(script)
        self.port = port
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.ready = threading.Event()

    @property
    def url(self) -> str:
        """The base URL for a provider."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def requests(self) -> list[Request]:
        return self.script.requests

    def __enter__(self) -> Self:
        self.thread.start()
        self.ready.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.call_soon_threadsafe(self.ending.set)
        self.thread.join(5)
        self.loop.close()

    def _run(self) -> None:
        self.loop.run_until_complete(self.serve())

    async def serve(self) -> None:
        self.ending = asyncio.Event()
        self.answering: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self.accept, "127.0.0.1", self.port, limit=2**24)
        self.port = server.sockets[0].getsockname()[1]
        self.ready.set()
        async with server:
            await self.ending.wait()
            for listener in server.sockets:  # nobody comes in any more
                self.loop.remove_reader(listener.fileno())
            # Who is half-way in becomes a connection first: of a server that is closed asyncio
            # makes none, and leaves the socket open.
            while others := asyncio.all_tasks() - {asyncio.current_task()}:
                for task in self.answering:
                    task.cancel()
                await asyncio.wait(others)
        await asyncio.sleep(0.01)  # transports that were closed just now are let go

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self.answer(reader, writer))
        self.answering.add(task)
        task.add_done_callback(self.answering.discard)
        # A task that is cancelled before its first step closes nothing itself.
        task.add_done_callback(lambda _: writer.transport.abort())

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request per connection; a client that hangs up ends the answer."""
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, Broken):
                method, path, body = await read_request(reader)
                reply = self.reply_to(method, path, body)
                sending = asyncio.create_task(self.send(writer, reply, body))
                gone = asyncio.create_task(reader.read())
                try:
                    await asyncio.wait({sending, gone}, return_when=asyncio.FIRST_COMPLETED)
                finally:  # also where the server ends meanwhile
                    for task in (sending, gone):
                        task.cancel()
                    await asyncio.gather(sending, gone, return_exceptions=True)
        finally:
            writer.close()
            if self.ending.is_set():
                writer.transport.abort()
            with suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    def reply_to(self, method: str, path: str, body: Any) -> Reply:
        asked = ("/chat/completions", "/messages", "/responses", ":streamGenerateContent")
        if path.endswith(asked):
            return self.script.next(body)
        if path == "/script" and method == "PUT":
            self.script.load(body)
            return {"raw": "{}"}
        shown = {"/requests": self.script.requests, "/v1/models": MODELS, "/models": MODELS}
        return {"raw": json.dumps(shown[path])} if path in shown else fails(404)

    async def send(self, writer: asyncio.StreamWriter, reply: Reply, asked: Any) -> None:
        await self.script.pause(reply.get("wait"))
        status, headers = head_of(reply)
        lines = [f"HTTP/1.1 {status} Scripted", "Connection: close", "Transfer-Encoding: chunked"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        async for part in body_of(reply, asked, self.script):
            writer.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()


async def read_request(reader: asyncio.StreamReader) -> tuple[str, str, Any]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    method, path, _ = head.split(" ", 2)
    length = re.search(r"^content-length: *(\d+)", head, re.IGNORECASE | re.MULTILINE)
    body = await reader.readexactly(int(length[1])) if length else b""
    return method, path.partition("?")[0], json.loads(body or "null")


def main() -> None:
    parser = argparse.ArgumentParser(description="A scripted model over HTTP.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path)
    chosen = parser.parse_args()
    script = json.loads(chosen.script.read_text()) if chosen.script else []
    with FakeModelServer(script, chosen.port) as server, suppress(KeyboardInterrupt):
        print(server.url, flush=True)  # noqa: T201
        server.thread.join()


if __name__ == "__main__":
    main()
