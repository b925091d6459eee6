"""What may happen to the providers an admin adds. A key is written and compared, never given out.

Doors are for admins. A row goes before a built-in provider of its name, so an admin may move
`ollama` to another machine; `demo` stays what it says it is.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from django.db import IntegrityError, transaction

from agents.config.store import AgentRecord
from agents.errors import Conflict, Invalid, NotFound
from agents.models import Provider

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
        raise NotFound(f"No provider was added as {name[:64]!r}.")
    return row


def add_provider(name: str, edit: ProviderEdit, by: str) -> Provider:
    check_name(name)
    row = Provider(name=name)
    apply(row, edit)
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        raise Conflict(f"There is a provider {name!r} already; change that one.") from None
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


# What may be entered for a provider, and the sentence that refuses the rest.

LONGEST_NAME = 32
LONGEST_ADDRESS = 2000
MOST_HEADERS = 30
MOST_PRICES = 500
DEAREST = 100_000.0  # US dollars per million tokens
NAME = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
# What the client itself sets, or what would change whom the request is for.
RESERVED = {"host", "content-length", "content-type", "transfer-encoding", "connection"}


def check_name(name: str) -> None:
    if len(name) > LONGEST_NAME or not NAME.fullmatch(name):
        raise Invalid(
            f"A provider's name is 1 to {LONGEST_NAME} small letters and digits, with single - or "
            "_ between them."
        )
    if name == "demo":
        raise Invalid("demo is the scripted model that is built in; choose another name.")


def checked_address(text: str) -> str:
    """http or https, a host, and a path such as /v1; no password in it."""
    url = text.strip()
    wanted = "The base URL is a web address such as https://api.example.com/v1"
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise Invalid(f"{wanted}.") from None
    if not is_address or len(url) > LONGEST_ADDRESS or not url.isprintable() or " " in url:
        raise Invalid(f"{wanted}.")
    if parts.username is not None or parts.query or parts.fragment:
        raise Invalid(f"{wanted}, without a password, ? or #; a secret goes into key or headers.")
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    return f"{parts.scheme}://{parts.netloc}{path}"


def checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    if len(headers) > MOST_HEADERS:
        raise Invalid(f"Up to {MOST_HEADERS} headers can be sent.")
    for name, value in headers.items():
        if not HEADER.fullmatch(name) or name.lower() in RESERVED:
            raise Invalid(f"{name[:100]!r} cannot be the name of a header here.")
        if not (value.isascii() and value.isprintable()):
            raise Invalid(f"The value of {name} has to be printable ASCII characters on one line.")
    return dict(headers)


def check_prices(prices: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """US dollars per million tokens, input and output, for each model named."""
    if len(prices) > MOST_PRICES:
        raise Invalid(f"Prices of up to {MOST_PRICES} models are kept.")
    return {checked_model(model): checked_price(model, each) for model, each in prices.items()}


def checked_model(model: str) -> str:
    if not 0 < len(model) <= 200 or not model.isprintable():
        raise Invalid("A price is for a model: name it in up to 200 characters.")
    return model


def checked_price(model: str, price: Mapping[str, float]) -> dict[str, float]:
    if set(price) != {"input", "output"}:
        raise Invalid(f"The price of {model[:100]} has two parts, input and output.")
    for value in price.values():
        if not math.isfinite(value) or not 0 <= value <= DEAREST:
            raise Invalid(f"A price of {model[:100]} is not between 0 and {DEAREST:,.0f} dollars.")
    return {part: float(price[part]) for part in ("input", "output")}
