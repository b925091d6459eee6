"""Asking a provider whether it answers, and looking for models that are at hand.

Nothing here is on the way of a page: fragments that load after it, buttons and the API ask.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from time import monotonic
from urllib.parse import urlsplit

from agents.db import in_db
from agents.errors import Refused
from agents.llm.client import list_models
from agents.llm.errors import ModelError
from agents.llm.providers.registry import resolve
from agents.llm.request import Endpoint

PATIENCE = 1.5  # seconds for a server on this machine, or one whose key is set
KEPT = 30.0  # seconds that what was found counts
LOOPBACK = {"127.0.0.1", "localhost", "::1"}
AT_HAND = ("ollama", "lmstudio", "openai")
# Of several models the one that is known to call tools well; never one that only embeds.
PREFERRED = ("qwen3", "gpt-oss", "gpt-4.1-mini", "gpt-4", "qwen", "llama3", "mistral")
NOT_FOR_CHAT = ("embed", "whisper", "tts", "dall-e", "moderation", "rerank", "image", "audio")


@dataclass(frozen=True)
class Tested:
    """The models, or why there is no list (`problem`) and what to do about it (`advice`)."""

    models: tuple[str, ...] = ()
    problem: str = ""
    advice: str = ""


@dataclass(frozen=True)
class Found:
    """A model that could be used at once."""

    provider: str
    model: str
    sentence: str


_found: tuple[float, list[Found]] | None = None


async def ask_provider(endpoint: Endpoint) -> Tested:
    try:
        models = await list_models(endpoint)
    except ModelError as error:
        return Tested(problem=problem_of(error), advice=error.advice)
    if not models:
        return Tested(problem="It answers, but has no models.", advice=empty_advice(endpoint))
    return Tested(tuple(models))


def problem_of(error: ModelError) -> str:
    """A server without such a list may still answer messages."""
    if error.kind == "missing" and error.status in (404, 405):
        return f"{error.detail} It may not list its models: a message will tell."
    return error.detail


def empty_advice(endpoint: Endpoint) -> str:
    advice = {
        "ollama": "Fetch one: ollama pull qwen3:8b",
        "lmstudio": "Load one in LM Studio (Developer > Load model).",
    }
    return advice.get(endpoint.provider, "Name the model in the agent's card all the same.")


async def discover() -> list[Found]:
    """Ollama and LM Studio on this machine, and OpenAI where a key is set; asked every 30 s."""
    global _found
    if _found is None or monotonic() - _found[0] > KEPT:
        looked = await asyncio.gather(*(probe(name) for name in AT_HAND))
        _found = monotonic(), [each for each in looked if each]
    return _found[1]


def forget_found() -> None:
    global _found
    _found = None


async def probe(name: str) -> Found | None:
    try:
        endpoint = await in_db(resolve, name)
        if name == "openai" and not endpoint.key:
            return None
        async with asyncio.timeout(PATIENCE):
            models = await list_models(endpoint)
    except (ModelError, Refused, TimeoutError):
        return None
    model = best_of(models)
    return Found(name, model, sentence(endpoint, model)) if model else None


def sentence(endpoint: Endpoint, model: str) -> str:
    host = urlsplit(endpoint.base_url).hostname or ""
    if host.endswith("openai.com"):
        return f"An OpenAI key is set, and {model} answers to it."
    where = "here" if host in LOOPBACK else f"at {host}"
    return f"{endpoint.label} is running {where} with {model}."


def best_of(models: Iterable[str]) -> str:
    fit = [name for name in models if not any(word in name.lower() for word in NOT_FOR_CHAT)]
    for word in PREFERRED:
        if found := next((name for name in fit if word in name.lower()), ""):
            return found
    return fit[0] if fit else ""
