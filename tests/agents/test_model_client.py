"""The client against scripted servers: what it makes of good, odd and broken answers."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import httpx
import pytest

from agents import http
from agents.db import in_db
from tests.fake_model import (
    FakeModelServer,
    ScriptedTransport,
    call,
    calls,
    cut,
    fails,
    say,
    silent,
    think,
)
from tests.inner import (
    Endpoint,
    ModelError,
    ModelRequest,
    ReasoningPart,
    Reply,
    TextPart,
    lessons_for,
    list_models,
    stream,
)

pytestmark = pytest.mark.sockets

KEY = "sk-alice-0123456789"
OPENAI = Endpoint("openai", "http://models.invalid/v1", KEY, label="OpenAI")
HELLO = [{"role": "user", "content": "Hello"}]


@pytest.fixture(autouse=True)
async def clean() -> AsyncIterator[None]:
    yield
    await http.aclose_all()  # or it is collected later, and blamed on the test that runs then


def asking(endpoint: Endpoint = OPENAI, **more: Any) -> ModelRequest:
    return ModelRequest(endpoint, "qwen3-max", list(HELLO), **more)


async def parts_of(script: Any, request: ModelRequest | None = None) -> list[Any]:
    transport = (
        script if isinstance(script, httpx.AsyncBaseTransport) else ScriptedTransport(script)
    )
    with http.use(transport):
        return [part async for part in stream(request or asking())]


async def reply_of(script: Any, request: ModelRequest | None = None) -> Reply:
    return (await parts_of(script, request))[-1]


async def error_of(script: Any, request: ModelRequest | None = None) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await parts_of(script, request)
    return caught.value


def raw(*documents: Any, done: bool = True) -> list[dict[str, str]]:
    """A stream word for word."""
    lines = [f"data: {json.dumps(document)}\n\n" for document in documents]
    return [{"raw": "".join(lines) + ("data: [DONE]\n\n" if done else "")}]


def chunk(delta: Any, finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


def piece(**keys: Any) -> dict[str, Any]:
    """A chunk with one piece of a tool call."""
    function = {key: keys.pop(key) for key in ("name", "arguments") if key in keys}
    return chunk({"tool_calls": [{**keys, "function": function}]})


# What is said


async def test_text_comes_in_parts_and_whole_at_the_end() -> None:
    parts = await parts_of([say("Hello there, Alice.", chunk=5, usage=[12, 4])])
    assert "".join(part.text for part in parts[:-1]) == "Hello there, Alice."
    assert len(parts) == 5
    assert parts[-1] == Reply("Hello there, Alice.", "", [], 12, 4, False, "stop")


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_reasoning_is_kept_apart_from_the_text(field: str) -> None:
    parts = await parts_of(raw(chunk({field: "Hm."}), chunk({"content": "Yes."}, "stop")))
    assert parts[:2] == [ReasoningPart("Hm."), TextPart("Yes.")]
    assert (parts[-1].reasoning, parts[-1].text) == ("Hm.", "Yes.")


async def test_without_reported_usage_tokens_are_estimated_and_labelled_so() -> None:
    reply = await reply_of([think("think", "x" * 40)])
    assert reply.estimated and reply.tokens_out == 12 and reply.tokens_in > 5


async def test_usage_beside_a_choice_counts() -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 3}
    reply = await reply_of(raw(chunk({"content": "Hi"}), chunk({}, "stop", usage=usage)))
    assert (reply.tokens_in, reply.tokens_out, reply.estimated) == (7, 3, False)


async def test_a_server_that_ignores_stream_is_understood() -> None:
    reply = await reply_of([calls(call("read_file", path="a.md"), text="Reading", plain=True)])
    assert reply.text == "Reading" and reply.calls[0].arguments == {"path": "a.md"}


async def test_line_separators_inside_json_do_not_cut_it() -> None:
    text = "one\u2028two\x85three"
    assert (await reply_of([say(text, chunk=100)])).text == text


@pytest.mark.parametrize(
    "odd",
    [
        {"choices": None},
        {"choices": []},
        {"choices": [{"index": 0, "delta": None}]},
        {"choices": [{"index": 1, "delta": {"content": "other"}}]},
        {"id": "only"},
    ],
)
async def test_chunks_without_anything_in_them_are_passed_over(odd: dict[str, Any]) -> None:
    assert (await reply_of(raw(odd, chunk({"content": "Hi"}), odd, chunk({}, "stop")))).text == "Hi"


async def test_comments_events_and_missing_spaces_are_passed_over() -> None:
    document = json.dumps(chunk({"content": "Hi"}, "stop"))
    script = [{"raw": f": keep-alive\r\n\r\nevent: x\r\ndata:{document}\r\n\r\ndata:[DONE]\r\n"}]
    assert (await reply_of(script)).text == "Hi"


async def test_content_in_parts_is_text_too() -> None:
    content = [{"type": "text", "text": "Hi"}]
    assert (await reply_of(raw(chunk({"content": content}, "stop")))).text == "Hi"


# Tool calls: the oddities of servers

TWO = [("read_file", {"path": "a"}), ("read_file", {"path": "b"})]
A, B = '{"path": "a"}', '{"path": "b"}'
ODDITIES = {
    "as in the reference": [
        piece(index=0, id="1", name="read_file", arguments=""),
        piece(index=0, arguments='{"path": '),
        piece(index=0, arguments='"a"}'),
        piece(index=1, id="2", name="read_file", arguments=B),
    ],
    "no index": [
        piece(id="1", name="read_file", arguments='{"path":'),
        piece(arguments=' "a"}'),
        piece(id="2", name="read_file", arguments=B),
    ],
    "no id": [
        piece(index=0, name="read_file", arguments=A),
        piece(index=1, name="read_file", arguments=B),
    ],
    "neither index nor id": [
        piece(name="read_file", arguments=A),
        piece(name="read_file", arguments=B),
    ],
    "arguments as an object": [
        piece(index=0, id="1", name="read_file", arguments={"path": "a"}),
        piece(index=1, id="2", name="read_file", arguments={"path": "b"}),
    ],
    "the name in each chunk": [
        piece(index=0, id="1", name="read_file", arguments='{"path"'),
        piece(index=0, id="1", name="read_file", arguments=': "a"}'),
        piece(index=0, id="1", name="read_file", arguments=""),
        piece(index=1, id="2", name="read_file", arguments=B),
    ],
    "the name in each chunk, no ids, no index": [
        piece(name="read_file", arguments='{"path"'),
        piece(name="read_file", arguments=': "a"}'),
        piece(name="read_file", arguments=B),
    ],
    "both index 0, different ids": [
        piece(index=0, id="1", name="read_file", arguments=A),
        piece(index=0, id="2", name="read_file", arguments=B),
    ],
    "both index 0, the same id, as of transformers serve": [
        piece(index=0, id="1", name="read_file", arguments=A),
        piece(index=0, id="1", name="read_file", arguments=B),
    ],
    "both index 0, no ids": [
        piece(index=0, name="read_file", arguments=A),
        piece(index=0, name="read_file", arguments=B),
    ],
    "the same id twice": [
        piece(index=0, id="1", name="read_file", arguments=A),
        piece(index=1, id="1", name="read_file", arguments=B),
    ],
    "both in one chunk": [
        chunk(
            {
                "tool_calls": [
                    {"id": "1", "function": {"name": "read_file", "arguments": A}},
                    {"id": "2", "function": {"name": "read_file", "arguments": B}},
                ]
            }
        )
    ],
    "interleaved": [
        piece(index=0, id="1", name="read_file", arguments='{"path": '),
        piece(index=1, id="2", name="read_file", arguments='{"path": '),
        piece(index=0, arguments='"a"}'),
        piece(index=1, arguments='"b"}'),
    ],
    "arguments encoded twice": [
        piece(index=0, id="1", name="read_file", arguments=json.dumps(A)),
        piece(index=1, id="2", name="read_file", arguments=json.dumps(B)),
    ],
}


@pytest.mark.parametrize("oddity", ODDITIES)
async def test_two_calls_are_put_together_however_they_are_streamed(oddity: str) -> None:
    reply = await reply_of(raw(*ODDITIES[oddity], chunk({}, "stop")))
    assert [(each.name, each.arguments) for each in reply.calls] == TWO
    assert len({each.id for each in reply.calls}) == 2 and all(each.id for each in reply.calls)
    assert not any(each.broken for each in reply.calls)


async def test_arguments_that_are_not_an_object_are_told_as_broken() -> None:
    script = raw(piece(index=0, id="1", name="edit_file", arguments='{"path": '), chunk({}, "stop"))
    (broken,) = (await reply_of(script)).calls
    assert broken.arguments == {}
    assert broken.broken == "The arguments of edit_file are not a JSON object."


async def test_arguments_cut_at_the_output_limit_are_told_as_such() -> None:
    script = raw(piece(index=0, id="1", name="edit_file", arguments='{"pa'), chunk({}, "length"))
    assert "output limit" in str((await reply_of(script)).calls[0].broken)


async def test_a_call_without_arguments_has_none() -> None:
    script = raw(piece(index=0, id="1", name="get_plan", arguments=""), chunk({}, "tool_calls"))
    (only,) = (await reply_of(script)).calls
    assert (only.arguments, only.broken) == ({}, None)


# What is sent


async def test_the_request_is_a_streamed_chat_completion() -> None:
    transport = ScriptedTransport([say("Hi")])
    tools: list[dict[str, object]] = [{"type": "function", "function": {"name": "x"}}]
    await parts_of(transport, asking(tools=tools, temperature=0.2, extra={"tool_choice": "auto"}))
    (sent,) = transport.requests
    assert sent["stream"] is True and sent["stream_options"] == {"include_usage": True}
    assert sent["tools"] == tools and sent["temperature"] == 0.2 and sent["tool_choice"] == "auto"
    assert transport.headers[0]["authorization"] == f"Bearer {KEY}"


async def test_a_user_begins_though_the_beginning_was_left_out() -> None:
    """Gemini refuses a call that follows no user's words, and so do many chat templates."""
    transport = ScriptedTransport([say("Hi")])
    first: dict[str, object] = {"role": "system", "content": "Be brief."}
    earlier: dict[str, object] = {"role": "assistant", "content": "Earlier."}
    endpoint = Endpoint("gemini", "http://models.invalid/v1", KEY)
    await parts_of(transport, ModelRequest(endpoint, "m", [first, earlier, *HELLO]))
    _, begun, *others = transport.requests[0]["messages"]
    assert begun["role"] == "user" and others == [earlier, *HELLO]


