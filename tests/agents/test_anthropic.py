"""Anthropic's Messages API: what is asked of it, and what is made of its rarer answers.

The events are those of anthropic-sdk-python at 009b035: tests/lib/streaming/fixtures and
src/anthropic/types. The plain cases are in test_vendors.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from agents import http
from tests.fake_model import FakeModelServer
from tests.inner import (
    LEFT_OUT,
    Endpoint,
    ModelError,
    ModelRequest,
    Reply,
    image_part,
    list_models,
    stream,
)

pytestmark = pytest.mark.sockets

Json = dict[str, Any]
MARK = {"type": "ephemeral"}
PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


@pytest.fixture(autouse=True)
async def clean() -> AsyncIterator[None]:
    yield
    await http.aclose_all()


def events(*each: Json) -> Json:
    lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in each]
    return {"raw": "".join(lines)}


def started(**usage: int) -> Json:
    return {"type": "message_start", "message": {"usage": {"input_tokens": 5, **usage}}}


def ended(reason: str, details: Json | None = None, **usage: int) -> Json:
    delta = {"stop_reason": reason, "stop_sequence": None, "stop_details": details}
    return {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 7, **usage}}


def block(index: int, content: Json, *deltas: Json) -> list[Json]:
    begins = {"type": "content_block_start", "index": index, "content_block": content}
    pieces = [{"type": "content_block_delta", "index": index, "delta": each} for each in deltas]
    return [begins, *pieces, {"type": "content_block_stop", "index": index}]


def text(index: int, words: str) -> list[Json]:
    return block(index, {"type": "text", "text": ""}, {"type": "text_delta", "text": words})


HELLO = events(started(), *text(0, "Hello."), ended("end_turn"))


def user(words: str) -> Json:
    return {"role": "user", "content": words}


def called(*ids: str, words: str | None = None) -> Json:
    function = {"name": "read_file", "arguments": '{"path": "a"}'}
    made = [{"id": id, "type": "function", "function": function} for id in ids]
    return {"role": "assistant", "content": words, "tool_calls": made}


def result(id: str, content: Any = "text") -> Json:
    return {"role": "tool", "tool_call_id": id, "content": content}


async def asked(messages: list[Any], *script: Json, **more: Any) -> tuple[Reply, list[Json]]:
    """The reply, and the requests that it took."""
    with FakeModelServer([*(script or [HELLO])]) as server:
        endpoint = Endpoint("anthropic", server.url, "sk-ant-1", api="anthropic_messages")
        request = ModelRequest(endpoint, "claude-opus-5", messages, **more)
        reply = [part async for part in stream(request)][-1]
        assert isinstance(reply, Reply)
        return reply, server.requests


async def refused(*script: Json) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await asked([user("Hello")], *script)
    return caught.value


# What is asked


async def test_the_request_is_written_as_the_api_has_it() -> None:
    function = {"name": "read_file", "description": "Reads.", "parameters": PARAMETERS}
    tools = [{"type": "function", "function": function}]
    messages = [{"role": "system", "content": "Be brief."}, user("Hello")]
    _, (sent,) = await asked(messages, tools=tools)
    tool = {"name": "read_file", "description": "Reads.", "input_schema": PARAMETERS}
    assert sent == {
        "model": "claude-opus-5",
        "max_tokens": 32_000,
        "stream": True,
        "thinking": {"type": "adaptive", "display": "summarized"},
        "tools": [{**tool, "cache_control": MARK}],
        "system": [{"type": "text", "text": "Be brief.", "cache_control": MARK}],
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "Hello", "cache_control": MARK}],
            }
        ],
    }


async def test_the_key_and_the_version_are_in_the_head() -> None:
    heads: list[httpx.Headers] = []

    def answer(request: httpx.Request) -> httpx.Response:
        heads.append(request.headers)
        assert request.url.path == "/v1/messages"
        return httpx.Response(200, text=HELLO["raw"])

    with http.use(httpx.MockTransport(answer)):
        endpoint = Endpoint(
            "anthropic", "http://models.invalid/v1", "sk-ant-1", api="anthropic_messages"
        )
        [part async for part in stream(ModelRequest(endpoint, "m", [user("Hello")]))]
    assert (heads[0]["x-api-key"], heads[0]["anthropic-version"]) == ("sk-ant-1", "2023-06-01")
    assert "authorization" not in heads[0]


@pytest.mark.parametrize(
    ("temperature", "extra", "thinks"),
    [(None, {}, True), (0.2, {}, False), (None, {"max_tokens": 500}, False)],
)
async def test_it_thinks_unless_a_temperature_or_a_short_reply_is_asked_for(
    temperature: float | None, extra: Json, thinks: bool
) -> None:
    _, (sent,) = await asked([user("Hello")], temperature=temperature, extra=extra)
    assert ("thinking" in sent) is thinks
    assert sent.get("temperature") == temperature
    assert sent["max_tokens"] == extra.get("max_tokens", 32_000)


async def test_results_of_parallel_calls_are_one_message_with_what_the_person_said_next() -> None:
    messages = [user("Read"), called("a1", "a2", words="I read."), result("a1"), result("a2")]
    _, (sent,) = await asked([*messages, {"role": "system", "content": "Now."}, user("Go on")])
    said, heard = sent["messages"][1:]
    ids = [each["id"] for each in said["content"][1:]]
    assert said["content"][0] == {"type": "text", "text": "I read."}
    assert said["content"][1]["input"] == {"path": "a"}
    assert [each["type"] for each in heard["content"]] == ["tool_result", "tool_result", "text"]
    assert [each["tool_use_id"] for each in heard["content"][:2]] == ids
    assert heard["content"][2]["text"] == "<context>\nNow.\n</context>\n\nGo on"


async def test_the_prompt_is_cached_where_the_last_step_ended_and_where_this_one_does() -> None:
    step = [user("Read"), called("a1"), result("a1")]
    next_step = [*step, called("a2"), result("a2")]
    _, (one,) = await asked(step)
    _, (other,) = await asked(next_step)
    assert one["messages"][-1] == other["messages"][2], "byte for byte, mark included"
    marked = [
        number
        for number, message in enumerate(other["messages"])
        if any("cache_control" in each for each in message["content"])
    ]
    assert marked == [2, 4]


async def test_images_are_sent_within_their_result() -> None:
    parts = [{"type": "text", "text": "A picture."}, image_part("image/png", b"png")]
    _, (sent,) = await asked([user("Look"), called("a1"), result("a1", parts)])
    (block_of_result,) = sent["messages"][-1]["content"]
    assert block_of_result["content"][1] == {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "cG5n"},
    }


async def test_blank_texts_are_left_out_and_a_user_begins() -> None:
    _, (sent,) = await asked([{"role": "assistant", "content": "Earlier."}, user("Hello")])
    assert sent["messages"][0]["content"][0]["text"] == LEFT_OUT
    _, (sent,) = await asked([user("Read"), called("a1", words=" \n"), result("a1", " ")])
    assert [each["type"] for each in sent["messages"][1]["content"]] == ["tool_use"]
    assert sent["messages"][2]["content"][0]["content"] == []


# What is answered


async def test_a_paused_reply_goes_on_behind_what_was_said() -> None:
    query = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    words = {"type": "input_json_delta", "partial_json": '{"query": "weather"}'}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    reply, (_, again) = await asked(
        [user("Search")],
        events(started(), *text(0, "I search. "), *block(1, query, words), ended("pause_turn")),
        events(started(), *block(0, found), *text(1, "Sunny."), ended("end_turn")),
    )
    assert (reply.text, reply.finish_reason) == ("I search. Sunny.", "stop")
    assert (reply.tokens_in, reply.tokens_out) == (10, 14)
    said = again["messages"][-1]
    assert said["role"] == "assistant"
    assert said["content"][1] == {**query, "input": {"query": "weather"}}
    kept = reply.wanted_back["message"]["content"]
    assert [each["type"] for each in kept] == [
        "text",
        "server_tool_use",
        "web_search_tool_result",
        "text",
    ]


async def test_what_came_with_a_call_goes_back_with_it() -> None:
    """As LiteLLM has it: it puts Gemini's signatures there, whose next request fails without."""
    signed = {"provider_specific_fields": {"signature": "c2lnbmF0dXJl"}}
    begun = {"type": "tool_use", "id": "call_1", "name": "read_file", "input": {}, **signed}
    piece = {"type": "input_json_delta", "partial_json": '{"path": "a"}'}
    reply, _ = await asked(
        [user("Read")], events(started(), *block(0, begun, piece), ended("tool_use"))
    )
    back = {"provider": "anthropic", "model": "claude-opus-5", **reply.wanted_back}
    messages = [user("Read"), {**called("call_1"), "wanted_back": back}, result("call_1")]
    _, (sent,) = await asked(messages)
    assert sent["messages"][1]["content"] == [{**begun, "input": {"path": "a"}}]


