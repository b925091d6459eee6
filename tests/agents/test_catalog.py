"""What is known of the models there are: kept, read without asking anybody, and used."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import httpx
import pytest
from asgiref.sync import async_to_sync
from django.utils import timezone

from agents import http
from agents.models import Provider, ProviderListing
from tests.fake_model import ScriptedTransport, say
from tests.inner import (
    ProviderEdit,
    ProviderKey,
    add_provider,
    catalog,
    change_provider,
    discovery,
    listing_of,
    model_info,
    model_problem,
    resolve,
    set_key,
    window_for,
)
from tests.world import conversation, scripted, tell

pytestmark = pytest.mark.django_db(transaction=True)

Serve = Callable[..., list[httpx.Request]]


@pytest.fixture
def serve() -> Serve:
    """A server that answers everything with this list, or this status; gives what it was asked."""

    def from_now_on(*models: dict[str, Any], status: int = 200) -> list[httpx.Request]:
        asked: list[httpx.Request] = []

        def answer(request: httpx.Request) -> httpx.Response:
            asked.append(request)
            error = {"message": "Incorrect API key provided: mk-1"}
            document = {"data": list(models)} if status == 200 else {"error": error}
            return httpx.Response(status, json=document)

        http.use(httpx.MockTransport(answer))
        return asked

    return from_now_on


def ask(name: str) -> catalog.Listing:
    return async_to_sync(catalog.ask)(name)


def test_what_a_provider_lists_is_kept_and_read_without_asking_again(serve: Serve) -> None:
    set_key("mistral", "mk-1", "alice")
    can = {"completion_chat": True, "vision": True}
    asked = serve({"id": "pixtral", "max_context_length": 131072, "capabilities": can})
    ask("mistral")
    count = len(asked)
    found = model_info(resolve("mistral"), "pixtral")
    assert found and (found.context_window, found.sees_images) == (131072, True)
    assert model_info(resolve("mistral"), "other") is None
    assert listing_of("mistral").is_new
    assert len(asked) == count


def test_a_refusal_keeps_the_models_and_says_the_servers_words_without_the_key(
    serve: Serve,
) -> None:
    set_key("mistral", "mk-1-secret", "alice")
    serve({"id": "m"})
    ask("mistral")
    serve(status=401)
    listing = ask("mistral")
    assert (listing.kind, listing.status) == ("key", 401)
    assert listing.words.startswith("Incorrect API key provided")
    assert "secret" not in str(listing)
    assert [model.id for model in listing.models] == ["m"]


def test_a_provider_without_its_key_is_not_asked(serve: Serve) -> None:
    asked = serve()
    assert ask("groq").problem.startswith("No key for Groq")
    assert asked == []


def test_what_was_said_to_another_key_counts_no_more(serve: Serve) -> None:
    set_key("mistral", "mk-1", "alice")
    serve({"id": "m"})
    ask("mistral")
    set_key("mistral", "mk-2", "alice")
    assert listing_of("mistral").asked_at is None


def test_what_was_said_at_another_address_is_not_read(serve: Serve, settings: Any) -> None:
    settings.PROVIDER_ADDRESSES = {"openai": "http://one.example/v1"}
    serve({"id": "m"})
    ask("openai")
    assert model_info(resolve("openai"), "m")
    settings.PROVIDER_ADDRESSES = {"openai": "http://two.example/v1"}
    assert model_info(resolve("openai"), "m") is None
    assert model_problem("openai", "other") == ""


def test_who_was_asked_lately_is_asked_again_only_if_wanted_anew(serve: Serve) -> None:
    add_provider("mine", ProviderEdit(base_url="http://x.example/v1"), "alice")
    asked = serve({"id": "m"})
    for anew, count in ((False, 1), (False, 1), (True, 2)):
        async_to_sync(catalog.ask_all)(["mine", "nowhere"], anew=anew)
        assert len(asked) == count


# A model that does not exist


def listed(name: str, *models: str) -> None:
    """As if the provider had been asked just now."""

    row = ProviderListing.objects.create(
        provider=name, address=resolve(name).base_url, seconds=0.1, asked_at=timezone.now()
    )
    for model in models:
        row.models.create(name=model, is_chat=True)


@pytest.mark.parametrize(
    ("provider", "there", "named", "is_missing"),
    [
        ("openai", ["gpt-5"], "gpt-5", False),
        ("openai", ["gpt-5"], "gpt-55", True),
        ("openai", [], "gpt-55", False),  # it lists nothing
        ("openai", ["anthropic/*"], "anthropic/claude", False),  # a proxy's pattern
        ("ollama", ["qwen3:latest"], "qwen3", False),
        ("ollama", ["qwen3:latest"], "qwen3:8b", True),
        ("gemini", ["gemini-3-pro"], "models/gemini-3-pro", False),
        ("openrouter", ["qwen/qwen3-max"], "qwen/qwen3-max:nitro", False),
        ("openrouter", ["qwen/qwen3-max"], "qwen/qwen3-maxx", True),
        ("anthropic", ["claude-sonnet-4-5-20250929"], "claude-sonnet-4-5", False),
        ("anthropic", ["claude-3-5-haiku-20241022"], "claude-3-5-haiku-latest", False),
        ("anthropic", ["claude-sonnet-4-5-20250929"], "claude-sonet-4-5", True),
        ("azure", ["gpt-5"], "my-deployment", False),  # its list is not of deployments
        ("llamacpp", ["gemma.gguf"], "anything", False),  # it takes any name
    ],
)
def test_a_model_is_missing_only_where_the_list_says_so(
    settings: Any, provider: str, there: list[str], named: str, is_missing: bool
) -> None:
    settings.PROVIDER_KEYS = {
        name: ProviderKey("X", "key")
        for name in ("openai", "gemini", "openrouter", "anthropic", "azure")
    }
    settings.PROVIDER_ADDRESSES = {"azure": "https://docs.openai.azure.com"}
    listed(provider, *there)
    assert bool(model_problem(provider, named)) is is_missing


def test_what_is_missing_is_named_with_a_remedy() -> None:
    listed("ollama", "qwen3:8b")
    assert model_problem("ollama", "qwen3:14b") == (
        "There is no model qwen3:14b at Ollama: run ollama pull qwen3:14b, or choose another."
    )
    assert model_problem("nowhere", "m") == (
        "There is no provider “nowhere”: choose another, or add it in Settings > Models."
    )
    assert model_problem("mistral", "m") == (
        "No key for Mistral: set MISTRAL_API_KEY or enter it in Settings > Models."
    )
    assert model_problem("demo", "docs") == ""


def test_an_old_list_proves_nothing() -> None:
    listed("ollama", "qwen3:8b")
    ProviderListing.objects.update(asked_at=timezone.now() - timedelta(days=2))
    assert model_problem("ollama", "qwen3:14b") == ""


# The window of a request


@pytest.mark.parametrize(
    ("provider", "facts", "window"),
    [
        ("openai", {"context_window": 400_000}, 400_000),
        ("openai", {}, 32_768),
        ("ollama", {"context_window": 131_072}, 32_768),  # it may load it with much less
        ("ollama", {"context_window": 131_072, "loaded_window": 4_096}, 4_096),
        ("ollama", {"context_window": 8_192}, 8_192),
    ],
)
def test_the_window_is_what_the_server_says(
    settings: Any, provider: str, facts: dict[str, int], window: int
) -> None:
    settings.PROVIDER_KEYS = {"openai": ProviderKey("OPENAI_API_KEY", "k")}
    listed(provider, "m")
    ProviderListing.objects.get().models.update(**facts)
    assert window_for({"provider": provider, "model": "m"}) == window


@pytest.mark.parametrize(("said", "is_kept"), [({}, False), ({"context_window": 32768}, True)])
def test_a_small_window_of_the_model_shortens_the_request_of_an_agent_that_says_none(
    said: dict[str, int], is_kept: bool
) -> None:
    Provider.objects.create(name="small", base_url="http://x.example/v1")
    listed("small", "m")
    ProviderListing.objects.get().models.update(context_window=1024)
    c = conversation(provider="small", model="m", plan={"enabled": False}, tools={}, **said)
    model = scripted(say("One."), say("Two."))
    tell(c, "first " + "word " * 800)
    tell(c, "second")
    texts = [str(message["content"]) for message in model.requests[-1]["messages"]]
    assert any(text.startswith("first ") for text in texts) is is_kept


# What is at hand


def discover(**how: bool) -> discovery.Found:
    return async_to_sync(discovery.discover)(**how)


def test_what_runs_here_and_whose_key_is_set_is_at_hand_and_the_demo_last(
    settings: Any, serve: Serve
) -> None:
    settings.PROVIDER_ADDRESSES = {}
    settings.PROVIDER_KEYS = {"groq": ProviderKey("GROQ_API_KEY", "gsk-1")}
    serve({"id": "gpt-oss-20b"}, {"id": "whisper-large"})
    found = discover()
    assert [place.provider for place in found.places] == [
        "ollama", "lmstudio", "llamacpp", "groq", "demo",
    ]  # fmt: skip
    groq = found.places[3]
    assert (groq.note, [m.id for m in groq.models]) == ("key from GROQ_API_KEY", ["gpt-oss-20b"])
    assert found.places[0].note == "on this computer"
    assert found.models == 5


def test_of_what_runs_here_the_smallest_that_calls_tools_is_suggested() -> None:
    listed("ollama", "big", "small", "blind")
    rows = ProviderListing.objects.get().models
    rows.filter(name="big").update(size=9, calls_tools=True)
    rows.filter(name="small").update(size=5, calls_tools=True)
    rows.filter(name="blind").update(size=1, calls_tools=False)
    assert discovery.found_in([listing_of("ollama")]).suggested == ("ollama", "small")


def test_without_anything_else_the_demo_is_suggested_and_silence_is_said(serve: Serve) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("nobody is there")

    http.use(httpx.MockTransport(refuse))
    found = discover(anew=True)
    assert found.suggested == ("demo", "docs") and not found.has_own
    assert found.silent == ("Ollama", "LM Studio")


def test_a_key_that_is_refused_is_said(serve: Serve) -> None:
    set_key("openai", "sk-wrong", "alice")
    serve(status=401)
    assert "OpenAI refused the key." in discover(anew=True).problems


def test_a_change_of_its_address_forgets_what_was_listed() -> None:
    add_provider("mine", ProviderEdit(base_url="http://one.example/v1"), "alice")
    listed("mine", "m")
    change_provider("mine", ProviderEdit(base_url="http://two.example/v1"), "alice")
    assert not ProviderListing.objects.exists()


def test_what_is_answered_to_a_key_that_was_changed_meanwhile_is_not_kept() -> None:
    set_key("mistral", "mk-1", "alice")
    asked_with = resolve("mistral")
    answer = catalog.Listing("mistral", kind="key", problem="The key was refused.")
    set_key("mistral", "mk-2", "alice")
    catalog.store(asked_with, answer, 0.1)
    assert listing_of("mistral").asked_at is None
    catalog.store(resolve("mistral"), answer, 0.1)
    assert listing_of("mistral").kind == "key"


# The window that a local server has loaded a model with.


class Ollama:
    """Loads a model when it is asked for something, with the window of its settings."""

    def __init__(self, window: int, *loaded: str) -> None:
        self.window, self.loaded, self.asked = window, list(loaded), []  # type: ignore[var-annotated]
        self.prompts: list[Any] = []
        self.model = ScriptedTransport([say("Hi.")] * 5)

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        self.asked.append(path)
        if path == "/v1/chat/completions":
            return await self.model.handle_async_request(request)
        running = [{"name": name, "context_length": self.window} for name in self.loaded]
        if path == "/api/generate":
            self.prompts.append(json.loads(request.content))
            self.loaded.append("qwen3:8b")
        facts = {"model_info": {"qwen3.context_length": 40960}, "capabilities": ["completion"]}
        answers = {
            "/api/tags": {"models": [{"name": "qwen3:8b", "size": 5}]},
            "/api/ps": {"models": running},
            "/api/show": facts,
            "/api/generate": {"model": "qwen3:8b", "response": "", "done": True},
        }
        found = path in answers
        return httpx.Response(200 if found else 404, json=answers.get(path, {}))


@pytest.fixture
def ollama() -> Callable[..., Ollama]:
    def serve(window: int, *loaded: str) -> Ollama:
        server = Ollama(window, *loaded)
        http.use(httpx.MockTransport(server))
        return server

    return serve


def long_conversation(**values: Any) -> Any:
    return conversation(provider="ollama", model="qwen3:8b", **values)


def test_the_first_prompt_is_cut_to_the_window_with_which_ollama_loads_the_model(
    ollama: Callable[..., Ollama],
) -> None:
    server = ollama(4096)
    c = long_conversation()
    tell(c, "one " * 3000)
    tell(c, "two " * 2000)
    assert server.prompts == [{"model": "qwen3:8b", "stream": False}], "it is loaded once"
    asked = server.asked
    assert asked.index("/api/generate") < asked.index("/v1/chat/completions")
    sent = json.dumps(server.model.requests[-1]["messages"])
    assert len(sent) < 4096 * 4 and "one one" not in sent and "two two" in sent
    assert window_for({"provider": "ollama", "model": "qwen3:8b"}) == 4096


def test_a_model_that_is_loaded_is_only_asked_about(ollama: Callable[..., Ollama]) -> None:
    server = ollama(8192, "qwen3:8b")
    tell(long_conversation(), "Hello")
    assert not server.prompts
    server.window = 16384  # loaded anew, with another window
    tell(long_conversation(), "Hello")
    assert window_for({"provider": "ollama", "model": "qwen3:8b"}) == 16384
    assert server.asked.count("/api/tags") == 1, "the models are listed once"


def test_an_agent_that_names_its_window_asks_nobody(ollama: Callable[..., Ollama]) -> None:
    server = ollama(4096)
    tell(long_conversation(context_window=8192), "Hello")
    assert server.asked == ["/v1/chat/completions"]


def test_a_server_that_says_nothing_of_windows_answers_all_the_same() -> None:
    model = scripted(say("Hi."))
    tell(long_conversation(), "Hello")
    assert len(model.requests) == 1
