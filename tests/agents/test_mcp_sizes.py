"""Answers of MCP servers that would hold up everybody else while they are parsed."""

import asyncio
import gzip
import json
import sys
from contextlib import closing, suppress

import pytest

pytest.importorskip("mcp", reason="the package mcp is not installed")

from agents.errors import Invalid
from tests.inner import RemoteTool, Server, ToolFailed, aclose_all, list_tools, mcp

BEGIN = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "x"}}
BEGIN["serverInfo"]["version"] = "1"
MANY = "more than 20,000 JSON values in one message."
MUCH = "more than 2 MB in one message."


def texts(count, text="x"):
    return {"content": [{"type": "text", "text": text}] * count}


def as_json(answer):
    return "application/json", json.dumps(answer).encode()


def as_events(answer):
    progress = b'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/message"}\n\n'
    data = json.dumps(answer).encode()
    return "text/event-stream", progress * 3 + b"event: message\r\ndata: " + data + b"\r\n\r\n"


@pytest.fixture
async def serving():
    """An MCP server over HTTP that gives these results, one for each method."""
    opened = []

    async def serve(form=as_json, packed=False, **results):
        async def answer(reader, writer):
            with closing(writer), suppress(OSError, EOFError):
                while head := await reader.readuntil(b"\r\n\r\n"):
                    length = head.lower().partition(b"content-length:")[2].split(b"\r\n")[0] or b"0"
                    asked = json.loads(await reader.readexactly(int(length)) or b"{}")
                    writer.write(response(asked))
                    await writer.drain()

        def response(asked):
            if "id" not in asked:
                return b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
            method = asked["method"].replace("/", "_")
            given = {"initialize": BEGIN, "tools_list": {"tools": []}} | results
            answer = {"jsonrpc": "2.0", "id": asked["id"]}
            missing = {"error": {"code": -32601, "message": "There is no such method."}}
            answer |= {"result": given[method]} if method in given else missing
            kind, body = form(answer)
            body = gzip.compress(body) if packed else body
            head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
            return (head + "Content-Encoding: gzip\r\n" * packed + "\r\n").encode() + body

        opened.append(await asyncio.start_server(answer, "127.0.0.1", 0))
        port = opened[-1].sockets[0].getsockname()[1]
        return Server("big", url=f"http://127.0.0.1:{port}/mcp", seconds=20)

    yield serve
    await aclose_all()
    for server in opened:
        server.close()
        await server.wait_closed()
    await asyncio.sleep(0.05)


RESULTS = {
    "many texts": (texts(20_000), MANY),
    "many blocks of an unknown type": ({"content": [{"type": "?"}] * 20_000}, MANY),
    "many values of structured content": (
        texts(1) | {"structuredContent": {"a": [1] * 20_000}},
        MANY,
    ),
    "one long text": (texts(1, "x" * 2_100_000), MUCH),
    "many long texts": (texts(3_000, "x" * 1000), MUCH),
}


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
@pytest.mark.parametrize("form", [as_json, as_events])
@pytest.mark.parametrize(("result", "told"), RESULTS.values(), ids=RESULTS.keys())
async def test_a_result_that_is_too_large_is_refused_and_the_next_one_is_taken(
    serving, form, packed, result, told
):
    server = await serving(form, packed, tools_call=(given := dict(result)))
    with pytest.raises(ToolFailed) as failure:
        await mcp.call_tool(server, RemoteTool("dump"), {})
    assert str(failure.value) == f"dump of big failed: it sent {told}"
    given.clear()
    given.update(texts(1, "short"))
    assert (await mcp.call_tool(server, RemoteTool("dump"), {})).text == "short"


@pytest.mark.parametrize("form", [as_json, as_events])
@pytest.mark.parametrize("method", ["initialize", "tools_list"])
async def test_a_server_whose_first_answers_are_too_large_is_refused(serving, form, method):
    server = await serving(form, **{method: BEGIN | {"a": [1] * 20_000}})
    with pytest.raises(Invalid) as refusal:
        await list_tools(server)
    assert str(refusal.value) == f"The MCP server big could not be asked: it sent {MANY}"


@pytest.mark.parametrize("form", [as_json, as_events])
async def test_a_long_text_is_taken_whatever_is_in_it(serving, form):
    rows = '"a","b\\",[{c}]\n\n' * 60_000
    server = await serving(form, tools_call=texts(1, rows))
    told = (await mcp.call_tool(server, RemoteTool("dump"), {})).text
    assert told.startswith(rows[:1000]) and f"[cut: {len(rows):,} characters" in told


@pytest.mark.parametrize("form", [as_json, as_events])
async def test_what_is_packed_all_the_same_is_understood(serving, form):
    server = await serving(form, packed=True, tools_call=texts(3))
    assert (await mcp.call_tool(server, RemoteTool("dump"), {})).text == "x\nx\nx"


async def test_many_values_in_a_line_end_a_server_that_is_a_process():
    line = "import json; print(json.dumps({'jsonrpc': '2.0', 'id': 0, 'result': [1] * 20_000}))"
    server = Server("big", command=f'{sys.executable} -c "{line}"', seconds=20)
    with pytest.raises(Invalid) as refusal:
        await list_tools(server)
    assert str(refusal.value) == f"The MCP server big could not be asked: it sent {MANY}"