async def test_a_refusal_says_why_and_none_of_its_calls_is_made() -> None:
    why = {"type": "refusal", "category": "cyber", "explanation": "This may do harm."}
    use = {"type": "tool_use", "id": "toolu_1", "name": "shell", "input": {}}
    error = await refused(events(started(), *block(0, use), ended("refusal", why)))
    assert error.sentence == "The reply was withheld"
    assert error.detail == "claude-opus-5 refused: This may do harm."
    assert not error.transient


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
async def test_a_reply_without_room_for_its_end_was_cut_at_a_limit(reason: str) -> None:
    use = {"type": "tool_use", "id": "toolu_1", "name": "edit_file", "input": {}}
    cut = {"type": "input_json_delta", "partial_json": '{"path": "a", "te'}
    script = events(started(), *text(0, "Half"), *block(1, use, cut), ended(reason))
    reply, _ = await asked([user("Write")], script)
    assert (reply.text, reply.finish_reason) == ("Half", "length")
    assert "output limit" in str(reply.calls[0].broken)


async def test_counts_at_the_end_take_the_place_of_those_at_the_beginning() -> None:
    script = events(
        started(cache_read_input_tokens=100, output_tokens=1),
        *text(0, "Hi"),
        ended("end_turn", input_tokens=9, cache_creation_input_tokens=20),
    )
    reply, _ = await asked([user("Hello")], script)
    assert (reply.tokens_in, reply.tokens_out) == (9 + 100 + 20, 7)
    assert (reply.cached_tokens, reply.stored_tokens) == (100, 20)


