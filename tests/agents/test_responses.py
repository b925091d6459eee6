"""OpenAI's Responses API, replayed over real HTTP in the shapes of its published events.

They are those of openai-python (src/openai/types/responses) and of the streaming, reasoning and
function calling guides at developers.openai.com/api/docs; the words of replies are ours.
"""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from agents import http
from agents.db import in_db
from plans import actions
from tests.agents.test_vendors import TOOLS, answered, hearing_the_end
from tests.fake_model import FakeModelServer
from tests.inner import (
    ChatMessage,
    Endpoint,
    ModelError,
    ModelRequest,
    ProviderEdit,
    ReasoningPart,
    Reply,
    RequestedCall,
    TextPart,
    add_provider,
    api_of,
    image_part,
    lessons_for,
    spent,
    stream,
)
from tests.world import conversation, drive, plan_of, states, tell

Json = dict[str, Any]
ASKED: list[ChatMessage] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What is here?"},
]
USAGE = {
    "input_tokens": 1200,
    "input_tokens_details": {"cached_tokens": 1024},
    "output_tokens": 80,
    "output_tokens_details": {"reasoning_tokens": 64},
    "total_tokens": 1280,
}
THOUGHT = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "I look."}],
    "encrypted_content": "gAAAAABo",
}


@pytest.fixture(autouse=True)
async def clean() -> AsyncIterator[None]:
    yield
    await http.aclose_all()


def streamed(*events: Json, **more: Any) -> Json:
    lines = [f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events]
    return {"raw": "".join(lines), **more}


def begun() -> Json:
    return {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}}


def item(place: int, whole: Json, *deltas: Json) -> list[Json]:
    head = {"type": "response.output_item.added", "output_index": place}
    empty = {"reasoning": {"summary": []}, "message": {"content": []}}.get(whole["type"])
    added = {**whole, **(empty or {"arguments": ""}), "status": "in_progress"}
    done = {"type": "response.output_item.done", "output_index": place, "item": whole}
    return [{**head, "item": added}, *({**each, "output_index": place} for each in deltas), done]


def text(place: int, *pieces: str) -> list[Json]:
    part = {"type": "output_text", "text": "".join(pieces), "annotations": []}
    whole = {"id": "msg_1", "type": "message", "role": "assistant", "content": [part]}
    return item(place, whole, *({"type": "response.output_text.delta", "delta": p} for p in pieces))


def thought(place: int) -> list[Json]:
    part = {"type": "response.reasoning_summary_part.added", "summary_index": 0}
    delta = {"type": "response.reasoning_summary_text.delta", "delta": "I look."}
    return item(place, THOUGHT, part, delta)


def made(place: int, call_id: str, name: str, **arguments: Any) -> list[Json]:
    written = json.dumps(arguments)
    whole = {"id": "fc_1", "type": "function_call", "call_id": call_id, "name": name}
    kind = "response.function_call_arguments.delta"
    deltas = [{"type": kind, "delta": piece} for piece in (written[:4], written[4:])]
    return item(place, {**whole, "arguments": written, "status": "completed"}, *deltas)


def ended(reason: str = "", usage: Json | None = None) -> Json:
    kind = "incomplete" if reason else "completed"
    details = {"reason": reason} if reason else None
    response = {"status": kind, "incomplete_details": details, "usage": usage or USAGE}
    return {"type": f"response.{kind}", "response": response}


HELLO = streamed(begun(), *text(0, "Good", " morning."), ended())
LOOKS = streamed(begun(), *thought(0), *made(1, "call_1", "list_files", path="notes"), ended())


def asking(server: FakeModelServer, **more: Any) -> ModelRequest:
    endpoint = Endpoint("mine", server.url, "sk-1", label="Mine", api="openai_responses")
    return ModelRequest(endpoint, "gpt-5.6", more.pop("messages", ASKED), **more)


async def parts_of(request: ModelRequest) -> list[Any]:
    known = await in_db(lessons_for, request.endpoint, request.model)
    return [part async for part in stream(replace(request, lessons=known))]


pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.sockets]


