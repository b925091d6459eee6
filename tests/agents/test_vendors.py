"""What each vendor's server says, replayed over real HTTP: a table of vendor × case.

tests/agents/vendors has the answers, each with its source. Their shapes are those of the source,
the words of replies are ours. In a stream a text is a line as it is, an object one of its documents;
`$ID`, `$NAME` and `$ARGS…` stand for a tool call.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents import http
from agents.db import in_db
from tests.fake_model import FakeModelServer
from tests.inner import (
    Endpoint,
    ModelError,
    ModelRequest,
    Reply,
    RequestedCall,
    lessons_for,
    stream,
)

pytestmark = pytest.mark.sockets

FILES = sorted((Path(__file__).parent / "vendors").glob("*.json"))
VENDORS = {path.stem: json.loads(path.read_text()) for path in FILES}
ALL = pytest.mark.parametrize("name", VENDORS)
LEARNS = pytest.mark.django_db(transaction=True)  # what a server refuses is kept
CASES = ("busy", "no credit", "broken", "bad key", "too long", "other")
TOOLS: list[dict[str, object]] = [
    {
        "type": "function",
        "function": {
            "name": "list_files",
            "description": "Lists files.",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
        },
    }
]
ASKED = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What is here?"},
]
Json = dict[str, Any]


@pytest.fixture(autouse=True)
async def clean() -> AsyncIterator[None]:
    yield
    await http.aclose_all()


def streamed(vendor: Json, events: list[Any], **more: Any) -> Json:
    """The answer as the fake server plays it."""
    lines: list[str] = []
    for event in events:
        if isinstance(event, str):
            lines.append(event)
            continue
        named = f"event: {event['type']}\n" if vendor.get("api") == "anthropic_messages" else ""
        lines.append(f"{named}data: {json.dumps(event)}")
    return {"raw": "\n".join(f"{line}\n" for line in lines) + "\n", **more}


def filled(value: Any, call_id: str, tool: str, arguments: Json) -> Any:
    written = json.dumps(arguments)
    words = {
        "$ID": call_id,
        "$NAME": tool,
        "$ARGS": written,
        "$ARGS_BEGIN": written[:5],
        "$ARGS_END": written[5:],
        "$ARGS_OBJECT": arguments,
    }
    if isinstance(value, dict):
        return {key: filled(each, call_id, tool, arguments) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(each, call_id, tool, arguments) for each in value]
    return words.get(value, value) if isinstance(value, str) else value


def refusal(case: Json) -> Json:
    body = case["body"]
    return {"status": case["status"], "headers": case.get("headers", {}), "body": json.dumps(body)}


def endpoint_of(name: str, server: FakeModelServer) -> Endpoint:
    vendor = VENDORS[name]
    api = vendor.get("api", "chat_completions")
    key = vendor.get("key", "sk-alice-0123456789")
    return Endpoint(name, server.url, key, label=vendor["label"], api=api)


def asking(name: str, server: FakeModelServer, **more: Any) -> ModelRequest:
    messages = more.pop("messages", ASKED)
    return ModelRequest(endpoint_of(name, server), VENDORS[name]["model"], messages, **more)


async def next_reply_to(request: ModelRequest) -> Reply:
    """With what was learnt of the model before, as the engine asks."""
    known = await in_db(lessons_for, request.endpoint, request.model)
    return await reply_to(replace(request, lessons=known))


async def reply_to(request: ModelRequest) -> Reply:
    reply = [part async for part in stream(request)][-1]
    assert isinstance(reply, Reply)
    return reply


async def error_for(request: ModelRequest) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await reply_to(request)
    return caught.value


def answered(request: ModelRequest, reply: Reply) -> list[dict[str, object]]:
    """The messages of the next request, as the engine makes them of the rows."""
    made = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
        }
        for call in reply.calls
    ]
    origin = {"provider": request.endpoint.provider, "model": request.model}
    said: dict[str, object] = {"role": "assistant", "content": reply.text or None}
    said["wanted_back"] = {**origin, **reply.wanted_back}
    if made:
        said["tool_calls"] = made
    results = [{"role": "tool", "tool_call_id": call.id, "content": "a.md"} for call in reply.calls]
    return [*request.messages, said, *(results or [{"role": "user", "content": "And then?"}])]


def said_in(sent: Json) -> Json:
    """What the model said, as it was sent back."""
    return next(message for message in sent["messages"] if message["role"] == "assistant")


def is_anthropic(name: str) -> bool:
    return VENDORS[name].get("api") == "anthropic_messages"


# What is said


@ALL
async def test_a_chat_is_answered_and_counted(name: str) -> None:
    case = VENDORS[name]["chat"]
    with FakeModelServer([streamed(VENDORS[name], case["stream"])]) as server:
        reply = await reply_to(asking(name, server))
    assert (reply.text, reply.finish_reason) == (case["text"], "stop")
    assert [reply.tokens_in, reply.tokens_out] == case["tokens"] and not reply.estimated
    assert reply.cached_tokens == case.get("cached", 0)
    assert reply.stored_tokens == case.get("stored", 0)
    assert reply.cost == case.get("cost")
    assert not reply.wanted_back


@ALL
async def test_thinking_is_apart_and_given_back_as_it_came(name: str) -> None:
    vendor, case = VENDORS[name], VENDORS[name]["reasoning"]
    chat = streamed(vendor, vendor["chat"]["stream"])
    with FakeModelServer([streamed(vendor, case["stream"]), chat, chat]) as server:
        request = asking(name, server)
        reply = await reply_to(request)
        assert (reply.text, reply.reasoning) == (case["text"], case["reasoning"])
        messages = answered(request, reply)
        await reply_to(asking(name, server, messages=messages))
        said = said_in(server.requests[1])
        if is_anthropic(name):
            assert said["content"][0]["thinking"] == case["reasoning"]
            assert said["content"][0]["signature"] == "c2lnbmF0dXJl"
        else:
            extra = {key: said[key] for key in said if key not in ("role", "content")}
            assert extra == case.get("back", {})
        other = ModelRequest(endpoint_of(name, server), "another", messages)
        await reply_to(other)
        assert "c2lnbmF0dXJl" not in str(server.requests[2]) and "Let me" not in str(
            server.requests[2]
        )


async def test_thinking_that_gemini_counts_in_the_total_alone_is_output() -> None:
    """ai.google.dev/gemini-api/docs/thinking: it is billed so."""
    usage = {"prompt_tokens": 21, "completion_tokens": 8, "total_tokens": 89}
    vendor = VENDORS["gemini"]
    *begun, done = vendor["chat"]["stream"]
    events = [{**each, "usage": usage} if isinstance(each, dict) else each for each in begun]
    with FakeModelServer([streamed(vendor, [*events, done])]) as server:
        reply = await reply_to(asking("gemini", server))
    assert (reply.tokens_in, reply.tokens_out) == (21, 68)


# Tools


@ALL
async def test_a_call_goes_back_with_all_that_came_with_it(name: str) -> None:
    vendor = VENDORS[name]
    case, call_id = vendor["call"], vendor.get("ids", f"call_{'x' * 300}")
    if is_anthropic(name):
        call_id = "toolu_01NRLabsLyVHZPKxbKvkfSMn"
    arguments = {"path": "notes"}
    events = filled(case["stream"], call_id, "list_files", arguments)
    chat = streamed(vendor, vendor["chat"]["stream"])
    with FakeModelServer([streamed(vendor, events), chat]) as server:
        request = asking(name, server, tools=TOOLS)
        reply = await reply_to(request)
        assert reply.calls == [RequestedCall(call_id, "list_files", arguments)]
        assert reply.finish_reason == "tool_calls"
        await reply_to(asking(name, server, messages=answered(request, reply), tools=TOOLS))
        said, result = server.requests[1]["messages"][-2:]
    back = filled(case.get("back", {}), call_id, "list_files", arguments)
    if is_anthropic(name):
        assert said["content"] == back["content"]
        (block,) = result["content"]
        assert (block["type"], block["tool_use_id"]) == ("tool_result", call_id)
        return
    (made,) = said["tool_calls"]
    extra = {key: made[key] for key in made if key not in ("id", "type", "function")}
    assert extra == case.get("call_back", {})
    assert made["id"] == result["tool_call_id"] == call_id, "ids are given back whole"
    extra = {key: said[key] for key in said if key not in ("role", "content", "tool_calls")}
    assert extra == back


@ALL
async def test_what_another_model_said_goes_without_what_came_with_it(name: str) -> None:
    """And with ids that this one takes: the strictest wants nine letters or digits."""
    call = {"name": "list_files", "arguments": "{}"}
    made = [{"id": f"call_{'x' * 300}__thought__Et0B", "type": "function", "function": call}]
    back = {
        "provider": "elsewhere",
        "model": VENDORS[name]["model"],
        "message": {"reasoning_content": "SECRET", "content": [{"type": "thinking"}]},
        "calls": {made[0]["id"]: {"extra_content": "SECRET"}},
    }
    said = {"role": "assistant", "content": None, "tool_calls": made, "wanted_back": back}
    result = {"role": "tool", "tool_call_id": made[0]["id"], "content": "a.md"}
    chat = streamed(VENDORS[name], VENDORS[name]["chat"]["stream"])
    with FakeModelServer([chat]) as server:
        await reply_to(asking(name, server, messages=[*ASKED, said, result], tools=TOOLS))
        sent = str(server.requests[0]["messages"])
    assert "SECRET" not in sent and "wanted_back" not in sent and "xxx" not in sent
    assert "thinking" not in sent
    message, answer = server.requests[0]["messages"][-2:]
    if is_anthropic(name):
        assert message["content"][-1]["id"] == answer["content"][0]["tool_use_id"]
    else:
        (id,) = [each["id"] for each in message["tool_calls"]]
        assert id == answer["tool_call_id"] and len(id) == 9 and id.isalnum()


async def test_deepseek_gets_back_what_it_thought_of_its_last_words_too() -> None:
    """While tools are offered it refuses a conversation in which any reply lacks it."""
    vendor = VENDORS["deepseek"]
    events = filled(vendor["call"]["stream"], "call_1", "list_files", {"path": "notes"})
    script = [streamed(vendor, each) for each in (events, vendor["reasoning"]["stream"])]
    with FakeModelServer([*script, streamed(vendor, vendor["chat"]["stream"])]) as server:
        request = asking("deepseek", server, tools=TOOLS)
        for _ in range(2):
            messages = answered(request, await reply_to(request))
            request = asking("deepseek", server, messages=messages, tools=TOOLS)
        await reply_to(request)
        sent = server.requests[2]["messages"]
    thought = [each.get("reasoning_content") for each in sent if each["role"] == "assistant"]
    assert thought == ["I look.", "Let me see."]


@LEARNS
async def test_deepseek_is_given_a_blank_for_replies_of_which_no_thinking_is_known() -> None:
    vendor = VENDORS["deepseek"]
    (case,) = vendor["parameters"]
    chat = streamed(vendor, vendor["chat"]["stream"])
    said = {"role": "assistant", "content": "Good morning."}
    messages = [ASKED[1], said, ASKED[1]]
    with FakeModelServer([refusal(case), chat]) as server:
        await reply_to(asking("deepseek", server, messages=messages, tools=TOOLS))
        assert said_in(server.requests[1])["reasoning_content"] == " "


# Stopping


@ALL
async def test_a_stopped_reply_closes_the_connection(name: str) -> None:
    vendor = VENDORS[name]
    begun = vendor["chat"]["stream"][: 6 if is_anthropic(name) else 4]
    gone = threading.Event()
    with hearing_the_end(gone) as server:
        server.script.replies = [streamed(vendor, begun, hang="forever")]
        async with aclosing(stream(asking(name, server))) as parts:
            await anext(parts)
        assert gone.wait(30), "the model is still at work"


@contextmanager
def hearing_the_end(gone: threading.Event) -> Iterator[FakeModelServer]:
    """A server that says when whoever asked has hung up."""

    class Hearing(FakeModelServer):
        async def answer(self, reader: Any, writer: Any) -> None:
            await super().answer(reader, writer)
            gone.set()

    with Hearing() as server:
        yield server


# What goes wrong

ERRORS = [
    pytest.param(name, case, id=f"{name}-{case['case']}-{case['status']}-{number}")
    for name, vendor in VENDORS.items()
    for number, case in enumerate(vendor["errors"])
]


@pytest.mark.parametrize(("name", "case"), ERRORS)
@pytest.mark.sampled(30)
async def test_an_error_is_what_it_is(name: str, case: Json) -> None:
    vendor = VENDORS[name]
    script = streamed(vendor, case["stream"]) if "stream" in case else refusal(case)
    with FakeModelServer([script] * 6) as server:
        error = await error_for(asking(name, server))
        number = len(server.requests)
    assert error.kind == case["kind"], error
    assert case.get("says", "") in error.detail
    assert error.sentence == case.get("sentence", error.sentence)
    assert error.advice == case.get("advice", error.advice)
    assert error.transient == (case["kind"] in ("busy", "server", "bad_call"))
    if "wait" in case:
        assert error.retry_after == pytest.approx(case["wait"])
    else:
        assert error.retry_after is None
    assert number == 1, "it was not asked again in another form"
    assert "sk-alice" not in str(error)


async def test_a_limit_for_a_day_is_told_with_its_name_and_the_time_it_ends() -> None:
    """OpenRouter's free models: nothing but the day's end helps, or other models."""
    reset = str(int((time.time() + 3600) * 1000))
    message = "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000"
    metadata = {"headers": {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset}}
    body = {"error": {"message": message, "code": 429, "metadata": metadata}}
    with FakeModelServer([refusal({"status": 429, "body": body})]) as server:
        error = await error_for(asking("openrouter", server))
    assert error.kind == "busy" and error.retry_after == pytest.approx(3600, abs=60)
    assert "free-models-per-day" in error.detail


PARAMETERS = [
    pytest.param(name, case, id=f"{name}-{number}")
    for name, vendor in VENDORS.items()
    for number, case in enumerate(vendor["parameters"])
]


@LEARNS
@pytest.mark.parametrize(("name", "case"), PARAMETERS)
async def test_a_refused_parameter_is_learnt_for_the_model(name: str, case: Json) -> None:
    vendor = VENDORS[name]
    chat = streamed(vendor, vendor["chat"]["stream"])
    with FakeModelServer([refusal(case), chat, chat, chat]) as server:
        call = {"name": "list_files", "arguments": "{}"}
        made = [{"id": "a", "type": "function", "function": call}]
        back = {"provider": name, "model": vendor["model"], "message": {"reasoning": "Hm."}}
        messages = [
            *ASKED,
            {"role": "assistant", "content": None, "tool_calls": made, "wanted_back": back},
            {"role": "tool", "tool_call_id": "a", "content": "a.md"},
            {"role": "assistant", "content": "One file."},
            {"role": "system", "content": "The moment."},
            {"role": "user", "content": "More"},
        ]
        if is_anthropic(name) or "reasoning_content" in str(case):
            back["message"] = {}
        extra = {"max_tokens": 900, **case.get("extra", {})}
        request = asking(name, server, messages=messages, temperature=0.3, extra=extra)
        assert (await next_reply_to(request)).text == vendor["chat"]["text"]
        await next_reply_to(request)
        await next_reply_to(ModelRequest(request.endpoint, "another", messages, [], 0.3, extra))
        refused, again, next_time, of_another = server.requests
    assert again == next_time, "the second request knows it"
    assert again != refused
    assert {**of_another, "model": ""}.keys() == refused.keys(), "another model is asked all of it"
    if "without" in case:
        assert case["without"] in refused and case["without"] not in again
    assert {key: again[key] for key in case.get("instead", {})} == case.get("instead", {})
    (said, *_) = [each for each in again["messages"] if each["role"] == "assistant"]
    for key, value in case.get("message", {}).items():
        assert said[key] == value
    for key, value in case.get("call", {}).items():
        assert said["tool_calls"][0][key] == value
    if "message_without" in case:
        assert case["message_without"] not in said
    if case.get("folds"):
        assert [each["role"] for each in again["messages"]].count("system") == 1


SCHEMAS_REFUSED = [
    ("gemini", "Invalid JSON payload received. Unknown name \"const\" at 'tools[0]."
     "function_declarations[0].parameters.properties[0].value': Cannot find field."),
    ("gemini", "* GenerateContentRequest.tools[0].function_declarations[0].parameters."
     "properties[tags].items: missing field."),
    ("openai", "Invalid schema for function 'list_files': array schema missing items."),
    ("anthropic", "tools.0.custom.input_schema: JSON schema is invalid."),
]  # fmt: skip


@LEARNS
@pytest.mark.parametrize(("name", "words"), SCHEMAS_REFUSED)
async def test_a_schema_that_is_refused_is_sent_with_fewer_words(name: str, words: str) -> None:
    """Or nothing could be asked of this model while such a tool is offered."""
    vendor = VENDORS[name]
    chat = streamed(vendor, vendor["chat"]["stream"])
    fields = {
        "kind": {"const": "file", "description": "What."},
        "tags": {"type": ["array", "null"], "uniqueItems": True},
        "size": {"anyOf": [{"type": "integer", "enum": [1, 2]}, {"type": "null"}], "default": None},
        "where": {"properties": {"path": {"type": "string", "pattern": "a"}}, "required": ["path"]},
    }
    schema = {"type": "object", "properties": fields, "required": ["kind"], "$schema": "x"}
    tools = [{"type": "function", "function": {"name": "list_files", "parameters": schema}}]
    refused = refusal({"status": 400, "body": {"error": {"message": words}}})
    with FakeModelServer([refused, chat, chat]) as server:
        for _ in range(2):
            await next_reply_to(asking(name, server, tools=tools))
        first, second, third = [each["tools"][0] for each in server.requests]
    assert first != second == third
    sent = second["input_schema"] if is_anthropic(name) else second["function"]["parameters"]
    assert sent == {
        "type": "object",
        "properties": {
            "kind": {"type": "string", "description": "What.", "enum": ["file"]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "size": {"type": "integer"},
            "where": {
                "type": "object",
                "properties": {"path": {"type": "string"}},
                "required": ["path"],
            },
        },
        "required": ["kind"],
    }


@LEARNS
async def test_signed_thinking_that_openrouter_cannot_give_back_is_left_out_once() -> None:
    """can1357/oh-my-pi issue 3399: signed at one host of the model, refused at another."""
    vendor = VENDORS["openrouter"]
    words = "messages.1.content.0: Invalid `signature` in `thinking` block"
    raw = json.dumps(
        {"type": "error", "error": {"type": "invalid_request_error", "message": words}}
    )
    error = {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw}}
    begun, chat = (streamed(vendor, vendor[each]["stream"]) for each in ("reasoning", "chat"))
    refused = refusal({"status": 400, "body": {"error": error}})
    with FakeModelServer([begun, refused, chat, chat]) as server:
        request = asking("openrouter", server)
        again = asking("openrouter", server, messages=answered(request, await reply_to(request)))
        await next_reply_to(again)
        await next_reply_to(again)
        sent = ["reasoning_details" in said_in(each) for each in server.requests[1:]]
    assert sent == [True, False, True]


@LEARNS
@pytest.mark.parametrize(
    "words",
    [
        "Function tools with reasoning_effort are not supported for gpt-5.5 in "
        "/v1/chat/completions. Please use /v1/responses instead.",
        "Function tools with reasoning_effort are not supported for gpt-5.6-terra in "
        "/v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort "
        "to 'none'.",
    ],
)
async def test_openai_models_that_may_not_think_and_call_are_asked_not_to_think(words: str) -> None:
    """BerriAI/litellm pull 34569: they say so though no effort was asked for."""
    vendor = VENDORS["openai"]
    error = {"message": words, "type": "invalid_request_error", "param": "reasoning_effort"}
    chat = streamed(vendor, vendor["chat"]["stream"])
    with FakeModelServer(
        [refusal({"status": 400, "body": {"error": error}}), *[chat] * 3]
    ) as server:
        for _ in range(2):
            await next_reply_to(asking("openai", server, tools=TOOLS))
        await next_reply_to(asking("openai", server))
        refused, again, next_time, without_tools = server.requests
    assert again == next_time == {**refused, "reasoning_effort": "none"}
    assert "reasoning_effort" not in without_tools


def test_every_cell_of_the_table_is_there() -> None:
    """Vendor × case; a cell without an answer is one that the vendor does not publish."""
    missing = {
        "vllm": {"busy", "no credit"},  # nobody is limited or billed there
        "ollama": {"no credit", "parameter"},  # unknown parameters are passed over
        "azure": {"no credit"},  # billed behind
        "mistral": {"no credit"},
    }
    for name, vendor in VENDORS.items():
        there = {case["case"] for case in vendor["errors"]}
        there |= {"parameter"} if vendor["parameters"] else set()
        wanted = {*CASES[:-1], "parameter"}
        assert wanted - there == missing.get(name, set()), name
        assert all(vendor[case]["source"] for case in ("chat", "reasoning", "call")), name
        assert all(case["source"] for case in [*vendor["errors"], *vendor["parameters"]]), name
