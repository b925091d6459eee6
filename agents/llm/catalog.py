"""The models there are, as providers listed them: asked over the network, kept in the database.

Pages and prompts read what was learnt last; `ask` learns it anew. What is known of one model is
`model_info`, and `model_problem` says why an agent cannot be answered by the model it names.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from time import monotonic

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from agents.db import in_db
from agents.errors import Invalid, Refused
from agents.llm.errors import ModelError
from agents.llm.known_providers import KnownProvider, known_provider
from agents.llm.model_info import ModelInfo
from agents.llm.model_lists import loaded_window, models_of
from agents.llm.providers import lacks, resolve
from agents.llm.request import Endpoint
from agents.models import ListedModel, ProviderListing
from agents.statements import prepared
from agents.stored_text import gettext

COLUMNS = tuple(field.name for field in fields(ModelInfo) if field.name != "id")
DEFAULT_WINDOW = 32768  # tokens, where neither the agent nor the server says
LATELY = timedelta(minutes=1)  # asked since then, a provider is not asked again
TRUE_FOR = timedelta(days=1)  # after that a model that was not listed may be there
PATIENCE = 3.0  # seconds for those that are asked while somebody looks on


@dataclass(frozen=True)
class Listing:
    """What a provider said when it was last asked; `kind` is empty when it answered."""

    provider: str
    kind: str = ""
    problem: str = ""
    advice: str = ""
    words: str = ""
    status: int | None = None
    seconds: float = 0.0
    asked_at: datetime | None = None
    models: tuple[ModelInfo, ...] = ()

    @property
    def answered(self) -> bool:
        return self.asked_at is not None and not self.kind

    @property
    def is_new(self) -> bool:
        return self.asked_at is not None and timezone.now() - self.asked_at < LATELY


async def ask(name: str, patience: float | None = None) -> Listing:
    """Ask a provider for its models and keep the answer. Raises Invalid for an unknown one.

    One that lacks its key or address is not asked.
    """
    endpoint = await in_db(resolve, name)
    if sentence := lacks(endpoint):
        return Listing(endpoint.provider, kind="key", problem=sentence)
    began = monotonic()
    try:
        async with asyncio.timeout(patience):
            found = answered(endpoint, await models_of(endpoint))
    except ModelError as error:
        found = refused(endpoint, error)
    except TimeoutError:
        sentence = gettext("{address} does not answer within {seconds} s.")
        problem = sentence.format(address=endpoint.address, seconds=f"{patience:g}")
        found = Listing(endpoint.provider, kind="silent", problem=problem)
    return await in_db(store, endpoint, found, monotonic() - began)


async def ask_all(
    names: Iterable[str], patience: float = PATIENCE, *, anew: bool = False
) -> dict[str, Listing]:
    """Several at once; whoever was asked lately is not asked again unless `anew`."""

    async def one(name: str) -> Listing | None:
        with suppress(Refused):
            known = await in_db(listing_of, name)
            return known if known.is_new and not anew else await ask(name, patience)
        return None

    asked = {name: one(name) for name in dict.fromkeys(names)}
    listings = await asyncio.gather(*asked.values())
    return {name: each for name, each in zip(asked, listings, strict=True) if each}


def answered(endpoint: Endpoint, models: list[ModelInfo]) -> Listing:
    if models:
        return Listing(endpoint.provider, models=tuple(models))
    advice = {
        "ollama": gettext("Fetch one: ollama pull qwen3:8b"),
        "lmstudio": gettext("Load one in LM Studio (Developer > Load model)."),
    }.get(endpoint.provider, gettext("Name the model in the agent's card all the same."))
    return Listing(
        endpoint.provider, problem=gettext("It answers, but has no models."), advice=advice
    )


def refused(endpoint: Endpoint, error: ModelError) -> Listing:
    problem = error.detail
    if error.kind == "missing" and error.status in (404, 405):
        problem += " " + gettext("It may not list its models: a message will tell.")
    words = error.words
    return Listing(endpoint.provider, error.kind, problem, error.advice, words, error.status)


@transaction.atomic
def store(endpoint: Endpoint, found: Listing, seconds: float) -> Listing:
    """When it could not be asked, the models it listed before at this address stay.

    What was answered to a key or an address that has been changed meanwhile is not kept.
    """
    with suppress(Invalid):
        if resolve(endpoint.provider) != endpoint:
            return found
    before = ProviderListing.objects.filter(provider=endpoint.provider).first()
    row, _ = ProviderListing.objects.update_or_create(
        provider=endpoint.provider,
        defaults={
            "address": endpoint.base_url,
            "kind": found.kind,
            "status": found.status,
            "words": found.words,
            "problem": found.problem,
            "advice": found.advice,
            "seconds": seconds,
            "asked_at": timezone.now(),
        },
    )
    moved = before is not None and before.address != endpoint.base_url
    if moved or not found.kind:
        row.models.all().delete()
        ListedModel.objects.bulk_create(row_of(row, model) for model in found.models)
    return read(row)


def row_of(listing: ProviderListing, model: ModelInfo) -> ListedModel:
    values = {name: getattr(model, name) for name in COLUMNS}
    return ListedModel(listing=listing, name=model.id, **values)


def read(row: ProviderListing) -> Listing:
    models = row.models.order_by("name").values_list("name", *COLUMNS)
    return Listing(
        provider=row.provider,
        kind=row.kind,
        problem=row.problem,
        advice=row.advice,
        words=row.words,
        status=row.status,
        seconds=row.seconds,
        asked_at=row.asked_at,
        models=tuple(ModelInfo(*values) for values in models),
    )


def listing_of(name: str) -> Listing:
    """What it said last, at its present address; empty if it was never asked. Raises Invalid."""
    endpoint = resolve(name)
    row = ProviderListing.objects.filter(
        provider=endpoint.provider, address=endpoint.base_url
    ).first()
    return read(row) if row else Listing(endpoint.provider)


def is_fresh(name: str) -> bool:
    """Whether there is nothing to ask: it was asked lately, or cannot be asked at all."""
    try:
        endpoint = resolve(name)
    except Invalid:
        return True
    if name == "demo" or lacks(endpoint):
        return True
    since = timezone.now() - LATELY
    rows = ProviderListing.objects.filter(provider=name, address=endpoint.base_url)
    return rows.filter(asked_at__gt=since).exists()


# What is known of one model.


@prepared
def listed_models(provider: str, address: str, name: str) -> QuerySet[ListedModel]:
    at_provider = Q(listing__provider=provider, listing__address=address)
    return ListedModel.objects.filter(at_provider, name=name)


def model_info(endpoint: Endpoint, model: str) -> ModelInfo | None:
    """What the provider has said of this model; None while it has said nothing."""
    if endpoint.provider == "demo":
        return ModelInfo(model, sees_images=False)
    where = {"provider": endpoint.provider, "address": endpoint.base_url}
    for name in names_of(endpoint, model):
        if rows := listed_models.models(**where, name=name):
            return ModelInfo(model, *(getattr(rows[0], column) for column in COLUMNS))
    return None


def window_of(endpoint: Endpoint, info: ModelInfo | None) -> int:
    """The tokens a request may have, for an agent that does not say.

    A local server may load a model with a smaller window than the model has, and cuts what is
    longer without a word: until it is known with which, the common one counts.
    """
    if info is None or not info.window:
        return DEFAULT_WINDOW
    known = known_provider(endpoint.provider)
    if known and known.loads_less and not info.loaded_window:
        return min(info.window, DEFAULT_WINDOW)
    return info.window


async def learn_loaded_window(provider: str, model: str) -> None:
    """Before a local server is asked: with which window it has loaded the model, or will for this.

    A server that does not say changes nothing.
    """
    known = known_provider(provider)
    if not known or not known.loads_less:
        return
    with suppress(ModelError):
        endpoint = await in_db(resolve, provider)
        window = await loaded_window(endpoint, model)
        if window and not await in_db(store_window, endpoint, model, window):
            await ask(provider, PATIENCE)


def store_window(endpoint: Endpoint, model: str, window: int) -> bool:
    """Whether it is known by now: the model is listed, or was not a moment ago."""
    where = {"provider": endpoint.provider, "address": endpoint.base_url}
    for name in names_of(endpoint, model):
        for row in listed_models.models(**where, name=name):
            if row.loaded_window != window:
                ListedModel.objects.filter(pk=row.pk).update(loaded_window=window)
            return True
    return is_fresh(endpoint.provider)


def own_window(config: Mapping[str, object]) -> int:
    """The tokens that an agent's settings themselves allow a request; 0 where they do not say."""
    return int(str(config.get("context_window") or 0))