async def test_a_chat_is_answered_and_counted() -> None:
    with FakeModelServer([HELLO]) as server:
        parts = await parts_of(asking(server, extra={"max_tokens": 900}))
        (sent,) = server.requests
    assert parts[:2] == [TextPart("Good"), TextPart(" morning.")]
    reply = parts[-1]
    assert (reply.text, reply.finish_reason, reply.estimated) == ("Good morning.", "stop", False)
    assert (reply.tokens_in, reply.tokens_out, reply.cached_tokens) == (1200, 80, 1024)
    assert not reply.wanted_back
    assert sent["input"] == ASKED and sent["store"] is False
    assert sent["max_output_tokens"] == 900 and "max_tokens" not in sent


async def test_what_it_thought_and_called_goes_back_as_it_came_and_to_it_alone() -> None:
    with FakeModelServer([LOOKS, HELLO, HELLO]) as server:
        request = asking(server, tools=TOOLS)
        *parts, reply = await parts_of(request)
        assert parts == [ReasoningPart("I look.")]
        assert reply.calls == [RequestedCall("call_1", "list_files", {"path": "notes"})]
        assert reply.finish_reason == "tool_calls"
        messages = answered(request, reply)
        await parts_of(asking(server, messages=messages, tools=TOOLS))
        await parts_of(replace(asking(server, messages=messages), model="another"))
        first, second, of_another = server.requests
    (tool,) = first["tools"]
    assert (tool["type"], tool["name"], tool["strict"]) == ("function", "list_files", False)
    back, called, result = second["input"][2:]
    assert back == THOUGHT
    assert (called["call_id"], called["arguments"]) == ("call_1", '{"path": "notes"}')
    assert result == {"type": "function_call_output", "call_id": "call_1", "output": "a.md"}
    assert "gAAAAABo" not in str(of_another)
    assert [each.get("type") for each in of_another["input"][2:]] == [
        "function_call",
        "function_call_output",
    ]


async def test_ids_of_other_models_are_cut_alike_for_call_and_result() -> None:
    call = {"id": "c" * 300, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        *ASKED,
        {"role": "assistant", "content": "I look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c" * 300, "content": [image_part("image/png", b"x")]},
    ]
    with FakeModelServer([HELLO]) as server:
        await parts_of(asking(server, messages=messages))
        said, called, result = server.requests[0]["input"][2:]
    assert said == {"role": "assistant", "content": "I look."}
    assert called["call_id"] == result["call_id"] and len(called["call_id"]) <= 64
    assert result["output"] == [{"type": "input_image", "image_url": "data:image/png;base64,eA=="}]


async def test_a_server_that_ignores_stream_is_understood() -> None:
    part = {"type": "output_text", "text": "Yes."}
    output = [THOUGHT, {"type": "message", "role": "assistant", "content": [part]}]
    whole = {"object": "response", "status": "completed", "output": output, "usage": USAGE}
    with FakeModelServer([{"raw": json.dumps(whole)}]) as server:
        reply = (await parts_of(asking(server)))[-1]
    assert (reply.text, reply.reasoning, reply.tokens_in) == ("Yes.", "I look.", 1200)


async def test_a_stopped_reply_closes_the_connection_and_has_used_tokens() -> None:
    gone = threading.Event()
    with hearing_the_end(gone) as server:
        server.script.replies = [streamed(begun(), *text(0, "Good ")[:2], hang="forever")]
        request = asking(server)
        draft = api_of(request.endpoint).draft()
        async with aclosing(stream(request, draft)) as parts:
            await anext(parts)
        assert gone.wait(30), "the model is still at work"
    reply = spent(request, draft)
    assert reply and reply.estimated and reply.tokens_in > 5 and reply.tokens_out > 0


# What goes wrong


def error(status: int, message: str, **more: Any) -> Json:
    return {"status": status, "body": {"error": {"message": message, **more}}}