async def test_without_a_key_there_is_no_authorization_header() -> None:
    transport = ScriptedTransport([say("Hi")])
    await parts_of(transport, asking(Endpoint("ollama", "http://127.0.0.1:11434/v1")))
    assert "authorization" not in transport.headers[0]
    assert "tools" not in transport.requests[0] and "temperature" not in transport.requests[0]


@pytest.mark.django_db(transaction=True)
async def test_stream_options_are_left_out_for_a_server_that_refuses_them() -> None:
    refuses = fails(400, "Unrecognized request argument supplied: stream_options")
    transport = ScriptedTransport([refuses, say("Hi"), say("Again")])
    assert (await reply_of(transport)).text == "Hi"
    known = await in_db(lessons_for, OPENAI, "qwen3-max")
    assert (await reply_of(transport, asking(lessons=known))).text == "Again"
    assert ["stream_options" in sent for sent in transport.requests] == [True, False, False]


async def test_a_400_that_names_another_cause_is_not_asked_again() -> None:
    transport = ScriptedTransport([fails(400, "qwen3-max does not support tools"), say("Hi")])
    error = await error_of(transport)
    assert len(transport.requests) == 1
    assert error.kind == "bad_request" and error.advice == "Choose a model that can call tools."


async def test_llama_cpp_without_jinja_is_said_at_once_with_the_remedy() -> None:
    """ggml-org/llama.cpp tools/server: a 500, though no retry can pass."""
    error = await error_of([fails(500, "tools param requires --jinja flag")])
    assert (error.kind, error.transient) == ("bad_request", False)
    assert error.detail == "qwen3-max returned 500: tools param requires --jinja flag."
    assert error.advice == "Start the server with --jinja, or choose another model."


