"""The demo as a server without a network: chat completions, streamed at a human pace."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from uuid import uuid4

import httpx
from django.conf import settings

from agents.demo.heard import Answer, Call, Json, as_json, mapping
from agents.demo.script import answer

DEMO_HOST = "demo.planside.invalid"
DEMO_URL = f"http://{DEMO_HOST}/v1"
MODELS = {"object": "list", "data": [{"id": "docs", "object": "model", "owned_by": "planside"}]}

# Seconds at pace 1.
BEFORE_A_REPLY = 0.5
PER_WORD = 1 / 30
PER_PIECE_OF_ARGUMENTS = 1 / 60
PIECE = 24  # characters


class DemoModel(httpx.AsyncBaseTransport):
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/models"):
            return httpx.Response(200, json=MODELS)
        if not request.url.path.endswith("/chat/completions"):
            return httpx.Response(404, json={"error": {"message": "The demo has no such page."}})
        asked = mapping(as_json((await request.aread()).decode()))
        headers = {"Content-Type": "text/event-stream"}
        return httpx.Response(200, headers=headers, stream=Speech(answer(asked)))


class Speech(httpx.AsyncByteStream):
    """An answer as a server would send it, piece by piece."""

    def __init__(self, spoken: Answer) -> None:
        self.spoken = spoken

    async def __aiter__(self) -> AsyncIterator[bytes]:
        await pause(BEFORE_A_REPLY)
        for delta, seconds in pieces(self.spoken):
            yield event(chunk(delta))
            await pause(seconds)
        yield event(chunk({}, "tool_calls" if self.spoken.calls else "stop"))
        yield b"data: [DONE]\n\n"


async def pause(seconds: float) -> None:
    """Never quite none: each piece is an occasion to be cancelled."""
    await asyncio.sleep(seconds * settings.DEMO_PACE)


def pieces(spoken: Answer) -> Iterator[tuple[Json, float]]:
    """What each chunk adds, and how long it takes to say it."""
    for word in re.findall(r"\s*\S+\s*", spoken.text):
        yield {"content": word}, PER_WORD
    for index, call in enumerate(spoken.calls):
        yield {"tool_calls": [head_of(call, index)]}, PER_PIECE_OF_ARGUMENTS
        arguments = json.dumps(call.arguments, ensure_ascii=False)
        for start in range(0, len(arguments), PIECE):
            function = {"arguments": arguments[start : start + PIECE]}
            yield {"tool_calls": [{"index": index, "function": function}]}, PER_PIECE_OF_ARGUMENTS


def head_of(call: Call, index: int) -> Json:
    function = {"name": call.tool, "arguments": ""}
    return {
        "index": index,
        "id": f"call_{uuid4().hex[:12]}",
        "type": "function",
        "function": function,
    }


def chunk(delta: Json, finish: str | None = None) -> Json:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"object": "chat.completion.chunk", "model": "docs", "choices": [choice]}


def event(document: Json) -> bytes:
    return f"data: {json.dumps(document, ensure_ascii=False)}\n\n".encode()
