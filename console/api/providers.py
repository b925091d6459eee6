"""/api/providers: where models live. Everybody reads them; admins add, change and remove theirs."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from django.http import HttpRequest
from ninja import Router, Schema
from ninja.responses import Status
from pydantic import ConfigDict, Field, JsonValue

from agents.db import in_db
from agents.errors import NotFound
from agents.llm import catalog, lessons, providers
from agents.llm.catalog import Listing
from agents.llm.known_providers import KNOWN_PROVIDERS, Api
from agents.llm.provider_checks import FLAGS
from agents.llm.providers import ProviderEdit, provider_names, resolve
from agents.models import Provider
from console.api.auth import person
from console.api.fields import AsWritten, Flag, Headers, Json, Secret, ShortName, WebAddress
from console.api.shapes import Body, Page, answers
from console.auth.admins import demand_admin
from console.throttling import count_test

router = Router(tags=["providers"])


Dollars = Annotated[float, AsWritten, Field(json_schema_extra={"minimum": 0, "maximum": 100_000})]
NAMES_OF_MODELS: Json = {"type": "string", "pattern": "^[ -~]{1,200}$"}
NAMES_OF_FLAGS: Json = {"type": "string", "enum": [*sorted(FLAGS)]}
WITH_OWN_ADDRESS: list[JsonValue] = [each.name for each in KNOWN_PROVIDERS if each.address]
UNKNOWN_ONES_HAVE_AN_ADDRESS: Json = {
    "if": {"not": {"properties": {"name": {"enum": WITH_OWN_ADDRESS}}}},
    "then": {"properties": {"base_url": {"type": "string"}}, "required": ["base_url"]},
}


class Price(Body):
    """US dollars per million tokens; cached ones cost what others do where nothing is said."""

    input: Dollars
    output: Dollars
    cached_input: Dollars | None = None


class ProviderShape(Schema):
    """The key is never given out, of headers the names alone. `own`: an admin has added it.

    `api` is the protocol it speaks: OpenAI chat completions, or Anthropic Messages.
    """

    name: str
    label: str
    base_url: str
    api: Api
    own: bool
    key_set: bool
    headers: list[str]
    prices: dict[str, Price]
    flags: dict[str, bool]


class ProviderChange(Body):
    """What is left out stays as it is; an empty key, or {}, takes away what was set."""

    base_url: WebAddress | None = None
    api: Api | None = None
    key: Secret | None = None
    headers: Headers | None = None
    prices: (
        Annotated[dict[str, Price], Field(json_schema_extra={"propertyNames": NAMES_OF_MODELS})]
        | None
    ) = None
    flags: (
        Annotated[dict[str, Flag], Field(json_schema_extra={"propertyNames": NAMES_OF_FLAGS})]
        | None
    ) = None


class NewProvider(ProviderChange):
    """A provider known by name needs no address: its own is taken."""

    model_config = ConfigDict(json_schema_extra=UNKNOWN_ONES_HAVE_AN_ADDRESS)

    name: ShortName


class TestedShape(Schema):
    """The models, or why there is no list of them and what to do about it."""

    models: list[str]
    problem: str
    advice: str


class ModelShape(Schema):
    """As its provider describes it; null where it does not say.

    `loaded_window` is the context a local server has loaded it with, `size` is in bytes, prices
    are in US dollars per million tokens; `price_cached` is for input read from the server's cache,
    `price_stored` for input written to it.
    """

    id: str
    context_window: int | None
    loaded_window: int | None
    sees_images: bool | None
    calls_tools: bool | None
    is_chat: bool
    size: int | None
    price_in: float | None
    price_out: float | None
    price_cached: float | None
    price_stored: float | None


class LessonShape(Schema):
    """What a model refused and is not sent again until it expires; `words` are the server's."""

    id: int
    model: str
    sentence: str
    words: str
    learnt_at: datetime
    expires_at: datetime


@router.get("", response=answers(Page[ProviderShape]))
def list_providers(request: HttpRequest) -> dict[str, object]:
    items = [provider_document(name) for name in provider_names()]
    return {"items": items, "count": len(items)}


@router.post("", response=answers(ProviderShape, 409, status=201))
def add_provider(request: HttpRequest, body: NewProvider) -> Status[dict[str, object]]:
    by = demand_admin(person(request), "providers")
    row = providers.add_provider(body.name, edit_of(body), by)
    return Status(201, provider_document(row.name))


@router.get("/{name}", response=answers(ProviderShape, 404))
def get_provider(request: HttpRequest, name: str) -> dict[str, object]:
    return provider_document(known(name))


@router.patch("/{name}", response=answers(ProviderShape, 404))
def change_provider(request: HttpRequest, name: str, body: ProviderChange) -> dict[str, object]:
    """One that is built in cannot be changed; add one of its name to go before it."""
    by = demand_admin(person(request), "providers")
    return provider_document(providers.change_provider(name, edit_of(body), by).name)


@router.delete("/{name}", response=answers(None, 404, status=204))
def remove_provider(request: HttpRequest, name: str) -> Status[None]:
    providers.remove_provider(name, demand_admin(person(request), "providers"))
    return Status(204, None)


@router.post("/{name}/test", response=answers(TestedShape, 404))
async def test_provider(request: HttpRequest, name: str) -> dict[str, object]:
    """Ask it for its models. Everybody may, so often: what comes back is no secret."""
    await in_db(count_test, person(request).pk)
    listing = await catalog.ask(await in_db(lambda: known(name)))
    names = [] if listing.kind else [model.id for model in listing.models]
    return {"models": names, "problem": listing.problem, "advice": listing.advice}


@router.get("/{name}/models", response=answers(Page[ModelShape], 404))
def list_models(request: HttpRequest, name: str) -> dict[str, object]:
    """What it listed when it was last asked: a test asks it anew."""
    listing: Listing = catalog.listing_of(known(name))
    return {"items": list(listing.models), "count": len(listing.models)}


@router.get("/{name}/lessons", response=answers(Page[LessonShape], 404))
def list_lessons(request: HttpRequest, name: str) -> dict[str, object]:
    """What its models refused and are not sent again, each for seven days."""
    items = lessons.lessons_about(resolve(known(name)))
    return {"items": items, "count": len(items)}


@router.delete("/{name}/lessons/{id}", response=answers(None, 404, status=204))
def forget_lesson(request: HttpRequest, name: str, id: int) -> Status[None]:
    """The next request tries it again."""
    demand_admin(person(request), "providers")
    lessons.forget_lesson(known(name), id)
    return Status(204, None)


def known(name: str) -> str:
    if name not in provider_names():
        raise NotFound(f"There is no provider {name[:64]!r}.")
    return name


def edit_of(body: ProviderChange) -> ProviderEdit:
    prices = None
    if body.prices is not None:
        prices = {
            model: price.model_dump(exclude_none=True) for model, price in body.prices.items()
        }
    return ProviderEdit(body.base_url, body.key, body.headers, prices, body.flags, body.api)


def provider_document(name: str) -> dict[str, object]:
    endpoint = resolve(name)
    row = Provider.objects.filter(name=name).first()
    return {
        "name": name,
        "label": endpoint.label,
        "base_url": "" if name == "demo" else endpoint.address,
        "api": endpoint.api,
        "own": row is not None,
        "key_set": bool(endpoint.key),
        "headers": sorted(endpoint.headers),
        "prices": row.prices if row else {},
        "flags": row.flags if row else {},
    }