async def test_a_flag_of_the_provider_leaves_stream_options_out() -> None:
    endpoint = Endpoint("old", "http://old.invalid/v1", flags={"stream_options": False})
    transport = ScriptedTransport([say("Hi")])
    await parts_of(transport, asking(endpoint))
    assert "stream_options" not in transport.requests[0]


# What goes wrong


@pytest.mark.parametrize(
    ("answer", "kind", "sentence", "detail"),
    [
        (fails(401), "key", "The model refused the key", "qwen3-max returned 401."),
        (fails(403), "key", "The model refused access",
         "qwen3-max returned 403: The script fails with 403."),
        (fails(404, "no such model"), "missing", "The model was not found",
         "qwen3-max returned 404: no such model."),
        (fails(429, "slow down"), "busy", "The model did not answer",
         "qwen3-max returned 429, too many requests."),
        (fails(429, "You exceeded your quota", body={"error": {"code": "insufficient_quota"}}), "key",
         "The model did not answer", "qwen3-max returned 429: the account has no credit left."),
        (fails(500, "out of memory"), "server", "The model’s server had an error",
         "qwen3-max returned 500: out of memory."),
        (fails(502, body="<html>Bad gateway</html>"), "server", "The model’s server had an error",
         "qwen3-max returned 502, the server behind it is down."),
        (fails(503), "busy", "The model did not answer",
         "qwen3-max returned 503, it is overloaded or starting."),
        (fails(529), "busy", "The model did not answer", "qwen3-max returned 529, it is overloaded."),
        (fails(400, "This model's maximum context length is 8192 tokens"), "too_long",
         "This conversation is too long for qwen3-max", None),
        (fails(400, "the request exceeds the available context size"), "too_long",
         "This conversation is too long for qwen3-max", None),
        (fails(422, "temperature must be positive"), "bad_request", "The model refused the request",
         "qwen3-max returned 422: temperature must be positive."),
        (fails(404, body="<html>Not here</html>"), "missing", "The model was not found",
         "http://models.invalid/v1 returned 404."),
        (fails(301), "missing", "The model was not found", "http://models.invalid/v1 returned 301."),
    ],
)  # fmt: skip
async def test_an_error_status_is_said_in_plain_words(
    answer: dict[str, Any], kind: str, sentence: str, detail: str | None
) -> None:
    error = await error_of([answer])
    assert (error.kind, error.sentence, error.status) == (kind, sentence, answer["status"])
    assert detail is None or error.detail == detail
    assert error.advice.endswith(".") and not error.began
    assert error.transient == (kind in ("busy", "server"))


