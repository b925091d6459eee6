"""What is at hand: local servers that answer, and providers whose key is set."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from agents.db import in_db
from agents.llm import catalog
from agents.llm.catalog import Listing
from agents.llm.known_providers import BY_NAME, LOOPBACK, host_of
from agents.llm.model_info import ModelInfo
from agents.llm.providers import DEMO_LABEL, lacks, provider_names, resolve
from agents.stored_text import gettext

# Of several models of a provider the one that is known to call tools well.
PREFERRED = (
    "gpt-4.1-mini",
    "sonnet",
    "flash",
    "qwen3",
    "gpt-oss",
    "mistral-medium",
    "chat",
    "gpt-5",
)
DEMO = ModelInfo("docs", context_window=catalog.DEFAULT_WINDOW, calls_tools=True)


@dataclass(frozen=True)
class Place:
    """A provider with the models one can talk with; `note` says where it is or whence its key.

    `is_local` is a server of models that is known, `is_here` whatever answers on this computer.
    """

    provider: str
    label: str
    note: str
    is_local: bool
    models: tuple[ModelInfo, ...]
    is_here: bool = False

    @property
    def best(self) -> ModelInfo:
        """Of those that call tools: here the smallest, elsewhere one that is known to do well."""
        fit = [model for model in self.models if model.calls_tools is not False] or self.models

        def rank(model: ModelInfo) -> tuple[int, int]:
            known = (n for n, word in enumerate(PREFERRED) if word in model.id.lower())
            return (model.size or 0) if self.is_local else 0, next(known, len(PREFERRED))

        return min(fit, key=rank)


@dataclass(frozen=True)
class Found:
    """`silent` are the labels of servers on this machine that could run and do not answer,
    `problems` sentences about the others that could not be asked."""

    places: tuple[Place, ...]
    silent: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def models(self) -> int:
        return sum(len(place.models) for place in self.places)

    @property
    def has_own(self) -> bool:
        """Whether there is any beside the demo."""
        return len(self.places) > 1

    @property
    def suggested(self) -> tuple[str, str]:
        """Provider and model: what runs here goes first, the demo is there anyhow."""
        place = next((place for place in self.places if place.is_local), self.places[0])
        return place.provider, place.best.id


def at_hand() -> list[str]:
    """The providers that can be asked, in the order they are offered: those without a key first."""
    names = [name for name in provider_names() if name != "demo" and not lacks(resolve(name))]
    return sorted(names, key=lambda name: not is_local(name))


def is_local(name: str) -> bool:
    return name in BY_NAME and BY_NAME[name].is_local


async def discover(*, anew: bool = False, asks: bool = True) -> Found:
    """Ask everyone at hand, three seconds at most; `anew` also those that were asked lately.

    Without `asks` nobody is asked: it goes by what they said last.
    """
    names = await in_db(at_hand)
    if asks:
        listings = await catalog.ask_all(names, anew=anew)
    else:
        listings = {name: await in_db(catalog.listing_of, name) for name in names}
    return await in_db(found_in, [listings[name] for name in names if name in listings])


def found_in(listings: list[Listing]) -> Found:
    places = [place_of(each) for each in listings]
    silent, problems = [], []
    for each in listings:
        if each.kind and is_local(each.provider) and each.provider in ("ollama", "lmstudio"):
            silent.append(resolve(each.provider).label)
        elif each.kind and not is_local(each.provider):
            sentence = gettext("{provider} does not list its models.")
            if each.kind == "key":
                sentence = gettext("{provider} refused the key.")
            problems.append(sentence.format(provider=resolve(each.provider).label))
    demo = Place("demo", str(DEMO_LABEL), gettext("scripted, offline, no key"), False, (DEMO,))
    with_models = (place for place in places if place.models)
    return Found((*with_models, demo), tuple(silent), tuple(problems))


def place_of(listing: Listing) -> Place:
    endpoint = resolve(listing.provider)
    models = () if listing.kind else tuple(model for model in listing.models if model.is_chat)
    return Place(
        listing.provider,
        endpoint.label,
        note_on(listing.provider),
        is_local(listing.provider),
        models,
        is_here(listing.provider),
    )


def is_here(name: str) -> bool:
    """Whether it answers on this computer, be it one that a person has added."""
    return is_local(name) or host_of(resolve(name).base_url) in LOOPBACK


def note_on(name: str) -> str:
    endpoint = resolve(name)
    if endpoint.key:
        found = settings.PROVIDER_KEYS.get(name)
        is_from_environment = found and found.key == endpoint.key
        if found and is_from_environment:
            return gettext("key from {variable}").format(variable=found.variable)
        return gettext("key from Settings")
    is_here = host_of(endpoint.base_url) in LOOPBACK
    return gettext("on this computer") if is_here else endpoint.address
