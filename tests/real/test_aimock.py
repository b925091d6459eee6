"""aimock as OpenAI, Anthropic, OpenRouter, Groq and, behind LiteLLM, Gemini; and what it breaks.

The whole flow by its OpenAI shape is in tests/test_aimock.py.
"""

import json

import pytest

from agents.db import in_db
from agents.llm.client import stream
from agents.llm.errors import ModelError
from agents.llm.providers import ProviderEdit, add_provider, resolve
from agents.llm.reply import Reply
from agents.llm.request import ModelRequest
from tests.console.serving import free_port
from tests.peers import programs, serving
from tests.real.litellm import KEY, proxy
from tests.test_aimock import FIXTURES, calls, says
from tests.world import calls_of, conversation, errors_of, files_of, plan_of, states, tell, texts

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.server("aimock")]

SHAPES = ("openai", "anthropic", "openrouter", "groq", "gemini")
BY_EACH = pytest.mark.parametrize("shape", SHAPES)
MODELS = {"openai": "gpt-4.1", "anthropic": "claude-opus-5", "openrouter": "anthropic/claude-opus-5", "groq": "openai/gpt-oss-120b", "gemini": "gemini"}  # fmt: skip
REFUSALS = {
    "busy": ("busy", 429, {"message": "Rate limit reached. Please try again in 7s.", "type": "rate_limit_error", "code": "rate_limit_exceeded"}),
    "bad key": ("key", 401, {"message": "Invalid API key provided", "type": "authentication_error", "code": "invalid_api_key"}),
    "too long": ("too_long", 400, {"message": "prompt is too long: 213013 tokens > 200000 maximum", "type": "invalid_request_error", "code": "context_length_exceeded"}),
    "overloaded": ("busy", 529, {"message": "Overloaded", "type": "overloaded_error"}),
    "broken": ("server", 500, {"message": "Internal error", "type": "api_error"}),
}  # fmt: skip
WORK = 4  # where the fixtures of a running plan begin
LONG = "A long story about docs that were tidy once. " * 20


def thinks(text, **match):
    return {"match": match, "response": {"content": text, "reasoning": "Let me see.", "reasoningSignature": "c2ln"}}  # fmt: skip


OWN = [
    *(
        {"match": {"userMessage": case}, "response": {"error": error, "status": status}}
        for case, (_, status, error) in REFUSALS.items()
    ),
    {**says(LONG, userMessage="cut it short"), "latency": 50, "truncateAfterChunks": 3},
    {**says(LONG, userMessage="hang up"), "latency": 50, "disconnectAfterMs": 120},
    calls(("list_files", {}), userMessage="look twice", hasToolResult=False),
    thinks("Nothing there.", userMessage="look twice", hasToolResult=True),
    thinks("I thought.", userMessage="think"),
    says("Good morning.", userMessage="Hello"),
]


@pytest.fixture(scope="module")
def aimock(tmp_path_factory):
    folder = tmp_path_factory.mktemp("aimock")
    # Where a server wants system messages first, what was said before is in the user's words too.
    fixtures = [*FIXTURES[WORK:], *FIXTURES[:WORK], *OWN]
    (folder / "fixtures.json").write_text(json.dumps({"fixtures": fixtures}))
    url = f"http://127.0.0.1:{(port := free_port())}"
    with serving([programs() / "llmock", "-p", str(port), "-f", folder / "fixtures.json"], url):
        yield url


@pytest.fixture(scope="module")
def gemini(aimock, tmp_path_factory):
    """LiteLLM before it, which asks it as it asks Gemini."""
    models = {"gemini": {"model": "gemini/gemini-3-pro-preview", "api_base": f"{aimock}/v1beta"}}
    with proxy(tmp_path_factory.mktemp("litellm"), models) as url:
        yield f"{url}/v1"


@pytest.fixture
def headers():
    return {}


