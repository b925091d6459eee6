"""Settings > Models as cards: what each provider said last, and what can be done about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from django.conf import settings
from django.utils.translation import gettext, ngettext

from agents.config.store import AgentRecord
from agents.llm import catalog, providers
from agents.llm.catalog import Listing
from agents.llm.known_providers import BY_NAME
from agents.llm.lessons import Lesson, lessons_about
from agents.llm.model_info import ModelInfo
from agents.llm.providers import lacks, provider_names, resolve
from agents.llm.request import Endpoint
from agents.models import Provider
from console.form_parsing import price_lines
from console.language import grouped, shown_name

MOST_ROWS = 20  # models that a card shows at once
SHORTEST_HINT = 12  # characters of a key that may show its last four
HIDDEN = "•••• •••• ••••"


class ModelRow(NamedTuple):
    info: ModelInfo
    agents: list[str]


class State(NamedTuple):
    """A word on the provider, and how it is drawn: fine, failed or quiet."""

    kind: str
    words: str


@dataclass(frozen=True)
class ProviderCard:
    """A provider as its card shows it; the key is not in it. `users` are its agents by model."""

    endpoint: Endpoint
    listing: Listing
    lacks: str
    row: Provider | None = None
    users: dict[str, list[str]] = field(default_factory=dict)
    lessons: list[Lesson] = field(default_factory=list)
    find: str = ""

    @property
    def name(self) -> str:
        return self.endpoint.provider

    @property
    def label(self) -> str:
        return self.endpoint.label

    @property
    def address(self) -> str:
        return "" if self.is_demo else self.endpoint.address

    @property
    def is_demo(self) -> bool:
        return self.name == "demo"

    @property
    def is_local(self) -> bool:
        return self.name in BY_NAME and BY_NAME[self.name].is_local

    @property
    def has_key(self) -> bool:
        return bool(self.endpoint.key)

    @property
    def key_hint(self) -> str:
        """Its last four characters, where they say nothing about the others."""
        key = self.endpoint.key
        return f"{HIDDEN} {key[-4:]}" if len(key) >= SHORTEST_HINT else HIDDEN

    @property
    def key_variable(self) -> str:
        """The variable whose key is used; empty for one that was entered."""
        found = settings.PROVIDER_KEYS.get(self.name)
        return found.variable if found and self.row is None else ""

    @property
    def variable(self) -> str:
        """The variable that could be set instead."""
        known = BY_NAME.get(self.name)
        return known.keys[-1] if known and known.keys else ""

    @property
    def wants_address(self) -> bool:
        return not self.endpoint.base_url

    @property
    def is_refused(self) -> bool:
        return self.listing.kind == "key"

    @property
    def wants_key(self) -> bool:
        """Whether the card asks for a key at once; one that is set can be replaced."""
        return not self.has_key or self.is_refused

    @property
    def headers(self) -> list[str]:
        return sorted(self.endpoint.headers)

    @property
    def prices(self) -> str:
        return price_lines(self.row.prices) if self.row else ""

    @property
    def streams_usage(self) -> bool:
        return not self.row or bool(self.row.flags.get("stream_options", True))

    @property
    def agents(self) -> list[str]:
        return [name for names in self.users.values() for name in names]

    @property
    def can_be_asked(self) -> bool:
        return not self.is_demo and not self.lacks

    @property
    def is_silent(self) -> bool:
        return self.listing.kind in ("unreachable", "silent")

    @property
    def state(self) -> State:
        if self.is_demo:
            return State("quiet", gettext("scripted, offline, always there"))
        if self.lacks:
            return State(
                "quiet", gettext("no address") if self.wants_address else gettext("no key")
            )
        if self.listing.asked_at is None:
            return State("quiet", "")
        if self.is_refused:
            return State("failed", gettext("Key refused"))
        if self.is_silent:
            return State("quiet", gettext("does not answer"))
        if self.listing.kind:
            return State("quiet", gettext("lists no models"))
        count = len(self.listing.models)
        return State("fine", ngettext("{n} model", "{n} models", count).format(n=grouped(count)))

    @property
    def found(self) -> list[ModelRow]:
        """The models that are looked for; those in use first, then those to talk with."""
        wanted = self.find.strip().lower()
        rows = [
            ModelRow(info, self.users.get(info.id, []))
            for info in self.listing.models
            if wanted in info.id.lower()
        ]
        return sorted(rows, key=lambda row: (not row.agents, not row.info.is_chat))

    @property
    def rows(self) -> list[ModelRow]:
        return self.found[:MOST_ROWS]

    @property
    def has_prices(self) -> bool:
        return any(info.price_in is not None for info in self.listing.models)

    @property
    def has_abilities(self) -> bool:
        """Whether the provider says of any model what it can do: else the column stays away."""
        return any(info.sees_images or info.calls_tools is False for info in self.listing.models)

    @property
    def has_windows(self) -> bool:
        return any(info.context_window for info in self.listing.models)


def provider_cards(agents: Iterable[AgentRecord]) -> list[ProviderCard]:
    """Those in use first, then those that can be asked, then what only wants a key."""
    used = list(agents)
    rows = {row.name: row for row in providers.own_providers()}
    cards = [provider_card(name, used, rows.get(name)) for name in provider_names()]
    return sorted(
        cards,
        key=lambda c: (not c.agents, c.is_demo, not (c.listing.answered or c.row), bool(c.lacks)),
    )


def provider_card(
    name: str, agents: Iterable[AgentRecord], row: Provider | None = None, find: str = ""
) -> ProviderCard:
    endpoint = resolve(name)
    users: dict[str, list[str]] = {}
    for agent in agents:
        if agent.file.provider == endpoint.provider:
            users.setdefault(agent.file.model, []).append(shown_name(agent.file))
    missing = lacks(endpoint)
    listing = Listing(name) if name == "demo" else catalog.listing_of(name)
    lessons = lessons_about(endpoint)
    return ProviderCard(endpoint, listing, missing, row, users, lessons, find)
