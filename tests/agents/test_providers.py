"""Which provider a name leads to."""

from __future__ import annotations

import os
from typing import Any

import pytest

from agents.errors import Invalid
from agents.models import Provider
from tests.agents.test_vendors import VENDORS, streamed
from tests.fake_model import FakeModelServer
from tests.inner import (
    DEMO_LABEL,
    KNOWN_PROVIDERS,
    ProviderEdit,
    ProviderKey,
    add_provider,
    change_provider,
    default_model,
    env,
    lacks,
    provider_names,
    remove_key,
    resolve,
    set_key,
)
from tests.world import conversation, tell, texts

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_built_in_providers_are_there_without_any_setting() -> None:
    assert provider_names() == [
        "ollama", "lmstudio", "llamacpp", "vllm", "openai", "anthropic", "gemini", "openrouter",
        "deepseek", "mistral", "groq", "xai", "azure", "demo",
    ]  # fmt: skip
    assert resolve("ollama").base_url == "http://127.0.0.1:11434/v1"
    assert resolve("lmstudio").base_url == "http://127.0.0.1:1234/v1"
    assert resolve("demo").label == DEMO_LABEL


def test_openai_takes_address_and_key_from_the_environment(settings: Any) -> None:
    settings.PROVIDER_ADDRESSES = {"openai": "http://here/v1"}
    settings.PROVIDER_KEYS = {"openai": ProviderKey("OPENAI_API_KEY", "sk-alice")}
    endpoint = resolve("openai")
    assert (endpoint.base_url, endpoint.key) == ("http://here/v1", "sk-alice")


def test_every_key_is_read_from_its_variable_and_taken_out_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    variables = [variable for known in KNOWN_PROVIDERS for variable in known.keys]
    for variable in variables:
        monkeypatch.setenv(variable, f"key-of-{variable}")
    found = env.provider_keys()
    assert not any(variable in os.environ for variable in variables)
    assert found["mistral"] == ("MISTRAL_API_KEY", "key-of-MISTRAL_API_KEY")
    # Of two, Google's own clients take this one.
    assert found["gemini"] == ("GOOGLE_API_KEY", "key-of-GOOGLE_API_KEY")
    assert set(found) == {known.name for known in KNOWN_PROVIDERS if known.keys}


def test_a_line_of_the_table_names_its_address_key_and_sources() -> None:
    for known in KNOWN_PROVIDERS:
        assert known.sources and all(each.startswith("https://") for each in known.sources)
        assert known.address or known.address_variable, known.name
        assert known.is_local or known.keys, known.name


@pytest.mark.parametrize(
    ("name", "typed", "address"),
    [
        ("azure", "https://docs.openai.azure.com/", "https://docs.openai.azure.com/openai/v1"),
        ("azure", "https://docs.openai.azure.com/openai/v1", "https://docs.openai.azure.com/openai/v1"),
        ("ours", "https://docs.services.ai.azure.com", "https://docs.services.ai.azure.com/openai/v1"),
        ("anthropic", "https://proxy.example", "https://proxy.example/v1"),
        ("anthropic", "https://proxy.example/claude", "https://proxy.example/claude"),
        ("mine", "http://127.0.0.1:9/v1/", "http://127.0.0.1:9/v1"),
    ],
)  # fmt: skip
def test_an_address_is_completed_by_its_providers_rules(
    name: str, typed: str, address: str
) -> None:
    Provider.objects.create(name=name, base_url=typed)
    assert resolve(name).base_url == address


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("mistral", "No key for Mistral: set MISTRAL_API_KEY or enter it in Settings > Models."),
        ("gemini", "No key for Gemini: set GEMINI_API_KEY or enter it in Settings > Models."),
        (
            "azure",
            "No address for Azure OpenAI: set AZURE_OPENAI_ENDPOINT or enter it in "
            "Settings > Models.",
        ),
        ("ollama", ""),
        ("demo", ""),
    ],
)
def test_what_a_provider_lacks_is_said_with_the_remedy(name: str, sentence: str) -> None:
    assert lacks(resolve(name)) == sentence


def test_at_another_address_than_the_vendors_nobody_knows_whether_a_key_is_wanted() -> None:
    Provider.objects.create(name="openai", base_url="http://proxy.example/v1")
    assert lacks(resolve("openai")) == ""


def test_nobody_asks_planside_itself_for_models(settings: Any) -> None:
    settings.PLANSIDE_PORT = 8000
    assert lacks(resolve("vllm")).startswith("http://127.0.0.1:8000/v1 is Planside's own address")
    settings.PROVIDER_ADDRESSES = {"vllm": "http://127.0.0.1:8001/v1"}
    assert lacks(resolve("vllm")) == ""


# A key that is entered


def test_a_key_that_is_entered_goes_to_the_providers_own_address() -> None:
    set_key("mistral", "mk-1", "alice")
    endpoint = resolve("mistral")
    assert (endpoint.base_url, endpoint.key) == ("https://api.mistral.ai/v1", "mk-1")
    assert endpoint.label == "Mistral"


def test_an_entered_key_is_replaced_and_removed_and_the_environments_counts_again(
    settings: Any,
) -> None:
    settings.PROVIDER_KEYS = {"groq": ProviderKey("GROQ_API_KEY", "gsk-environment")}
    set_key("groq", "gsk-1", "alice")
    set_key("groq", "gsk-2", "alice")
    assert resolve("groq").key == "gsk-2"
    remove_key("groq", "alice")
    assert resolve("groq").key == "gsk-environment"
    assert not Provider.objects.exists()


