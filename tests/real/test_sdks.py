"""The SDKs that OpenAI and Anthropic publish as judges of the fixtures that stand for their servers,
and of what we ask them."""

import asyncio
import json
import subprocess
from pathlib import Path

import pytest

from agents.llm.request import ModelRequest
from tests.agents.test_vendors import (
    ALL,
    ASKED,
    TOOLS,
    VENDORS,
    answered,
    asking,
    endpoint_of,
    error_for,
    filled,
    is_anthropic,
    refusal,
    reply_to,
    streamed,
)
from tests.fake_model import FakeModelServer, call, calls, say, think
from tests.peers import python_programs

pytestmark = pytest.mark.server("SDKs of OpenAI and Anthropic")

HERE = Path(__file__).parent
ARGUMENTS = {"path": "notes"}
# Of what these publish not all has OpenAI's shape: a first document without a name, and thinking as
# a part of the content.
DEVIATE = ("azure", "mistral")
DOT = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="  # fmt: skip


@pytest.fixture(scope="module")
def judge():
    """Asks judge.py, which gives its verdicts."""
    python = python_programs(HERE / "requirements" / "sdks.txt") / "python"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}

    async def ask(**question):
        process.stdin.write(f"{json.dumps(question)}\n")
        process.stdin.flush()
        return json.loads(await asyncio.to_thread(process.stdout.readline))

    with subprocess.Popen([python, HERE / "judge.py"], **pipes) as process:
        yield ask
        process.stdin.close()


def api_of(name):
    return VENDORS[name].get("api", "chat_completions")


def scripts_of(name):
    """Its chat, its thinking and its call."""
    vendor = VENDORS[name]
    call_id = "toolu_01NRLabsLyVHZPKxbKvkfSMn" if is_anthropic(name) else "call_1"
    made = filled(vendor["call"]["stream"], call_id, "list_files", ARGUMENTS)
    streams = (vendor["chat"]["stream"], vendor["reasoning"]["stream"], made)
    return [
        streamed(vendor, each, headers={"Content-Type": "text/event-stream"}) for each in streams
    ]


@pytest.mark.shows("the recorded streams of each vendor read alike")
@ALL
async def test_the_recorded_streams_are_read_by_its_sdk_as_by_us(judge, name):
    scripts = scripts_of(name)
    with FakeModelServer(scripts) as server:
        verdicts = await judge(answers=[server.url, api_of(name), "m", name not in DEVIATE, 3])
    for script, verdict in zip(scripts, verdicts, strict=True):
        with FakeModelServer([script]) as server:
            ours = await reply_to(asking(name, server, tools=TOOLS))
        assert "error" not in verdict, verdict
        assert verdict["text"] == ours.text
        if verdict["tokens"] and not is_anthropic(name):  # it counts what is cached apart
            assert verdict["tokens"][0] == ours.tokens_in
        assert [(made["name"], made["arguments"]) for made in verdict["calls"]] == [
            (made.name, made.arguments) for made in ours.calls
        ]


@pytest.mark.shows("the recorded refusals of each vendor")
@ALL
async def test_the_recorded_refusals_are_errors_to_its_sdk(judge, name):
    cases = [case for case in VENDORS[name]["errors"] if "stream" not in case]
    scripts = [refusal(case) for case in cases]
    with FakeModelServer(scripts) as server:
        verdicts = await judge(answers=[server.url, api_of(name), "m", True, len(cases)])
    for case, verdict in zip(cases, verdicts, strict=True):
        assert verdict["status"] == case["status"], verdict
        with FakeModelServer([refusal(case)] * 6) as server:
            ours = await error_for(asking(name, server))
        assert ours.status == verdict["status"]


@pytest.mark.shows("errors inside a stream")
@ALL
async def test_errors_inside_a_stream_are_errors_to_its_sdk(judge, name):
    cases = [case for case in VENDORS[name]["errors"] if "stream" in case]
    scripts = [streamed(VENDORS[name], case["stream"], headers={"Content-Type": "text/event-stream"}) for case in cases]  # fmt: skip
    with FakeModelServer(scripts) as server:
        verdicts = await judge(answers=[server.url, api_of(name), "m", True, len(cases)])
    for verdict in verdicts:
        assert "error" in verdict and "Validation" not in verdict["error"], verdict


@pytest.mark.shows("the scripted model of our tests")
async def test_what_our_scripted_model_streams_has_the_published_shape(judge):
    both = calls(call("list_files"), call("read_file", path="a"), text="I look.")
    script = [say("Hello.", usage=[5, 2]), think("Hm.", "Yes."), both]
    with FakeModelServer(script) as server:
        verdicts = await judge(answers=[server.url, "chat_completions", "m", True, 3])
    assert [each.get("text") for each in verdicts] == ["Hello.", "Yes.", "I look."], verdicts
    assert [made["name"] for made in verdicts[2]["calls"]] == ["list_files", "read_file"]


@pytest.mark.shows("our requests: tools, results, images, thinking")
@pytest.mark.parametrize("name", ["openai", "anthropic"])
async def test_what_we_ask_has_the_published_shape(judge, name):
    vendor = VENDORS[name]
    chat = streamed(vendor, vendor["chat"]["stream"])
    seen = [*ASKED[:1], {"role": "user", "content": [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": DOT}}]}]  # fmt: skip
    with FakeModelServer([*scripts_of(name), *[chat] * 6]) as server:
        for _ in range(3):  # chat, thinking, a call: and the request after each
            request = asking(name, server, tools=TOOLS)
            server.script.replies.insert(1, chat)
            reply = await reply_to(request)
            await reply_to(asking(name, server, messages=answered(request, reply), tools=TOOLS))
        await reply_to(asking(name, server, messages=seen))
        # Anthropic's newest types know no temperature any more; its older models do.
        more = {} if is_anthropic(name) else {"temperature": 0.2}
        await reply_to(asking(name, server, extra={"max_tokens": 500}, **more))
        await reply_to(ModelRequest(endpoint_of(name, server), vendor["model"], ASKED))
        requests = list(server.requests)
    assert len(requests) == 9
    verdicts = await judge(requests=[api_of(name), requests])
    assert verdicts == [[]] * len(requests)
