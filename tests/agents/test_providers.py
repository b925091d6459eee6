"""Which provider a name leads to."""

from __future__ import annotations

from typing import Any

import pytest

from agents.errors import Invalid
from agents.llm.providers import DEMO_LABEL, default_model, provider_names, resolve
from agents.models import Provider

pytestmark = pytest.mark.django_db


def test_the_built_in_providers_are_there_without_any_setting() -> None:
    assert provider_names() == ["openai", "ollama", "lmstudio", "demo"]
    assert resolve("ollama").base_url == "http://127.0.0.1:11434/v1"
    assert resolve("lmstudio").base_url == "http://127.0.0.1:1234/v1"
    assert resolve("demo").label == DEMO_LABEL


def test_openai_takes_address_and_key_from_the_environment(settings: Any) -> None:
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = "http://here/v1", " sk-alice "
    endpoint = resolve("openai")
    assert (endpoint.base_url, endpoint.key) == ("http://here/v1", "sk-alice")


def test_an_added_provider_is_found_by_its_name() -> None:
    Provider.objects.create(
        name="groq", base_url="https://groq.invalid/v1", key="gsk", headers={"X-Team": "docs"},
        flags={"stream_options": False},
    )  # fmt: skip
    endpoint = resolve("groq")
    assert (endpoint.key, endpoint.headers, endpoint.label) == ("gsk", {"X-Team": "docs"}, "groq")
    assert endpoint.flags == {"stream_options": False}
    assert provider_names()[-1] == "groq"


def test_an_added_provider_goes_before_a_built_in_one_of_that_name() -> None:
    Provider.objects.create(name="ollama", base_url="http://big-machine:11434/v1")
    assert resolve("ollama").base_url == "http://big-machine:11434/v1"
    assert provider_names().count("ollama") == 1


def test_the_key_of_the_environment_never_goes_to_an_added_address(settings: Any) -> None:
    settings.OPENAI_API_KEY = "sk-alice"
    Provider.objects.create(name="openai", base_url="http://elsewhere/v1")
    assert resolve("openai").key == ""


def test_an_unknown_provider_is_refused_with_those_there_are() -> None:
    with pytest.raises(Invalid, match=r"no provider “nowhere”.*openai, ollama, lmstudio, demo"):
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
