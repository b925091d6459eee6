"""What may happen to the providers an admin adds. A key is written and compared, never given out.

Doors are for admins. A row goes before a built-in provider of its name, so an admin may move
`ollama` to another machine; `demo` stays what it says it is.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from django.db import IntegrityError, transaction

from agents.agent_file.record import AgentRecord
from agents.errors import Invalid, Missing, NotNow
from agents.models import Provider
from agents.providers.checks import check_name, check_prices, checked_address, checked_headers

log = logging.getLogger(__name__)

LONGEST_KEY = 500  # characters
FLAGS = {"stream_options"}

Prices = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class ProviderEdit:
    """What is to change; None leaves it as it is. An empty key or no headers takes them away.

    `prices` are US dollars per million tokens: {"model": {"input": 0.4, "output": 1.6}}.
    """

    base_url: str | None = None
    key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] | None = field(default=None, repr=False)
    prices: Prices | None = None
    flags: Mapping[str, bool] | None = None


def own_providers() -> list[Provider]:
    return list(Provider.objects.order_by("name"))


def provider_named(name: str) -> Provider:
    row = Provider.objects.filter(name=name).first()
    if row is None:
        raise Missing(f"No provider was added as {name[:64]!r}.")
    return row


def add_provider(name: str, edit: ProviderEdit, by: str) -> Provider:
    check_name(name)
    row = Provider(name=name)
    apply(row, edit)
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        raise NotNow(f"There is a provider {name!r} already; change that one.") from None
    log.debug("provider %s added by %s", name, by)
    return row


@transaction.atomic
def change_provider(name: str, edit: ProviderEdit, by: str) -> Provider:
    row = provider_named(name)
    apply(row, edit)
    row.save()
    log.debug("provider %s changed by %s", name, by)
    return row


def remove_provider(name: str, by: str) -> None:
    """Agents that name it are refused with one sentence until they name another."""
    provider_named(name).delete()
    log.debug("provider %s removed by %s", name, by)


def agents_on(provider: str, among: Iterable[AgentRecord]) -> list[str]:
    """The names of those agents whose model is there."""
    return [agent.file.name for agent in among if agent.file.provider == provider]


def apply(row: Provider, edit: ProviderEdit) -> None:
    """Onto the row, checked. Raises Invalid, and never says a value that is a secret."""
    if edit.base_url is not None or not row.base_url:
        move(row, checked_address(edit.base_url or ""), edit)
    if edit.key is not None:
        row.key = checked_key(edit.key)
    if edit.headers is not None:
        row.headers = checked_headers(edit.headers)
    if edit.prices is not None:
        row.prices = check_prices(edit.prices)
    if edit.flags is not None:
        row.flags = checked_flags(edit.flags)


def move(row: Provider, address: str, edit: ProviderEdit) -> None:
    """To another server goes no secret that was entered for the first one."""
    kept = (row.key and edit.key is None) or (row.headers and edit.headers is None)
    if kept and row.base_url and origin(row.base_url) != origin(address):
        raise Invalid(
            "The address leads to another server than the key was entered for: "
            "enter key and headers again, or take them away."
        )
    row.base_url = address


def origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


def checked_key(key: str) -> str:
    key = key.strip()
    if len(key) > LONGEST_KEY or not key.isascii() or not (key.isprintable() and " " not in key):
        raise Invalid(f"A key is up to {LONGEST_KEY} plain characters without spaces.")
    return key


def checked_flags(flags: Mapping[str, bool]) -> dict[str, bool]:
    if unknown := sorted(set(flags) - FLAGS):
        raise Invalid(f"There is no flag {unknown[0][:64]!r}; known is {', '.join(sorted(FLAGS))}.")
    return dict(flags)