def test_removing_a_key_keeps_what_else_was_entered() -> None:
    add_provider(
        "groq", ProviderEdit(key="gsk-1", prices={"m": {"input": 1, "output": 2}}), "alice"
    )
    remove_key("groq", "alice")
    assert Provider.objects.get(name="groq").key == ""
    assert resolve("groq").prices == {"m": {"input": 1.0, "output": 2.0}}


def test_a_key_never_follows_to_another_server() -> None:
    set_key("mistral", "mk-1", "alice")
    with pytest.raises(Invalid, match="leads to another server than the key was entered for"):
        change_provider("mistral", ProviderEdit(base_url="https://elsewhere.example/v1"), "alice")


def test_an_azure_key_comes_with_its_resource() -> None:
    set_key("azure", "az-1", "alice", "https://docs.openai.azure.com")
    assert resolve("azure").base_url == "https://docs.openai.azure.com/openai/v1"


def test_an_added_provider_is_found_by_its_name() -> None:
    Provider.objects.create(
        name="router", base_url="https://router.invalid/v1", key="gsk", headers={"X-Team": "docs"},
        flags={"stream_options": False},
    )  # fmt: skip
    endpoint = resolve("router")
    assert (endpoint.key, endpoint.headers, endpoint.label) == ("gsk", {"X-Team": "docs"}, "router")
    assert endpoint.flags == {"stream_options": False}
    assert provider_names()[-1] == "router"


def test_an_added_provider_goes_before_a_built_in_one_of_that_name() -> None:
    Provider.objects.create(name="ollama", base_url="http://big-machine:11434/v1")
    assert resolve("ollama").base_url == "http://big-machine:11434/v1"
    assert provider_names().count("ollama") == 1


def test_the_key_of_the_environment_never_goes_to_an_added_address(settings: Any) -> None:
    settings.PROVIDER_KEYS = {"openai": ProviderKey("OPENAI_API_KEY", "sk-alice")}
    Provider.objects.create(name="openai", base_url="http://elsewhere/v1")
    assert resolve("openai").key == ""


def test_an_unknown_provider_is_refused_with_those_there_are() -> None:
    with pytest.raises(Invalid, match=r"no provider “nowhere”.*ollama.*openai.*azure, demo"):
        resolve("nowhere")


def test_a_key_is_not_in_the_repr() -> None:
    Provider.objects.create(
        name="mine", base_url="http://x/v1", key="sk-alice", headers={"K": "secret"}
    )
    assert "sk-alice" not in repr(resolve("mine")) and "secret" not in repr(resolve("mine"))


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("demo/docs", ("demo", "docs")),
        ("ollama/qwen3:8b", ("ollama", "qwen3:8b")),
        ("router/meta/llama-4", ("router", "meta/llama-4")),
    ],
)
def test_the_default_model_is_a_provider_and_a_name(
    settings: Any, setting: str, expected: tuple[str, str]
) -> None:
    settings.PLANSIDE_MODEL = setting
    assert default_model() == expected


def test_a_default_model_without_a_provider_is_refused(settings: Any) -> None:
    settings.PLANSIDE_MODEL = "gpt-5"
    with pytest.raises(Invalid, match="PLANSIDE_MODEL is “gpt-5”"):
        default_model()


# The protocol of a server that has a name of one's own


CLAUDE = [
    ("https://api.example.com/anthropic", "https://api.example.com/anthropic/v1"),
    ("https://api.example.com/anthropic/v1", "https://api.example.com/anthropic/v1"),
    ("https://api.example.com", "https://api.example.com/v1"),
    ("https://api.example.com/v1/messages", "https://api.example.com/v1"),
]


@pytest.mark.parametrize(("typed", "address"), CLAUDE)
def test_a_server_with_a_name_of_its_own_may_speak_anthropics_messages(typed, address):
    """Its address is written as for Anthropic's own clients, which add /v1."""
    add_provider("mine", ProviderEdit(base_url=typed, api="anthropic_messages"), "alice")
    assert (resolve("mine").api, resolve("mine").base_url) == ("anthropic_messages", address)


@pytest.mark.sockets
def test_an_agent_is_answered_over_the_protocol_of_its_provider():
    vendor = VENDORS["anthropic"]
    with FakeModelServer([streamed(vendor, vendor["chat"]["stream"])] * 2) as server:
        root = server.url.removesuffix("/v1")
        add_provider(
            "mine", ProviderEdit(base_url=root, key="k", api="anthropic_messages"), "alice"
        )
        c = conversation(provider="mine", model="m")
        tell(c, "Hello")
        assert texts(c, role="assistant") == [vendor["chat"]["text"]]
        assert "max_tokens" in server.requests[0] and server.requests[0]["system"]


def test_a_protocol_that_nobody_speaks_is_refused():
    with pytest.raises(Invalid, match="There is no protocol 'carrier pigeon'"):
        add_provider(
            "mine", ProviderEdit(base_url="http://x.example", api="carrier pigeon"), "alice"
        )


def test_without_a_word_it_is_that_of_the_name_or_the_address():
    add_provider("claude", ProviderEdit(base_url="https://api.anthropic.com"), "alice")
    add_provider("other", ProviderEdit(base_url="https://other.example/v1"), "alice")
    assert (resolve("claude").api, resolve("other").api) == (
        "anthropic_messages",
        "chat_completions",
    )
    change_provider("claude", ProviderEdit(api="chat_completions"), "alice")
    assert resolve("claude").api == "chat_completions"
    change_provider("claude", ProviderEdit(key="k"), "alice")
    assert resolve("claude").api == "chat_completions", "a change leaves what it does not name"
