"""The product behind LiteLLM's proxy, which speaks with an upstream that we play."""

import json
import logging
from dataclasses import replace

import pytest

from agents import actions as talk
from agents.db import in_db
from agents.llm.client import stream
from agents.llm.errors import ModelError
from agents.llm.model_lists import models_of
from agents.llm.providers import ProviderEdit, add_provider, resolve
from agents.llm.reply import Reply
from agents.llm.request import ModelRequest
from agents.models import Message
from console.chat_commands import handle_message as person_says
from plans import actions
from tests.fake_model import FakeModelServer, call, calls, say, silent, think
from tests.real.litellm import KEY, proxy
from tests.real.shapes import SIGNATURE, as_anthropic, as_gemini, as_openai
from tests.world import (
    calls_of,
    conversation,
    done,
    drive,
    errors_of,
    eventually,
    files_of,
    happening,
    plan_of,
    proposal,
    states,
    tell,
    texts,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.server("LiteLLM proxy")]

log = logging.getLogger(__name__)

# By which of its routes it is asked, for which of its models, and what stands behind that one.
ROUTES = {
    "OpenAI": ("litellm", "gpt", as_openai),
    "OpenAI to Anthropic": ("litellm", "claude", as_anthropic),
    "OpenAI to Gemini": ("litellm", "gemini", as_gemini),
    "Anthropic": ("anthropic", "claude", as_anthropic),
    "Anthropic to Gemini": ("anthropic", "gemini", as_gemini),
}
BY_EVERY_ROUTE = pytest.mark.parametrize("route", ROUTES)


@pytest.fixture(scope="module")
def upstream():
    with FakeModelServer() as server:
        yield server


@pytest.fixture(scope="module")
def address(upstream, tmp_path_factory):
    """The proxy's."""
    host = upstream.url.removesuffix("/v1")
    models = {
        "gpt": {"model": "openai/gpt-4.1", "api_base": upstream.url},
        "claude": {"model": "anthropic/claude-opus-5", "api_base": host},
        "gemini": {"model": "gemini/gemini-3-pro-preview", "api_base": f"{host}/v1beta"},
        "mocked": {"model": "openai/gpt-4.1", "mock_response": "Said by nobody."},
        "limited": {"model": "openai/gpt-4.1", "mock_response": "litellm.RateLimitError"},
    }
    passed_on = {"GEMINI_API_BASE": host, "GEMINI_API_KEY": "k"}
    with proxy(tmp_path_factory.mktemp("litellm"), models, **passed_on) as url:
        yield url


@pytest.fixture(autouse=True)
def providers(address, upstream, transactional_db):
    """It is asked as any server that an admin adds, and in place of Anthropic."""
    upstream.script.load([])
    upstream.script.requests.clear()
    for name in ("litellm", "anthropic"):
        add_provider(name, ProviderEdit(base_url=f"{address}/v1", key=KEY), "alice")
    yield


def talking(route):
    provider, model, shaped = ROUTES[route]
    return conversation(provider=provider, model=model), shaped


def plays(upstream, shaped, *replies):
    upstream.script.load([shaped(reply) for reply in replies])


@pytest.mark.shows("chat by each route")
@BY_EVERY_ROUTE
def test_a_chat_is_answered_and_counted(upstream, route):
    c, shaped = talking(route)
    plays(upstream, shaped, say("Good morning.", usage=[90, 7]))
    tell(c, "Hello")
    assert texts(c) == ["Good morning."], errors_of(c)
    turn = c.turns.get()
    assert (turn.tokens_in, turn.tokens_out) == (90, 7)


@pytest.mark.shows("a plan with tools by each route")
@BY_EVERY_ROUTE
def test_a_plan_is_made_approved_and_carried_out(upstream, route):
    c, shaped = talking(route)
    plays(upstream, shaped, proposal("Write one", "Write two"), say("Here is the plan."))
    tell(c, "/plan make files")
    assert states(c) == ["todo", "todo"], errors_of(c)
    actions.approve_plan(plan_of(c), 1, "alice", run="all")
    write = call("write_file", path="one.txt", content="Grüße")
    look = calls(call("write_file", path="two.txt", content="2"), call("list_files"))
    plays(upstream, shaped, write, done("wrote one"), look, done("wrote two"), say("Two files."))
    drive()
    assert states(c) == ["done", "done"], errors_of(c)
    assert plan_of(c).outcome == "Two files."
    assert (files_of(c) / "one.txt").read_text() == "Grüße"
    assert [each.state for each in calls_of(c, "list_files")] == ["done"]
    if "Gemini" in route:  # its newest models refuse what lacks it
        assert SIGNATURE in json.dumps(upstream.requests[3])


@pytest.mark.shows("thinking, given back signed")
def test_the_thinking_of_claude_goes_back_signed(upstream):
    c, shaped = talking("OpenAI to Anthropic")
    looks = think("I look.", **calls(call("list_files")))
    plays(upstream, shaped, looks, say("Nothing there."))
    tell(c, "What is here?")
    assert texts(c)[-1] == "Nothing there.", errors_of(c)
    assert texts(c, "reasoning") == ["I look."]
    assert SIGNATURE in json.dumps(upstream.requests[1])


@pytest.mark.shows("stop")
@BY_EVERY_ROUTE
def test_a_reply_is_stopped(upstream, route):
    c, shaped = talking(route)
    plays(upstream, shaped, silent("Let me"))

    async def story(worker):
        await in_db(person_says, c, "Hello", "alice")
        await eventually(lambda: Message.objects.filter(streaming=True, text="Let me").exists())
        await in_db(talk.stop_reply, c, "alice")
        await eventually(lambda: not c.turns.filter(state__in=["queued", "running"]).exists(), 2)

    happening(story)
    assert texts(c) == ["Let me"]