LIMITED = {"code": "rate_limit_exceeded", "message": "Rate limit reached. Try again in 20s."}
WRONG = [
    (
        error(429, "Rate limit reached. Please try again in 20s.", code="rate_limit_exceeded"),
        "busy",
    ),
    (error(500, "The server had an error while processing your request."), "server"),
    (error(401, "Incorrect API key provided: sk-1.", code="invalid_api_key"), "key"),
    (
        error(
            400,
            "Your input exceeds the context window of this model.",
            code="context_length_exceeded",
        ),
        "too_long",
    ),
    (streamed(begun(), {"type": "error", **LIMITED, "param": None}), "busy"),
    (streamed(begun(), {"type": "response.failed", "response": {"error": LIMITED}}), "busy"),
    (
        streamed(
            begun(),
            {
                "type": "response.failed",
                "response": {"error": {"code": "server_error", "message": "It broke."}},
            },
        ),
        "server",
    ),
    (streamed(begun(), *text(0, "Good ")[:2]), "cut"),
    (streamed(begun(), ended("max_output_tokens")), "too_long"),
]


@pytest.mark.parametrize(("reply", "kind"), WRONG)
async def test_an_error_is_what_it_is(reply: Json, kind: str) -> None:
    with FakeModelServer([reply] * 3) as server, pytest.raises(ModelError) as caught:
        await parts_of(asking(server))
    assert caught.value.kind == kind, caught.value
    assert "sk-1" not in str(caught.value)


async def test_a_reply_that_reached_its_limit_says_so() -> None:
    with FakeModelServer([streamed(begun(), *text(0, "Go"), ended("max_output_tokens"))]) as server:
        reply = (await parts_of(asking(server)))[-1]
    assert (reply.text, reply.finish_reason) == ("Go", "length")


PARAMETERS = [
    (
        "Your organization must be verified to generate reasoning summaries.",
        {"param": "reasoning.summary", "code": "unsupported_value"},
        "reasoning",
    ),
    ("Encrypted content is not supported with this model.", {"param": "include"}, "include"),
]


@pytest.mark.parametrize(("words", "more", "name"), PARAMETERS)
async def test_a_refused_parameter_is_left_out_from_then_on(
    words: str, more: Json, name: str
) -> None:
    with FakeModelServer([error(400, words, **more), HELLO, HELLO]) as server:
        for _ in range(2):
            await parts_of(asking(server))
        assert [name in sent for sent in server.requests] == [True, False, False]


async def test_reasoning_that_another_account_encrypted_is_left_out_once() -> None:
    words = "The encrypted content gAAA... could not be verified."
    with FakeModelServer([LOOKS, error(400, words), HELLO]) as server:
        request = asking(server, tools=TOOLS)
        reply: Reply = (await parts_of(request))[-1]
        await parts_of(asking(server, messages=answered(request, reply), tools=TOOLS))
        kinds = [[each.get("type") for each in sent["input"]] for sent in server.requests[1:]]
    assert "reasoning" in kinds[0] and "reasoning" not in kinds[1]
    assert "function_call" in kinds[1]


def test_a_plan_with_tools_is_carried_out_while_the_model_thinks() -> None:
    def calling(number: int, tool: str, **arguments: Any) -> Json:
        return streamed(
            begun(), *thought(0), *made(1, f"call_{number}", tool, **arguments), ended()
        )

    script = [
        calling(1, "create_plan", title="Look", subtasks=["Read", "Sort"]),
        HELLO,
        calling(2, "list_files"),
        calling(3, "finish_subtask", outcome="Two files."),
        calling(4, "finish_subtask", outcome="Sorted."),
        calling(5, "finish_plan", outcome="All sorted."),
    ]
    with FakeModelServer(script) as server:
        edit = ProviderEdit(base_url=server.url, key="k", api="openai_responses")
        add_provider("mine", edit, "alice")
        c = conversation(provider="mine", model="gpt-5.6")
        tell(c, "/plan Look at the files")
        actions.approve_plan(plan_of(c), 1, "alice")
        drive()
        sent = server.requests
    assert states(c) == ["done", "done"]
    assert plan_of(c).outcome == "All sorted."
    assert THOUGHT in sent[3]["input"], "what it thought is given back within a subtask"
