"""Where models live: the providers built in, and those an admin has added."""

from __future__ import annotations

from django.conf import settings

from agents.demo import DEMO_URL
from agents.errors import Invalid
from agents.llm.request import Endpoint
from agents.models import Provider
from agents.statements import fetch_one
from agents.telemetry.redaction import register_secrets

__all__ = ["DEMO_LABEL", "Endpoint", "default_model", "names", "resolve"]

ADDED = "SELECT id FROM agents_provider WHERE name = %s"
DEMO_LABEL = "Demo model (scripted, offline)"


def resolve(provider_name: str) -> Endpoint:
    """The endpoint of a provider. One that an admin has added goes before a built-in one."""
    name = provider_name.strip()
    if fetch_one(ADDED, [name]):
        return added(Provider.objects.get(name=name))
    if name in built_in():
        return built_in()[name]
    known = ", ".join(names())
    raise Invalid(
        f"There is no provider “{name}”. Known are {known}; add others in Settings > Models."
    )


def names() -> list[str]:
    """All providers, the built-in ones first."""
    own = list(built_in())
    rows = Provider.objects.order_by("name").values_list("name", flat=True)
    return own + [name for name in rows if name not in own]


def default_model() -> tuple[str, str]:
    """Provider and model of new agents, from PLANSIDE_MODEL."""
    provider, _, model = str(settings.PLANSIDE_MODEL).partition("/")
    if not provider or not model:
        written = settings.PLANSIDE_MODEL
        raise Invalid(f"PLANSIDE_MODEL is “{written}”; write it as in ollama/qwen3:8b.")
    return provider, model


def built_in() -> dict[str, Endpoint]:
    openai = Endpoint(
        "openai", settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY.strip(), label="OpenAI"
    )
    return {
        "openai": openai,
        "ollama": Endpoint("ollama", "http://127.0.0.1:11434/v1", label="Ollama"),
        "lmstudio": Endpoint("lmstudio", "http://127.0.0.1:1234/v1", label="LM Studio"),
        "demo": Endpoint("demo", DEMO_URL, label=DEMO_LABEL),
    }


def added(row: Provider) -> Endpoint:
    """The row alone counts: the key of a built-in provider never goes to another address."""
    headers = {str(name): str(value) for name, value in row.headers.items()}
    register_secrets((row.key.strip(), *headers.values()))
    known = built_in().get(row.name)
    label = known.label if known else row.name
    return Endpoint(
        row.name, row.base_url.strip(), row.key.strip(), headers, label, row.flags, row.prices
    )