def window_for(config: Mapping[str, object]) -> int:
    """The tokens a request may have under an agent's settings."""
    if own := own_window(config):
        return own
    try:
        endpoint = resolve(str(config.get("provider") or ""))
    except Invalid:
        return DEFAULT_WINDOW
    return window_of(endpoint, model_info(endpoint, str(config.get("model") or "")))


def model_problem(provider: str, model: str) -> str:
    """Why an agent that names them cannot be answered, and what to do; empty if it may be.

    Nothing is asked: it goes by what the provider said last, and where that names no models, or
    was too long ago, nothing is said.
    """
    try:
        endpoint = resolve(provider)
    except Invalid:
        return gettext(
            "There is no provider “{name}”: choose another, or add it in Settings > Models."
        ).format(name=provider[:64])
    if sentence := lacks(endpoint):
        return sentence
    if not (missing := missing_model(provider, model)):
        return ""
    if endpoint.provider == "ollama":
        sentence = gettext("{missing}: run ollama pull {model}, or choose another.")
        return sentence.format(missing=missing, model=model[:100])
    return gettext("{missing}: choose another.").format(missing=missing)


def missing_model(provider: str, model: str) -> str:
    """That the provider has said that it has no such model; empty if it may be there."""
    try:
        endpoint = resolve(provider)
    except Invalid:
        return ""
    known = known_provider(endpoint.provider, endpoint.base_url)
    if endpoint.provider == "demo" or (known and not known.lists_all):
        return ""
    asked_since = timezone.now() - TRUE_FOR
    row = ProviderListing.objects.filter(
        provider=endpoint.provider, address=endpoint.base_url, kind="", asked_at__gt=asked_since
    ).first()
    if row is None or is_listed(row, endpoint, model):
        return ""
    sentence = gettext("There is no model {model} at {provider}")
    return sentence.format(model=model[:100], provider=endpoint.label)


def is_listed(row: ProviderListing, endpoint: Endpoint, model: str) -> bool:
    """Or may be there for all the list says: it is empty, or has a pattern in place of names."""
    listed = row.models.all()
    is_meant = Q(name__in=names_of(endpoint, model))
    if endpoint.provider == "anthropic":  # a short name means the newest of its dated ones
        is_meant |= Q(name__startswith=f"{model.removesuffix('-latest')}-2")
    return listed.filter(is_meant | Q(name__contains="*")).exists() or not listed.exists()


def names_of(endpoint: Endpoint, model: str) -> list[str]:
    """The names under which a list may have it."""
    names = [model]
    known: KnownProvider | None = known_provider(endpoint.provider, endpoint.base_url)
    if known and known.name == "ollama" and ":" not in model:
        names.append(f"{model}:latest")
    elif known and known.name == "gemini":
        names.append(model.removeprefix("models/"))
    elif known and known.name == "openrouter":  # vendor/model:variant, which is never listed alone
        names.append(model.partition(":")[0])
    return names