@pytest.fixture
def named(request, shape, headers, aimock, transactional_db):
    """Provider and model by which it is asked in a shape."""
    base = {"openrouter": f"{aimock}/api/v1", "groq": f"{aimock}/openai/v1"}
    is_behind = shape == "gemini"
    url = request.getfixturevalue("gemini") if is_behind else base.get(shape, f"{aimock}/v1")
    add_provider(shape, ProviderEdit(base_url=url, key=KEY, headers=headers), "alice")
    yield shape, MODELS[shape]


@pytest.fixture
def c(named):
    provider, model = named
    return conversation(provider=provider, model=model)


async def error_of(named, words):
    provider, model = named
    endpoint = await in_db(resolve, provider)
    request = ModelRequest(endpoint, model, [{"role": "user", "content": words}])
    with pytest.raises(ModelError) as caught:
        [part async for part in stream(request) if isinstance(part, Reply)]
    return caught.value


@pytest.mark.shows("chat as OpenAI, Anthropic, OpenRouter, Groq, Gemini")
@BY_EACH
def test_a_chat_is_answered(c):
    tell(c, "Hello")
    assert texts(c) == ["Good morning."], errors_of(c)
    assert c.turns.get().tokens_out > 0


def is_carried_out(c):
    tell(c, "/plan make files")
    tell(c, "drop the third")
    assert states(c) == ["todo", "todo"], errors_of(c)
    tell(c, "go ahead")
    assert states(c) == ["done", "done"], errors_of(c)
    assert (plan_of(c).state, plan_of(c).outcome) == ("done", "Two files.")
    assert (files_of(c) / "two.txt").read_text() == "2"


# As Gemini it does not match what LiteLLM sends it with a result; that plan is in test_litellm.
@pytest.mark.shows("a plan with tools as each but Gemini")
@pytest.mark.parametrize("shape", SHAPES[:-1])
def test_a_plan_is_revised_approved_and_carried_out(c):
    is_carried_out(c)


@pytest.mark.shows("a plan while one request in five fails")
@pytest.mark.parametrize("headers", [{"x-aimock-chaos-drop": "0.1", "x-aimock-chaos-disconnect": "0.1"}], ids=["chaos"])  # fmt: skip
@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_a_plan_is_carried_out_by_a_server_that_fails_now_and_then(c):
    is_carried_out(c)


@pytest.mark.shows("thinking between calls")
@pytest.mark.parametrize("shape", ["openai", "anthropic", "openrouter"])
def test_thinking_is_apart(c):
    tell(c, "think")
    tell(c, "look twice")
    assert (texts(c)[0], texts(c)[-1]) == ("I thought.", "Nothing there."), errors_of(c)
    assert texts(c, "reasoning") == ["Let me see."] * 2
    assert [call.state for call in calls_of(c)] == ["done"]


@pytest.mark.shows("429, 401, too long, overloaded, broken")
@pytest.mark.parametrize("case", REFUSALS)
@BY_EACH
async def test_a_refusal_is_what_it_is(named, case):
    error = await error_of(named, case)
    assert error.kind == REFUSALS[case][0], error


CHAOS = {"drop": "server", "malformed": "server", "disconnect": "unreachable"}


@pytest.mark.shows("chaos: dropped, malformed, disconnected")
@pytest.mark.parametrize(
    ("headers", "kind"),
    [({f"x-aimock-chaos-{what}": "1"}, kind) for what, kind in CHAOS.items()],
    ids=CHAOS,
)
@pytest.mark.parametrize("shape", ["openai", "anthropic", "openrouter", "groq"])
async def test_what_it_breaks_is_told_apart(named, kind):
    error = await error_of(named, "Hello")
    assert error.kind == kind and error.transient, error


@pytest.mark.shows("a stream cut short")
@pytest.mark.parametrize("words", ["cut it short", "hang up"])
@BY_EACH
async def test_a_stream_that_is_cut_is_no_reply(named, words):
    error = await error_of(named, words)
    kind = "server" if named[0] == "gemini" else "cut"  # which is what LiteLLM makes of it
    assert error.kind == kind and error.transient, error
