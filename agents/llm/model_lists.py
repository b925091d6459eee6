"""How each provider is asked for its models. Several have a list of their own that says more than
the one of chat completions; where a server does not have it, the common list is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from urllib.parse import quote

from django.conf import settings

from agents.llm.client import fetch_json, list_models
from agents.llm.errors import ModelError
from agents.llm.known_providers import known_provider
from agents.llm.model_info import (
    Json,
    ModelInfo,
    count,
    mapping,
    read_model,
    read_models,
    texts,
)
from agents.llm.request import Endpoint

OwnList = Callable[[Endpoint], Awaitable[list[ModelInfo]]]

MOST_PAGES = 20
MOST_SHOWN = 100  # models of Ollama that are asked about one by one
AT_ONCE = 8


async def models_of(endpoint: Endpoint) -> list[ModelInfo]:
    """The models a server has, sorted by id. Raises ModelError."""
    known = known_provider(endpoint.provider, endpoint.base_url)
    own = OWN_LISTS.get(known.listing) if known else None
    if own is None:
        return await list_models(endpoint)
    try:
        models = await own(endpoint)
    except ModelError as error:
        if error.kind not in ("missing", "bad_request", "server"):
            raise
        return await list_models(endpoint)  # another server than its name says
    return sorted(models, key=lambda model: model.id)


async def of_ollama(endpoint: Endpoint) -> list[ModelInfo]:
    """Names and sizes; about each model what it can do; and with which window those that are
    loaded were loaded."""
    root = root_of(endpoint)
    names = await fetch_json(endpoint, f"{root}/api/tags")
    tags = [tag for tag in entries(names, "models") if isinstance(tag.get("name"), str)]
    if not tags:
        return await list_models(endpoint)
    loaded: dict[object, int | None] = {}
    with suppress(ModelError):  # an older one does not say
        loaded = await windows_in_ollama(endpoint)
    limit = asyncio.Semaphore(AT_ONCE)

    async def described(tag: Json) -> ModelInfo:
        model = ModelInfo(str(tag["name"]), size=count(tag.get("size")))
        async with limit:
            try:
                shown = await fetch_json(endpoint, f"{root}/api/show", {"model": model.id})
            except ModelError:
                return model
        can, facts = texts(shown.get("capabilities")), mapping(shown.get("model_info"))
        windows = (count(facts[key]) for key in facts if key.endswith(".context_length"))
        return replace(
            model,
            context_window=next(windows, None),
            loaded_window=loaded.get(model.id),
            sees_images="vision" in can if can else None,
            calls_tools="tools" in can if can else None,
            is_chat="completion" in can if can else True,
        )

    few = await asyncio.gather(*(described(tag) for tag in tags[:MOST_SHOWN]))
    return [*few, *(ModelInfo(str(tag["name"])) for tag in tags[MOST_SHOWN:])]


async def windows_in_ollama(endpoint: Endpoint) -> dict[object, int | None]:
    """With which window each model is loaded, of those that are (docs.ollama.com/api/ps)."""
    running = await fetch_json(endpoint, f"{root_of(endpoint)}/api/ps")
    listed = entries(running, "models")
    return {each.get("name"): count(each.get("context_length")) for each in listed}


async def loaded_window(endpoint: Endpoint, model: str) -> int | None:
    """With which window a local server has loaded the model; None where it does not say.

    Where Ollama has not, it does so now, as it would for the request that follows: an empty prompt
    loads a model (docs.ollama.com/faq). Raises ModelError.
    """
    known = known_provider(endpoint.provider)
    if known and known.listing == "lmstudio":
        listed = {each.id: each for each in await of_lmstudio(endpoint)}
        return listed[model].loaded_window if model in listed else None
    names = {model, f"{model}:latest"}
    loaded = await windows_in_ollama(endpoint)
    if not names & loaded.keys():
        url, asked = f"{root_of(endpoint)}/api/generate", {"model": model, "stream": False}
        await fetch_json(endpoint, url, asked, settings.MODEL_IDLE_TIMEOUT)
        loaded = await windows_in_ollama(endpoint)
    return next((loaded[name] for name in names if name in loaded), None)


async def of_lmstudio(endpoint: Endpoint) -> list[ModelInfo]:
    document = await fetch_json(endpoint, f"{root_of(endpoint)}/api/v0/models")
    return read_models(entries(document, "data")) or await list_models(endpoint)


async def of_llamacpp(endpoint: Endpoint) -> list[ModelInfo]:
    """The common list; window and eyes of what is loaded are in /props."""
    models = await list_models(endpoint)
    try:
        props = await fetch_json(endpoint, f"{root_of(endpoint)}/props")
    except ModelError:
        return models
    window = count(mapping(props.get("default_generation_settings")).get("n_ctx"))
    sees = mapping(props.get("modalities")).get("vision")
    return [
        replace(
            model,
            loaded_window=window or model.loaded_window,
            sees_images=sees if isinstance(sees, bool) else model.sees_images,
        )
        for model in models
    ]


async def of_openrouter(endpoint: Endpoint) -> list[ModelInfo]:
    """Its list is public: that the key is good is asked apart."""
    if endpoint.key:
        await fetch_json(endpoint, f"{endpoint.base_url}/key")
    return await list_models(endpoint)


async def of_gemini(endpoint: Endpoint) -> list[ModelInfo]:
    """The native list beside the chat-completions API, which takes the key in its own header."""
    root = endpoint.base_url.removesuffix("/openai")
    native = replace(endpoint, key="", headers={**endpoint.headers, "x-goog-api-key": endpoint.key})
    models: list[ModelInfo] = []
    after = ""
    for _ in range(MOST_PAGES):
        more = f"&pageToken={quote(after, safe='')}" if after else ""
        document = await fetch_json(native, f"{root}/models?pageSize=1000{more}")
        models += [model for entry in entries(document, "models") if (model := gemini_model(entry))]
        after = str(document.get("nextPageToken") or "")
        if not after:
            break
    return models or await list_models(endpoint)


def gemini_model(entry: Json) -> ModelInfo | None:
    model = read_model({**entry, "id": str(entry.get("name") or "").removeprefix("models/")})
    methods = texts(entry.get("supportedGenerationMethods"))
    if model is None or not methods:
        return model
    return replace(model, is_chat=model.is_chat and "generateContent" in methods)


def root_of(endpoint: Endpoint) -> str:
    """The server's own address, above /v1."""
    return endpoint.base_url.rstrip("/").removesuffix("/v1")


def entries(document: Json, key: str) -> list[Json]:
    listed = document.get(key)
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


OWN_LISTS: dict[str, OwnList] = {
    "ollama": of_ollama,
    "lmstudio": of_lmstudio,
    "llamacpp": of_llamacpp,
    "openrouter": of_openrouter,
    "gemini": of_gemini,
}
