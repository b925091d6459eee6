"""Answers of MCP servers that would hold up everybody else while they are parsed."""

import gzip
import json

import pytest

pytest.importorskip("mcp", reason="the package mcp is not installed")

from agents.errors import Invalid
from tests.agents.programs import prints
from tests.agents.web import says
from tests.inner import RemoteTool, Server, ToolFailed, aclose_all, list_tools, mcp

pytestmark = pytest.mark.usefixtures("no_waiting")

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
async def serving(web):
    """An MCP server over HTTP that gives these results, one for each method."""

    def serve(form=as_json, packed=False, **results):
        async def answer(request):
            asked = json.loads(await request.aread() or b"{}")
            if "id" not in asked:
                return says(202)
            method = asked["method"].replace("/", "_")
            given = {"initialize": BEGIN, "tools_list": {"tools": []}} | results
            found = {"jsonrpc": "2.0", "id": asked["id"]}
            missing = {"error": {"code": -32601, "message": "There is no such method."}}
            found |= {"result": given[method]} if method in given else missing
            kind, body = form(found)
            if packed:
                return says(200, gzip.compress(body), content_type=kind, content_encoding="gzip")
            return says(200, body, content_type=kind)

        return Server("big", url=f"{web.add(4711, answer)}/mcp", seconds=20)

    yield serve
    await aclose_all()


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
    server = serving(form, packed, tools_call=(given := dict(result)))
    with pytest.raises(ToolFailed) as failure:
        await mcp.call_tool(server, RemoteTool("dump"), {})
    assert str(failure.value) == f"dump of big failed: it sent {told}"
    given.clear()
    given.update(texts(1, "short"))
    assert (await mcp.call_tool(server, RemoteTool("dump"), {})).text == "short"


@pytest.mark.parametrize("form", [as_json, as_events])
@pytest.mark.parametrize("method", ["initialize", "tools_list"])
async def test_a_server_whose_first_answers_are_too_large_is_refused(serving, form, method):
    server = serving(form, **{method: BEGIN | {"a": [1] * 20_000}})
    with pytest.raises(Invalid) as refusal:
        await list_tools(server)
    assert str(refusal.value) == f"The MCP server big could not be asked: it sent {MANY}"


@pytest.mark.parametrize("form", [as_json, as_events])
async def test_a_long_text_is_taken_whatever_is_in_it(serving, form):
    rows = '"a","b\\",[{c}]\n\n' * 60_000
    server = serving(form, tools_call=texts(1, rows))
    told = (await mcp.call_tool(server, RemoteTool("dump"), {})).text
    assert told.startswith(rows[:1000]) and f"[cut: {len(rows):,} characters" in told


@pytest.mark.parametrize("form", [as_json, as_events])
async def test_what_is_packed_all_the_same_is_understood(serving, form):
    server = serving(form, packed=True, tools_call=texts(3))
    assert (await mcp.call_tool(server, RemoteTool("dump"), {})).text == "x\nx\nx"


async def test_many_values_in_a_line_end_a_server_that_is_a_process(programs):
    line = json.dumps({"jsonrpc": "2.0", "id": 0, "result": [1] * 20_000}) + "\n"
    server = Server("big", command=programs.add("big", prints(line)), seconds=20)
    with pytest.raises(Invalid) as refusal:
        await list_tools(server)
    assert str(refusal.value) == f"The MCP server big could not be asked: it sent {MANY}"
