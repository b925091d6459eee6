"""The script that both fakes of a model play; its form is told in fake_model.py."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import count
from typing import Any

Reply = dict[str, Any]
Request = dict[str, Any]


def say(text: str, **more: Any) -> Reply:
    return {"text": text, **more}


def think(reasoning: str, text: str = "", **more: Any) -> Reply:
    return {"reasoning": reasoning, "text": text, **more}


def call(tool: str, /, **arguments: Any) -> Reply:
    return {"calls": [[tool, arguments]]}


def calls(*each: Reply, text: str = "", **more: Any) -> Reply:
    """Several calls in one reply: calls(call("read_file", path="a"), call("list_files"))."""
    return {"text": text, "calls": [one for reply in each for one in reply["calls"]], **more}


def fails(status: int, message: str = "", retry_after: float | None = None, **more: Any) -> Reply:
    headers = {} if retry_after is None else {"Retry-After": f"{retry_after:g}"}
    body = {"error": {"message": message or f"The script fails with {status}."}}
    return {"status": status, "headers": headers, "body": body, **more}


def cut(text: str, **more: Any) -> Reply:
    return {"text": text, "cut": True, **more}


def silent(text: str = "", until: Any = "forever", **more: Any) -> Reply:
    """Says the text and then nothing more, for ever or until the event is set."""
    return {"text": text, "hang" if text else "wait": until, **more}


def rule(reply: Reply | list[Reply], times: int | None = None, **when: Any) -> dict[str, Any]:
    return {"when": when, "reply": reply, "times": times}


class Script:
    """Which reply comes next, and what was asked so far."""

    def __init__(self, script: Any = ()) -> None:
        self.requests: list[Request] = []
        self.numbers = count(1)
        self.waits: list[Any] = []  # for what or how long answers wait now
        self.load(script)

    def load(self, script: Any) -> None:
        self.answer: Callable[[Request], Reply] | None = script if callable(script) else None
        listed = script if isinstance(script, dict) else {"replies": script}
        self.replies = [] if self.answer else list(listed.get("replies", []))
        self.rules = listed.get("rules", [])
        self.used = [0] * len(self.rules)
        self.delay = listed.get("delay", 0)
        self.chunk = listed.get("chunk", 16)

    def next(self, request: Request) -> Reply:
        self.requests.append(request)
        reply = self.answer(request) if self.answer else self.ruled(request)
        if reply is None:
            reply = self.replies.pop(0) if self.replies else say("(end of script)")
        return {"delay": self.delay, "chunk": self.chunk, **reply}

    def ruled(self, request: Request) -> Reply | None:
        for number, one in enumerate(self.rules):
            used, times = self.used[number], one.get("times")
            if (times is None or used < times) and holds(one.get("when", {}), request):
                self.used[number] += 1
                reply = one["reply"]
                return reply[min(used, len(reply) - 1)] if isinstance(reply, list) else reply
        return None

    def call_id(self) -> str:
        return f"call_{next(self.numbers)}"

    async def pause(self, how_long: Any) -> None:
        self.waits.append(how_long)
        try:
            await pause(how_long)
        finally:
            self.waits.remove(how_long)

    @property
    def silent(self) -> int:
        """How many answers do not go on by themselves."""
        return sum(is_silence(each) for each in self.waits)


def holds(when: dict[str, Any], request: Request) -> bool:
    messages = request.get("messages") or [{}]
    tools = {tool["function"]["name"] for tool in request.get("tools") or []}
    tests = {
        "offered": lambda names: tools >= set([names] if isinstance(names, str) else names),
        "only": lambda names: tools == set([names] if isinstance(names, str) else names),
        "last": lambda pattern: found(pattern, messages[-1].get("content")),
        "role": lambda role: messages[-1].get("role") == role,
        "user": lambda pattern: found(pattern, text_of_last(messages, "user")),
        "system": lambda pattern: found(pattern, texts_of(messages, "system")),
        "after": lambda tool: last_called(messages) == tool,
        "results": lambda number: results(messages) == number,
    }
    return all(tests[name](value) for name, value in when.items())


def found(pattern: str, text: Any) -> bool:
    return bool(re.search(pattern, str(text or ""), re.IGNORECASE))


def text_of_last(messages: list[Any], role: str) -> str:
    texts = [message.get("content") for message in messages if message.get("role") == role]
    return str(texts[-1] or "") if texts else ""


def texts_of(messages: list[Any], role: str) -> str:
    return "\n\n".join(str(each["content"]) for each in messages if each.get("role") == role)


def last_called(messages: list[Any]) -> str:
    names = [
        one["function"]["name"] for message in messages for one in message.get("tool_calls") or []
    ]
    return names[-1] if names else ""


def results(messages: list[Any]) -> int:
    roles = [message.get("role") for message in messages]
    last_user = max((n for n, role in enumerate(roles) if role == "user"), default=-1)
    return roles[last_user:].count("tool")


def documents(reply: Reply, request: Request, script: Script) -> Iterator[dict[str, Any]]:
    """The chunks of a reply up to its finish, as a well-behaved server would stream them."""
    size = reply["chunk"]
    yield chunk({"role": "assistant"})
    for key, field in (("reasoning", "reasoning_content"), ("text", "content")):
        text = reply.get(key) or ""
        for start in range(0, len(text), size):
            yield chunk({field: text[start : start + size]})
    for index, (tool, arguments) in enumerate(reply.get("calls") or []):
        function = {"name": tool, "arguments": ""}
        head = {"index": index, "id": script.call_id(), "type": "function", "function": function}
        yield chunk({"tool_calls": [head]})
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        for start in range(0, len(text), size):
            piece = {"index": index, "function": {"arguments": text[start : start + size]}}
            yield chunk({"tool_calls": [piece]})


CHUNK = {"id": "fake", "object": "chat.completion.chunk", "created": 0, "model": "scripted"}


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {**CHUNK, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def finish_of(reply: Reply) -> str:
    return reply.get("finish") or ("tool_calls" if reply.get("calls") else "stop")


def usage_of(reply: Reply) -> dict[str, int]:
    tokens_in, tokens_out = reply["usage"]
    total = tokens_in + tokens_out
    return {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": total}


def whole(reply: Reply, script: Script) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.get("text") or None}
    if reply.get("calls"):
        message["tool_calls"] = [
            {
                "id": script.call_id(),
                "type": "function",
                "function": {"name": tool, "arguments": json.dumps(arguments)},
            }
            for tool, arguments in reply["calls"]
        ]
    choice = {"index": 0, "message": message, "finish_reason": finish_of(reply)}
    usage = {"usage": usage_of(reply)} if reply.get("usage") else {}
    return {"object": "chat.completion", "choices": [choice], **usage}


def sse(document: Any) -> bytes:
    text = document if isinstance(document, str) else json.dumps(document, ensure_ascii=False)
    return f"data: {text}\n\n".encode()


class Broken(Exception):
    """The script breaks the connection here."""


async def body_of(reply: Reply, request: Request, script: Script) -> AsyncIterator[bytes]:
    """The bytes of an answer, at its pace."""
    if reply.get("plain"):
        yield json.dumps(whole(reply, script)).encode()
    elif "raw" in reply:
        yield reply["raw"].encode()
        await script.pause(reply.get("hang"))
    elif "status" in reply:
        body = reply.get("body", "")
        yield (body if isinstance(body, str) else json.dumps(body)).encode()
    else:
        async for part in streamed(reply, request, script):
            yield part


async def streamed(reply: Reply, request: Request, script: Script) -> AsyncIterator[bytes]:
    for document in documents(reply, request, script):
        yield sse(document)
        # Even without a delay every chunk is an occasion to be cancelled.
        await asyncio.sleep(reply["delay"])
    await script.pause(reply.get("hang"))
    if "then" in reply:
        pace = {"delay": reply["delay"], "chunk": reply["chunk"]}
        async for part in streamed(pace | reply["then"], request, script):
            yield part
        return
    if reply.get("cut") == "hard":
        raise Broken
    if reply.get("error"):
        yield sse({"error": reply["error"]})
    elif not reply.get("cut"):
        yield sse(chunk({}, finish_of(reply)))
        if reply.get("usage"):
            yield sse({**CHUNK, "choices": [], "usage": usage_of(reply)})
        yield sse("[DONE]")


def is_silence(wait: Any) -> bool:
    is_event = isinstance(wait, asyncio.Event | threading.Event)
    return wait == "forever" or (is_event and not wait.is_set())


async def pause(how_long: Any) -> None:
    if how_long == "forever":
        await asyncio.Event().wait()
    elif isinstance(how_long, asyncio.Event):
        await how_long.wait()
    elif callable(how_long):
        await how_long()
    elif isinstance(how_long, threading.Event):
        while not how_long.is_set():
            await asyncio.sleep(0.02)
    elif how_long:
        await asyncio.sleep(how_long)


def head_of(reply: Reply) -> tuple[int, dict[str, str]]:
    status = reply.get("status", 200)
    streams = status == 200 and not reply.get("plain") and "raw" not in reply
    kind = "text/event-stream" if streams else "application/json"
    return status, {"Content-Type": kind, **reply.get("headers", {})}


MODELS = {
    "object": "list",
    "data": [{"id": "fake-model"}, {"id": "another-model"}, {"id": "scripted"}],
}