REFUSALS = {
    "OpenAI": {
        "busy": (429, {"message": "Rate limit reached for gpt-4.1 in organization org-1 on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 20s.", "type": "requests", "param": None, "code": "rate_limit_exceeded"}),
        "no credit": (429, {"message": "You exceeded your current quota, please check your plan and billing details.", "type": "insufficient_quota", "param": None, "code": "insufficient_quota"}),
        "bad key": (401, {"message": "Incorrect API key provided: k. You can find your API key at https://platform.openai.com/account/api-keys.", "type": "invalid_request_error", "param": None, "code": "invalid_api_key"}),
        "too long": (400, {"message": "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.", "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}),
        "broken": (500, {"message": "The server had an error while processing your request.", "type": "server_error", "param": None, "code": None}),
    },
    "Anthropic": {
        "busy": (429, {"type": "rate_limit_error", "message": "This request would exceed your organization's rate limit of 50 requests per minute."}),
        "overloaded": (529, {"type": "overloaded_error", "message": "Overloaded"}),
        "bad key": (401, {"type": "authentication_error", "message": "invalid x-api-key"}),
        "no credit": (400, {"type": "invalid_request_error", "message": "Your credit balance is too low to access the Anthropic API."}),
        "too long": (400, {"type": "invalid_request_error", "message": "prompt is too long: 213013 tokens > 200000 maximum"}),
        "broken": (500, {"type": "api_error", "message": "Internal server error"}),
    },
    "Gemini": {
        "busy": (429, {"code": 429, "message": "You exceeded your current quota, please check your plan and billing details. Please retry in 26.3s.", "status": "RESOURCE_EXHAUSTED", "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "26s"}]}),
        "bad key": (400, {"code": 400, "message": "API key not valid. Please pass a valid API key.", "status": "INVALID_ARGUMENT", "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}]}),
        "too long": (400, {"code": 400, "message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", "status": "INVALID_ARGUMENT"}),
        "overloaded": (503, {"code": 503, "message": "The model is overloaded. Please try again later.", "status": "UNAVAILABLE"}),
    },
}  # fmt: skip
KINDS = {"busy": "busy", "overloaded": "busy", "no credit": "key", "bad key": "key", "too long": "too_long", "broken": "server"}  # fmt: skip
REFUSED = [
    pytest.param(route, case, id=f"{route}-{case}", marks=pytest.mark.shows(case))
    for route in ROUTES
    for case in REFUSALS[route.split()[-1]]
]


def asked(provider, model, **more):
    """As the engine asks."""
    return ModelRequest(resolve(provider), model, [{"role": "user", "content": "Hello"}], **more)


async def reply_to(request):
    reply = [part async for part in stream(request)][-1]
    assert isinstance(reply, Reply)
    return reply


@pytest.mark.parametrize(("route", "case"), REFUSED)
async def test_a_refusal_is_what_it_is_in_its_words(upstream, route, case):
    provider, model, _ = ROUTES[route]
    status, error = REFUSALS[route.split()[-1]][case]
    body = {"type": "error", "error": error} if "Anthropic" in route else {"error": error}
    upstream.script.load([{"status": status, "body": body}] * 6)
    request = await in_db(asked, provider, model)
    with pytest.raises(ModelError) as caught:
        await reply_to(request)
    log.info("%s", " | ".join(map(str, (route, case, caught.value.kind, caught.value))))
    assert caught.value.kind == KINDS[case], caught.value


@pytest.mark.shows("its own words: key, model, limit")
@pytest.mark.parametrize(
    ("model", "key", "kind", "says"),
    [
        ("gpt", "sk-wrong", "bad_request", "No connected db"),  # it looks for keys in a database
        ("nobody", KEY, "bad_request", "nobody"),
        ("limited", KEY, "busy", ""),
    ],
)
async def test_its_own_refusals_are_what_they_are(model, key, kind, says):
    request = await in_db(asked, "litellm", model)
    request = replace(request, endpoint=replace(request.endpoint, key=key))
    with pytest.raises(ModelError) as caught:
        await reply_to(request)
    log.info("%s", " | ".join(map(str, (model, caught.value.kind, caught.value))))
    assert caught.value.kind == kind and says in caught.value.detail


@pytest.mark.shows("its mock_response")
async def test_what_it_answers_by_itself(address):
    assert (await reply_to(await in_db(asked, "litellm", "mocked"))).text == "Said by nobody."


@pytest.mark.shows("its list of models")
async def test_its_models_are_listed():
    listed = {model.id for model in await models_of(await in_db(resolve, "litellm"))}
    assert {"gpt", "claude", "gemini"} <= listed


@pytest.mark.shows("an upstream that breaks off")
@pytest.mark.parametrize(
    "route", ["OpenAI", "OpenAI to Anthropic", "OpenAI to Gemini", "Anthropic"]
)
async def test_what_breaks_off_behind_it_is_no_reply(upstream, route):
    provider, model, shaped = ROUTES[route]
    cut = {**shaped(say("Let me see what I can find for you.")), "cut": "hard"}
    if "raw" in cut:
        cut["raw"] = cut["raw"][: len(cut["raw"]) // 2]
    upstream.script.load([cut] * 6)
    request = await in_db(asked, provider, model)
    with pytest.raises(ModelError) as caught:
        await reply_to(request)
    log.info("%s", " | ".join(map(str, (route, caught.value.kind, caught.value))))
    assert caught.value.transient, caught.value
