"""The demo model, scripted and offline: chat completions streamed at a human pace, no network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from itertools import chain
from typing import Any
from uuid import uuid4

import httpx
from django.conf import settings

from agents.demo.changes import Changes
from agents.demo.languages import pieces
from agents.demo.pages import Work
from agents.demo.script import SCRIPT, Request, first, fits, rendered

DEMO_HOST = "demo.planside.invalid"
DEMO_URL = f"http://{DEMO_HOST}/v1"
MODELS = {"object": "list", "data": [{"id": "docs", "object": "model", "owned_by": "planside"}]}

# Seconds at pace 1.
BEFORE_A_REPLY = 0.5
PER_WORD = 1 / 30
PER_CALL = 1 / 10


class DemoModel(httpx.AsyncBaseTransport):
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/models"):
            return httpx.Response(200, json=MODELS)
        if not request.url.path.endswith("/chat/completions"):
            return httpx.Response(404, json={"error": {"message": "The demo has no such page."}})
        reply = streamed(answer(json.loads(await request.aread())))
        return httpx.Response(200, headers={"Content-Type": "text/event-stream"}, content=reply)


def answer(body: dict[str, Any]) -> dict[str, Any]:
    """What the first rule that fits says: `content` and `tool_calls`."""
    request = Request(body)
    texts = list((request.subtask or {}).values())
    jobs = (first(SCRIPT["job"], {"says": text.says}) for text in texts)
    job: dict[str, Any] = next(filter(None, jobs), {})
    facts = {
        **vars(request),
        "goal": request.goal,
        "change": Changes(request.person, request.plan, request.language),
        "job": job,
        "missing": [name for name in job.get("needs", []) if name not in request.offered],
        "work": Work(request.calls, texts[0] if texts else request.person),
    }
    rules = (part["rule"] for part in SCRIPT["part"] if fits(part, facts))
    return dict(rendered(first(chain.from_iterable(rules), facts), facts))


async def streamed(reply: dict[str, Any]) -> AsyncIterator[bytes]:
    """The reply as a server would send it, piece by piece."""
    # Each pause, be it none, is an occasion to be cancelled.
    await asyncio.sleep(BEFORE_A_REPLY * settings.DEMO_PACE)
    for word in pieces(str(reply.get("content", ""))):
        yield event({"content": word})
        await asyncio.sleep(PER_WORD * settings.DEMO_PACE)
    for index, call in enumerate(reply.get("tool_calls", [])):
        arguments = json.dumps(call["arguments"], ensure_ascii=False)
        function = {"name": call["name"], "arguments": arguments}
        head = {"index": index, "id": f"call_{uuid4().hex[:12]}", "type": "function"}
        yield event({"tool_calls": [{**head, "function": function}]})
        await asyncio.sleep(PER_CALL * settings.DEMO_PACE)
    yield event({}, "tool_calls" if reply.get("tool_calls") else "stop")
    yield b"data: [DONE]\n\n"


def event(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk = {"object": "chat.completion.chunk", "model": "docs", "choices": [choice]}
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()