@pytest.mark.parametrize(("header", "seconds"), [("7", 7.0), ("0.5", 0.5), ("soon", None)])
async def test_retry_after_is_passed_on(header: str, seconds: float | None) -> None:
    assert (await error_of([fails(429, headers={"Retry-After": header})])).retry_after == seconds


async def test_retry_after_may_be_a_date() -> None:
    date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 60))
    waits = (await error_of([fails(503, headers={"Retry-After": date})])).retry_after
    assert waits is not None and 55 < waits <= 60


async def test_a_missing_key_is_told_apart_from_a_wrong_one() -> None:
    error = await error_of([fails(401)], asking(Endpoint("openai", OPENAI.base_url)))
    assert error.sentence == "The model wants a key" and "OPENAI_API_KEY" in error.advice


async def test_a_model_that_ollama_has_not_got_can_be_pulled() -> None:
    ollama = Endpoint("ollama", "http://127.0.0.1:11434/v1")
    error = await error_of([fails(404, "model 'qwen3-max' not found")], asking(ollama))
    assert error.advice.startswith("Run ollama pull qwen3-max")


@pytest.mark.parametrize("code", [502, "502", "server_error", None])
async def test_an_error_after_200_is_an_error(code: object) -> None:
    error = await error_of([say("Half", error={"message": "upstream died", "code": code})])
    assert (error.kind, error.sentence, error.began) == ("server", "The reply broke off", True)
    assert error.detail == "qwen3-max stopped with an error: upstream died." and error.transient


@pytest.mark.parametrize(("code", "kind"), [("429", "busy"), ("401", "key"), ("404", "missing")])
async def test_a_status_after_200_counts_also_as_a_text(code: str, kind: str) -> None:
    """As LiteLLM writes it."""
    error = await error_of([say("Half", error={"message": "No.", "code": code, "type": "None"})])
    assert (error.kind, error.status) == (kind, int(code))


async def test_the_words_of_an_error_status_may_come_as_an_event() -> None:
    """As older LiteLLM sends them: it had begun to answer with a stream."""
    body = 'data: {"error": {"message": "Rooms are closed.", "code": "400"}}\n\n'
    error = await error_of([fails(400, body=body)])
    assert error.detail == "qwen3-max returned 400: Rooms are closed."


