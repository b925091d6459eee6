"""Model servers that stall, drip, never end, or send a little that unpacks to very much."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from itertools import repeat
from typing import Any

import httpx
import pytest

from agents import http
from tests.console.serving import Script, Started
from tests.fake_model import FakeModelServer, rule, say, silent
from tests.inner import (
    LONGEST_REPLY,
    MOST_CALLS,
    ChatDraft,
    Endpoint,
    ModelError,
    ModelRequest,
    list_models,
    stream,
)
from tests.patience import at_most

Write = Callable[[asyncio.StreamWriter], Awaitable[None]]
HEAD = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream\r\n"
MEGABYTE = 1024 * 1024
UNREADABLE = "m returned an answer that cannot be read as JSON."
TOO_LARGE = "m returned an answer that is too large: 4 MB and 100,000 JSON values are the most."


@pytest.fixture(autouse=True)
async def _nothing_stays_open() -> AsyncIterator[None]:
    yield
    await http.aclose_all()


@asynccontextmanager
async def server(write: Write) -> AsyncIterator[Endpoint]:
    """One that answers each request with whatever `write` writes."""
    heard: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError):
                heard.append(await reader.readuntil(b"\r\n\r\n"))
                await write(writer)
        finally:
            writer.close()

    listening = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    async with listening:
        yield Endpoint("mine", f"http://127.0.0.1:{port}/v1")


async def error_from(write: Write) -> ModelError:
    async with server(write) as endpoint:
        with pytest.raises(ModelError) as caught:
            async for _ in stream(ModelRequest(endpoint, "m", [{"role": "user", "content": "x"}])):
                pass
    return caught.value


def delta(text: str) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}).encode()


# A little that becomes much


def bomb(megabytes: int) -> bytes:
    """A line of so many megabytes, packed to a thousandth of it."""
    pack = zlib.compressobj(9, wbits=31)
    return b"".join([*(pack.compress(b" " * MEGABYTE) for _ in range(megabytes)), pack.flush()])


async def test_a_small_answer_that_unpacks_to_much_does_not_fill_the_memory() -> None:
    packed = bomb(200)

    async def write(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"Content-Encoding: gzip\r\n\r\n" + packed)
        await writer.drain()

    tracemalloc.start()
    try:
        error = await error_from(write)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert error.detail == TOO_LARGE
    assert most < 40 * MEGABYTE


async def test_a_packed_list_of_models_is_bounded_too() -> None:
    packed = bomb(200)

    async def write(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"Content-Encoding: gzip\r\n\r\n" + packed)
        await writer.drain()

    tracemalloc.start()
    try:
        async with server(write) as endpoint:
            with pytest.raises(ModelError) as caught:
                await list_models(endpoint)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert caught.value.sentence == "The model did not answer"
    assert most < 40 * MEGABYTE


async def test_an_answer_that_is_packed_unasked_is_understood() -> None:
    packed = gzip.compress(delta("Packed") + b"\n\ndata: [DONE]\n\n")

    async def write(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"Content-Encoding: gzip\r\n\r\n")
        for at in range(len(packed)):  # cut anywhere
            writer.write(packed[at : at + 1])
            await writer.drain()

    async with server(write) as endpoint:
        parts = [part async for part in stream(ModelRequest(endpoint, "m", []))]
    assert parts[-1].text == "Packed"


@pytest.mark.parametrize(("packing", "body"), [("gzip", b"no gzip"), ("br", b"whatever")])
async def test_what_cannot_be_unpacked_is_said_to_be_unreadable(packing: str, body: bytes) -> None:
    async def write(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + f"Content-Encoding: {packing}\r\n\r\n".encode() + body)
        await writer.drain()

    error = await error_from(write)
    assert error.detail == UNREADABLE


async def test_a_reply_that_never_ends_is_cut_off_and_not_asked_for_again() -> None:
    async def write(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"\r\n")
        for line in repeat(delta("on and on " * 1_000)):
            writer.write(line + b"\n\n")
            await writer.drain()

    error = await error_from(write)
    assert (error.kind, error.transient) == ("endless", False)
    assert error.detail == f"m went on for {LONGEST_REPLY:,} characters and was cut off."


async def test_a_line_that_never_ends_is_given_up() -> None:
    async def write(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"\r\ndata: ")
        for _ in range(100):
            writer.write(b"x" * MEGABYTE)
            await writer.drain()

    assert (await error_from(write)).detail == TOO_LARGE


# Too slow


async def test_a_head_that_drips_in_byte_by_byte_counts_as_silence(settings: Any) -> None:
    settings.MODEL_CONNECT_TIMEOUT, settings.MODEL_IDLE_TIMEOUT = 0.1, 0.3

    async def write(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        for _ in range(2_000):
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.01)

    began = time.monotonic()
    assert (await error_from(write)).kind == "silent"
    assert time.monotonic() - began < 15


RULES = [
    rule(silent("Half a sen"), user="stall"),
    rule(say("At once."), user="hello"),
]


def test_while_one_model_call_stalls_all_else_goes_on_and_a_stop_works(tmp_path: Any) -> None:
    with FakeModelServer({"rules": RULES}) as model:
        started = Started(
            tmp_path / "home",
            OPENAI_BASE_URL=model.url,
            OPENAI_API_KEY="k",
            PLANSIDE_MODEL="openai/m",
        )
        alice = Script(tmp_path / "home")
        stalled, other = (alice.talk(started, text) for text in ("stall", "hello"))
        alice.wait_until(started, other, lambda found: found["items"][-1]["text"] == "At once.")
        alice.wait_until(started, stalled, lambda found: found["items"][-1]["text"] == "Half a sen")
        assert httpx.get(f"{started.address}/readyz").status_code == 200

        began = time.monotonic()
        alice.post(started, stalled.replace("messages", "stop"), {})
        found = alice.wait_until(started, stalled, lambda f: not f["items"][-1]["streaming"])
        assert time.monotonic() - began < at_most(2)
        assert found["items"][-1]["text"] == "Half a sen"
        assert not model.answering, "the model's server was hung up on"
        assert started.end()[1] == 0


def test_how_long_a_model_may_be_silent_is_a_setting(tmp_path: Any) -> None:
    with FakeModelServer({"rules": RULES}) as model:
        started = Started(
            tmp_path / "home",
            OPENAI_BASE_URL=model.url,
            OPENAI_API_KEY="k",
            PLANSIDE_MODEL="openai/m",
            PLANSIDE_MODEL_IDLE_TIMEOUT="0.2",
            PLANSIDE_MODEL_RETRY_BASE="0.01",
        )
        alice = Script(tmp_path / "home")
        stalled = alice.talk(started, "stall")
        found = alice.wait_until(started, stalled, lambda f: f["items"][-1]["kind"] == "error")
        assert found["items"][-1]["text"] == "m sent nothing for 0.2 s."
        assert started.end()[1] == 0


def called(indexes: list[int]) -> bytes:
    """One piece of a reply, with a call at each of these indexes."""
    function = {"name": "read_file", "arguments": "{}"}
    calls = [{"index": i, "id": f"c{i}", "function": function} for i in indexes]
    document = {"choices": [{"index": 0, "delta": {"tool_calls": calls}}]}
    return b"data: " + json.dumps(document).encode()


TOO_MANY = {
    "one after another": [called([i]) for i in range(5_000)],
    "all at once": [called(list(range(5_000)))],
}


@pytest.mark.parametrize("how", TOO_MANY)
async def test_a_reply_with_thousands_of_calls_is_refused_whole(how: str) -> None:
    async def write(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"\r\n")
        for line in TOO_MANY[how]:
            writer.write(line + b"\n\n")
        writer.write(b"data: [DONE]\n\n")
        await writer.drain()

    error = await error_from(write)
    assert (error.kind, error.transient) == ("endless", False)
    assert error.detail == f"m asked for more than {MOST_CALLS} tool calls at once. None was made."


def test_a_reply_knows_its_length_without_counting_again() -> None:
    draft = ChatDraft()
    for number in range(MOST_CALLS):
        list(draft.add(json.loads(called([number]).removeprefix(b"data: "))))
    assert len(draft.calls) == MOST_CALLS
    assert not draft.has_too_many_calls
    ids = sum(len(f"c{number}") for number in range(MOST_CALLS))
    assert draft.length == MOST_CALLS * len("read_file{}") + ids


# Connections are kept where the server lets them


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


@asynccontextmanager
async def chunked_server(end: bytes) -> AsyncIterator[tuple[Endpoint, list[int]]]:
    """One that says [DONE] and then `end`, on however many connections there are: the number of
    requests of each."""
    connections: list[int] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        mine = len(connections)
        connections.append(0)
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                await reader.readexactly(int(head.split("content-length: ")[1].split()[0]))
                connections[mine] += 1
                kept = HEAD.replace(b"Connection: close\r\n", b"Transfer-Encoding: chunked\r\n")
                said = delta("Hello") + b"\n\ndata: [DONE]\n\n"
                writer.write(kept + b"\r\n" + chunk(said) + end)
                await writer.drain()
        writer.close()

    listening = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    async with listening:
        yield Endpoint("mine", f"http://127.0.0.1:{port}/v1"), connections


async def answers(endpoint: Endpoint) -> None:
    async for _ in stream(ModelRequest(endpoint, "m", [{"role": "user", "content": "x"}])):
        pass


async def test_one_reply_after_another_comes_by_the_same_connection() -> None:
    async with chunked_server(chunk(b"")) as (endpoint, connections):
        for _ in range(3):
            await answers(endpoint)
        assert connections == [3]
        await http.aclose_all()


async def test_a_body_that_does_not_end_behind_its_last_line_holds_nobody_up() -> None:
    async with chunked_server(b"") as (endpoint, connections):
        async with asyncio.timeout(30):
            for _ in range(2):
                await answers(endpoint)
        assert connections == [1, 1]
        await http.aclose_all()