async def test_a_stream_without_its_end_was_cut() -> None:
    error = await refused(events(started(), *text(0, "Half")))
    assert (error.kind, error.began, error.transient) == ("cut", True, True)


async def test_pieces_of_blocks_that_never_began_do_no_harm() -> None:
    stray = {
        "type": "content_block_delta",
        "index": 9,
        "delta": {"type": "text_delta", "text": "x"},
    }
    reply, _ = await asked(
        [user("Hello")], events(started(), stray, *text(0, "Hi"), ended("end_turn"))
    )
    assert reply.text == "Hi"


@pytest.mark.django_db(transaction=True)
async def test_a_model_that_cannot_think_so_is_asked_without_from_then_on() -> None:
    error = {"type": "invalid_request_error", "message": "adaptive thinking is not supported"}
    refusal = {
        "status": 400,
        "body": {
            "type": "error",
            "error": {**error, "message": f"{error['message']} on this model: thinking"},
        },
    }
    _, (first, second) = await asked([user("Hello")], refusal, HELLO)
    assert "thinking" in first and "thinking" not in second


@pytest.mark.parametrize(
    "words",
    [
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant "
        "message cannot be modified.",
    ],
)
async def test_thinking_that_is_not_taken_back_is_left_out_of_this_request_alone(
    words: str,
) -> None:
    """Without it the conversation could never go on."""
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    use = {"type": "tool_use", "id": "a1", "name": "read_file", "input": {"path": "a"}}
    origin = {"provider": "anthropic", "model": "claude-opus-5"}
    back = {**origin, "message": {"content": [thought, use]}}
    messages = [user("Read"), {**called("a1"), "wanted_back": back}, result("a1")]
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": words}}
    _, (first, second) = await asked(messages, {"status": 400, "body": error}, HELLO)
    assert first["messages"][1]["content"] == [thought, use]
    assert second["messages"][1]["content"] == [use]
    assert second["thinking"] == first["thinking"]
    _, (later,) = await asked(messages, HELLO)
    assert later["messages"][1]["content"] == [thought, use]


async def test_models_are_listed_page_by_page() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        after = request.url.params.get("after_id")
        page = ["claude-opus-5"] if after else ["claude-sonnet-5"]
        data = [{"type": "model", "id": id, "max_input_tokens": 1_000_000} for id in page]
        body = {"data": data, "has_more": not after, "first_id": page[0], "last_id": page[-1]}
        assert after in (None, "claude-sonnet-5")
        return httpx.Response(200, json=body)

    endpoint = Endpoint("anthropic", "http://models.invalid/v1", "k", api="anthropic_messages")
    with http.use(httpx.MockTransport(answer)):
        listed = await list_models(endpoint)
    assert [model.id for model in listed] == ["claude-opus-5", "claude-sonnet-5"]