LITELLM = "LiteLLM: model group 'm' failed with the error above. No fallback was attempted."


@pytest.mark.parametrize(
    ("status", "message", "kind", "says"),
    [
        (500, """litellm.InternalServerError: AnthropicError - b'{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}'""", "busy", "500, an error of its own"),
        (429, "litellm.RateLimitError: RateLimitError: OpenAIException - You exceeded your current quota, please check your plan and billing details.", "key", "no credit left"),
        (429, """litellm.RateLimitError: Vertex_ai_betaException - b'{"error": {"code": 429, "message": "You exceeded your current quota. Please retry in 26.3s.", "status": "RESOURCE_EXHAUSTED"}}'""", "busy", "too many requests"),
        (400, """litellm.ContextWindowExceededError: AnthropicError - {"type": "error", "error": {"message": "prompt is too long: 213013 tokens > 200000 maximum"}} model=m.""", "too_long", "returned 400: prompt is too long: 213013 tokens > 200000 maximum."),
        (500, """litellm.InternalServerError: AnthropicException - {"error": {"message": "Rooms are closed"}}.""", "server", "returned 500: Rooms are closed."),
    ],
)  # fmt: skip
async def test_what_litellm_passes_on_is_what_it_was(
    status: int, message: str, kind: str, says: str
) -> None:
    """As its version 1.106 has it."""
    error = await error_of([fails(status, f"{message} {LITELLM}")])
    assert error.kind == kind and says in error.detail


async def test_a_rate_limit_after_200_is_busy() -> None:
    error = await error_of([say("", error="Rate limit exceeded")])
    assert (error.kind, error.transient, error.began) == ("busy", True, False)


async def test_a_stream_that_just_ends_was_cut() -> None:
    error = await error_of([cut("Half a sen")])
    assert (error.kind, error.began, error.transient) == ("cut", True, True)


async def test_a_connection_that_breaks_was_cut() -> None:
    assert (await error_of([cut("Half a sentence", cut="hard")])).kind == "cut"


async def test_a_break_after_the_end_of_the_reply_does_no_harm() -> None:
    assert (await reply_of(raw(chunk({"content": "All"}, "stop"), done=False))).text == "All"


@pytest.mark.parametrize("empty", [{"raw": ""}, say(""), say(" \n"), {"raw": "data: [DONE]\n\n"}])
async def test_an_empty_answer_is_an_error_of_its_own(empty: dict[str, Any]) -> None:
    error = await error_of([empty])
    assert (error.kind, error.transient) == ("nothing", True)


async def test_a_reply_that_had_no_room_is_not_tried_again_and_says_so() -> None:
    """Ollama loads most models with 4,096 tokens; each further try would be paid elsewhere."""
    error = await error_of(raw(chunk({"content": ""}, "length")))
    assert (error.kind, error.transient) == ("too_long", False)
    assert "qwen3-max had no room left for a reply" in error.detail
    local = asking(Endpoint("ollama", "http://models.invalid/v1"))
    error = await error_of(raw(chunk({"content": ""}, "length")), local)
    assert "OLLAMA_CONTEXT_LENGTH" in error.advice


async def test_thinking_up_to_the_limit_is_no_reply() -> None:
    error = await error_of(raw(chunk({"reasoning": "Hm."}), chunk({"content": ""}, "length")))
    assert error.kind == "too_long"


async def test_a_call_that_gemini_could_not_read_is_tried_once_more() -> None:
    """coder/coder pull 28470: the stream ends well, and the call is not in it."""
    reason = "function_call_filter: MALFORMED_FUNCTION_CALL"
    error = await error_of(raw(chunk({"reasoning": "Hm."}), chunk({"content": ""}, reason)))
    assert (error.kind, error.transient) == ("bad_call", True)
    assert error.detail == f"qwen3-max stopped: {reason}."


async def test_a_web_page_instead_of_an_answer_means_a_wrong_address() -> None:
    error = await error_of([{"raw": "<!doctype html>\n<p>Welcome</p>"}])
    assert (error.kind, error.transient) == ("missing", False)
    assert "web page" in error.detail and "/v1" in error.advice


async def test_what_cannot_be_read_as_json_is_a_server_error() -> None:
    assert (await error_of([{"raw": "data: {not json}\n\n"}])).kind == "server"


TOO_LARGE = {
    "many values in a stream": {"raw": f'data: {{"choices": [{"1," * 100_000}1]}}\n\n'},
    "many values of another kind": {"raw": f'data: {{"a": [{"[],{}," * 50_000}1]}}\n\n'},
    "many values in a body": {"raw": f'{{"choices": [\n{"1," * 100_000}1]}}'},
    "a long line": {"raw": "data: " + " " * 4_200_000},
    "a body of many lines": {"raw": "{" + f"{' ' * 1000}\n" * 4_300},
}


@pytest.mark.parametrize("answer", TOO_LARGE.values(), ids=TOO_LARGE.keys())
async def test_a_document_too_large_to_be_parsed_is_refused(answer: dict[str, Any]) -> None:
    error = await error_of([answer])
    assert (error.kind, error.transient) == ("endless", False)
    assert "too large: 4 MB and 100,000 JSON values are the most" in error.detail


async def test_a_whole_reply_is_taken_whatever_its_text_is_made_of() -> None:
    text = '"[{,' * 200_000
    body = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
    assert (await reply_of([{"raw": json.dumps(body)}])).text == text


async def test_an_error_that_is_nested_without_end_is_an_error() -> None:
    deep = httpx.MockTransport(lambda _: httpx.Response(500, text="[" * 60_000))
    assert (await error_of(deep)).kind == "server"


async def test_a_withheld_reply_says_so() -> None:
    error = await error_of([say("", finish="content_filter")])
    assert error.sentence == "The reply was withheld" and not error.transient


@pytest.mark.parametrize("reply", [silent(), silent("Half a"), silent(until=20.0)])
async def test_silence_longer_than_the_idle_time_is_an_error(
    settings: Any, no_waiting: Any, reply: dict[str, Any]
) -> None:
    settings.MODEL_IDLE_TIMEOUT = settings.MODEL_CONNECT_TIMEOUT = 0.1
    loop = asyncio.get_running_loop()
    started = loop.time()
    error = await error_of([reply])
    assert (error.kind, error.transient) == ("silent", True)
    assert error.detail == "qwen3-max sent nothing for 0.1 s."
    assert error.began == ("text" in reply and bool(reply["text"]))
    assert loop.time() - started < 15


async def test_a_slow_reply_is_no_silence_as_long_as_it_goes_on(
    settings: Any, no_waiting: Any
) -> None:
    settings.MODEL_IDLE_TIMEOUT = 1
    assert (await reply_of([say("x" * 60, chunk=5, delay=0.1)])).text == "x" * 60


async def test_nobody_at_the_address_is_said_with_what_to_start() -> None:
    ollama = Endpoint("ollama", "http://127.0.0.1:9/v1")
    with pytest.raises(ModelError) as caught:
        [part async for part in stream(asking(ollama))]
    error = caught.value
    assert (error.kind, error.transient) == ("unreachable", True)
    assert error.detail == "http://127.0.0.1:9/v1 does not answer."
    assert error.advice.startswith("Start Ollama")


@pytest.mark.parametrize("address", ["", "localhost:11434/v1", "ftp://x/v1"])
async def test_an_address_that_is_none_is_said_so(address: str) -> None:
    with pytest.raises(ModelError) as caught:
        [part async for part in stream(asking(Endpoint("mine", address)))]
    assert (caught.value.kind, caught.value.transient) == ("bad_request", False)


@pytest.mark.parametrize("key", ["sk-…", "sk-a\nb"])
async def test_a_key_with_illegal_characters_is_said_so_without_showing_it(key: str) -> None:
    with FakeModelServer([say("Hi")]) as server, pytest.raises(ModelError) as caught:
        [part async for part in stream(asking(Endpoint("mine", server.url, key)))]
    assert caught.value.kind == "key" and "sk-" not in str(caught.value)


async def test_no_key_and_no_secret_header_gets_into_an_error(caplog: Any) -> None:
    endpoint = Endpoint(
        "mine", "http://bob:hunter22@models.invalid/v1?token=tok-123", KEY, {"X-Key": "head-secret"}
    )
    caplog.handler.setLevel("DEBUG")
    for status in (400, 401, 404, 429, 500):
        answer = fails(status, f"Incorrect key {KEY}, head-secret; not sk-live-abcdefghijkl")
        told = str(await error_of([answer], asking(endpoint))) + caplog.text + repr(endpoint)
        for secret in (KEY, "head-secret", "sk-live", "hunter22", "tok-123"):
            assert secret not in told


# Stopping


async def test_closing_the_generator_closes_the_stream_at_once() -> None:
    transport = ScriptedTransport([say("A long reply " * 50, delay=0.01)])
    with http.use(transport):
        async with aclosing(stream(asking())) as parts:
            async for _ in parts:
                break
        assert (transport.open, transport.abandoned) == (0, 1)


async def test_cancelling_the_task_closes_the_stream_at_once() -> None:
    transport = ScriptedTransport([silent("And then")])
    with http.use(transport):
        task = asyncio.create_task(parts_of(transport))
        while not transport.open:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert (transport.open, transport.abandoned) == (0, 1)


# Over real HTTP


async def test_over_http_a_reply_is_streamed_and_models_are_listed() -> None:
    with FakeModelServer(
        [calls(call("list_files"), text="Looking"), fails(429, retry_after=2)]
    ) as server:
        request = asking(Endpoint("mine", server.url))
        reply = [part async for part in stream(request)][-1]
        assert isinstance(reply, Reply) and reply.calls[0].name == "list_files"
        with pytest.raises(ModelError) as caught:
            [part async for part in stream(request)]
        assert caught.value.retry_after == 2
        listed = await list_models(request.endpoint)
    assert [each.id for each in listed] == ["another-model", "fake-model", "scripted"]


async def test_over_http_stopping_frees_the_connection() -> None:
    with FakeModelServer([silent("Begun"), say("Next")]) as server:
        request = asking(Endpoint("mine", server.url))
        async with aclosing(stream(request)) as parts:
            await anext(parts)
        assert [part async for part in stream(request)][-1].text == "Next"


async def test_over_http_a_broken_connection_is_a_cut() -> None:
    with (
        FakeModelServer([cut("Half of it", cut="hard")]) as server,
        pytest.raises(ModelError) as caught,
    ):
        [part async for part in stream(asking(Endpoint("mine", server.url)))]
    assert (caught.value.kind, caught.value.began) == ("cut", True)


async def test_a_list_of_models_that_is_none_is_an_error() -> None:
    page = httpx.MockTransport(lambda _: httpx.Response(200, text="<html>"))
    with http.use(page), pytest.raises(ModelError) as caught:
        await list_models(OPENAI)
    assert caught.value.kind == "missing"


@pytest.mark.parametrize("body", ["[" + "1," * 100_000 + "1]", " " * 4_200_000])
async def test_a_list_of_models_that_is_too_large_is_an_error(body: str) -> None:
    large = httpx.MockTransport(lambda _: httpx.Response(200, text=f'{{"data": {body}}}'))
    with http.use(large), pytest.raises(ModelError, match="is too large: 4 MB and 100,000"):
        await list_models(OPENAI)


async def test_a_refusal_under_a_name_of_its_own_is_what_the_model_says() -> None:
    script = raw(
        chunk({"refusal": "I will not "}), chunk({"refusal": "do that."}), chunk({}, "stop")
    )
    assert (await reply_of(script)).text == "I will not do that."


class Dropping(httpx.AsyncBaseTransport):
    """Drops the first connections, as one that was kept too long is."""

    def __init__(self, drops: int, error: type[httpx.TransportError]) -> None:
        self.drops, self.error, self.asked = drops, error, 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.asked += 1
        if self.asked <= self.drops:
            raise self.error("Server disconnected without sending a response.")
        return httpx.Response(200, text=raw(chunk({"content": "Hi"}, "stop"))[0]["raw"])


@pytest.mark.parametrize("error", [httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError])
async def test_a_connection_dropped_before_anything_came_is_tried_once_more(
    error: type[httpx.TransportError],
) -> None:
    transport = Dropping(1, error)
    assert (await reply_of(transport)).text == "Hi"
    assert transport.asked == 2
    transport = Dropping(2, error)
    assert (await error_of(transport)).kind == "unreachable"
    assert transport.asked == 2


async def test_a_connection_dropped_in_the_midst_is_not_tried_again() -> None:
    transport = ScriptedTransport([cut("Half a sentence", cut="hard"), say("Again")])
    assert (await error_of(transport)).kind == "cut"
    assert len(transport.requests) == 1
