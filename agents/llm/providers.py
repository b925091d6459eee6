"""Where models live: the providers known by name and those an admin adds.

A row goes before a built-in provider of its name, so an admin may move `ollama` to another machine;
`demo` stays what it says it is. A key is written and compared, never given out.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from agents.demo.transport import DEMO_URL
from agents.errors import Conflict, Invalid, NotFound
from agents.llm.known_providers import (
    BY_NAME,
    LOOPBACK,
    PROTOCOLS,
    KnownProvider,
    api_at,
    host_of,
    known_provider,
    whole_address,
)
from agents.llm.lessons import forget_lessons
from agents.llm.request import Endpoint
from agents.models import Provider, ProviderListing
from agents.statements import prepared
from agents.telemetry.redaction import register_secrets

log = logging.getLogger(__name__)

DEMO_LABEL = "Demo model"


@prepared
def added(name: str) -> QuerySet[Provider]:
    return Provider.objects.filter(name=name)


def resolve(provider_name: str) -> Endpoint:
    """The endpoint of a provider. One that an admin has added goes before a built-in one."""
    name = provider_name.strip()
    if name == "demo":  # which nobody can add
        return Endpoint("demo", DEMO_URL, label=DEMO_LABEL)
    if rows := added.models(name=name):
        # The row alone counts: the key of a built-in provider never goes to another address.
        return endpoint_of(rows[0])
    if name in BY_NAME:
        return built_in(BY_NAME[name])
    raise Invalid(
        f"There is no provider “{name}”. Known are {', '.join(provider_names())}; "
        "add others in Settings > Models."
    )


def endpoint_of(row: Provider) -> Endpoint:
    headers = {str(name): str(value) for name, value in row.headers.items()}
    key = row.key.strip()
    register_secrets((key, *headers.values()))
    return Endpoint(
        row.name,
        whole_address(row.name, row.base_url.strip(), row.api),
        key,
        headers,
        BY_NAME[row.name].label if row.name in BY_NAME else row.name,
        row.flags,
        row.prices,
        row.api or api_at(row.name, row.base_url),
    )


def built_in(known: KnownProvider) -> Endpoint:
    """With the key and the address that the environment names."""
    address = settings.PROVIDER_ADDRESSES.get(known.name) or known.address
    found = settings.PROVIDER_KEYS.get(known.name)
    return Endpoint(
        known.name,
        whole_address(known.name, address),
        found.key.strip() if found else "",
        label=known.label,
        api=known.api,
    )


def lacks(endpoint: Endpoint) -> str:
    """One sentence about what is missing before the provider can be asked; empty if nothing is.

    At another address than the vendor's nobody knows whether a key is wanted.
    """
    known = known_provider(endpoint.provider, endpoint.base_url)
    if is_own_address(endpoint.base_url):
        variable = known.address_variable if known else ""
        how = f"set {variable} or change" if variable else "change"
        return f"{endpoint.address} is Planside's own address: {how} it in Settings > Models."
    if not endpoint.base_url and known:
        return (
            f"No address for {endpoint.label}: set {known.address_variable} or enter it in "
            "Settings > Models."
        )
    if known and known.needs_key and not endpoint.key and not endpoint.headers:
        home = host_of(known.address)
        if home in ("", host_of(endpoint.base_url)):
            return (
                f"No key for {known.label}: set {known.keys[-1]} or enter it in Settings > Models."
            )
    return ""


def is_own_address(url: str) -> bool:
    """vLLM and Planside both listen on port 8000 where nothing else is said."""
    is_here = host_of(url) in LOOPBACK
    return is_here and url.split("//")[1].split("/")[0].endswith(f":{settings.PLANSIDE_PORT}")


def provider_names() -> list[str]:
    """All providers, the built-in ones first."""
    own = [*BY_NAME, "demo"]
    rows = Provider.objects.order_by("name").values_list("name", flat=True)
    return own + [name for name in rows if name not in own]


def default_model() -> tuple[str, str]:
    """Provider and model of new agents, from PLANSIDE_MODEL."""
    provider, _, model = str(settings.PLANSIDE_MODEL).partition("/")
    if not provider or not model:
        written = settings.PLANSIDE_MODEL
        raise Invalid(f"PLANSIDE_MODEL is “{written}”; write it as in ollama/qwen3:8b.")
    return provider, model


# What may happen to the providers an admin adds. Doors are for admins.

LONGEST_NAME = 32
LONGEST_ADDRESS = 2000
LONGEST_KEY = 500  # characters
MOST_HEADERS = 30
MOST_PRICES = 500
DEAREST = 100_000.0  # US dollars per million tokens
FLAGS = {"stream_options"}
NAME = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
# What the client itself sets, or what would change whom the request is for.
RESERVED = {"host", "content-length", "content-type", "transfer-encoding", "connection"}

Prices = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class ProviderEdit:
    """What is to change; None leaves it as it is. An empty key or no headers takes them away.

    `prices` are US dollars per million tokens: {"model": {"input": 0.4, "output": 1.6}}. `api` is
    the protocol its server speaks; an empty one is that of its name or address.
    """

    base_url: str | None = None
    key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] | None = field(default=None, repr=False)
    prices: Prices | None = None
    flags: Mapping[str, bool] | None = None
    api: str | None = None


def own_providers() -> list[Provider]:
    return list(Provider.objects.order_by("name"))


def provider_named(name: str) -> Provider:
    row = Provider.objects.filter(name=name).first()
    if row is None:
        raise NotFound(f"No provider was added as {name[:64]!r}.")
    return row


def add_provider(name: str, edit: ProviderEdit, by: str) -> Provider:
    if len(name) > LONGEST_NAME or not NAME.fullmatch(name):
        raise Invalid(
            f"A provider's name is 1 to {LONGEST_NAME} small letters and digits, with single - or "
            "_ between them."
        )
    if name == "demo":
        raise Invalid("demo is the scripted model that is built in; choose another name.")
    row = Provider(name=name)
    apply(row, edit)
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        raise Conflict(f"There is a provider {name!r} already; change that one.") from None
    forget_answers(name)
    log.debug("provider %s added by %s", name, by)
    return row


@transaction.atomic
def change_provider(name: str, edit: ProviderEdit, by: str) -> Provider:
    row = provider_named(name)
    apply(row, edit)
    row.save()
    forget_answers(name)
    log.debug("provider %s changed by %s", name, by)
    return row


@transaction.atomic
def set_key(name: str, key: str, by: str, address: str = "") -> Provider:
    """The key of a provider, built in or added; it goes to the present address and no other.

    `address` is for a provider that has none of its own: an Azure resource.
    """
    if not key.strip():
        raise Invalid("Paste the key.")
    return put_provider(name, ProviderEdit(key=key, base_url=address or None), by)


def put_provider(name: str, edit: ProviderEdit, by: str) -> Provider:
    """Change one that was added; of one that is built in, add the row that goes before it."""
    if Provider.objects.filter(name=name).exists():
        return change_provider(name, edit, by)
    if name not in BY_NAME:
        raise NotFound(f"No provider was added as {name[:64]!r}.")
    return add_provider(name, edit, by)


@transaction.atomic
def remove_key(name: str, by: str) -> None:
    """The one that was entered. One in the environment counts again where nothing else was."""
    row = provider_named(name)
    home = BY_NAME[name].address if name in BY_NAME else ""
    moved = whole_address(name, row.base_url) != home
    speaks = row.api not in ("", api_at(name, home))
    if row.headers or row.prices or row.flags or moved or speaks:
        change_provider(name, ProviderEdit(key=""), by)
    else:
        remove_provider(name, by)


def remove_provider(name: str, by: str) -> None:
    """Agents that name it are refused with one sentence until they name another."""
    provider_named(name).delete()
    forget_answers(name)
    log.debug("provider %s removed by %s", name, by)


def forget_answers(name: str) -> None:
    """What was said to another key, or at another address, counts no more."""
    ProviderListing.objects.filter(provider=name).delete()
    forget_lessons(name)


def apply(row: Provider, edit: ProviderEdit) -> None:
    """Onto the row, checked. Raises Invalid, and never says a value that is a secret."""
    if edit.base_url is not None or not row.base_url:
        address = checked_address(edit.base_url or present_address(row.name))
        keeps_secrets = (row.key and edit.key is None) or (row.headers and edit.headers is None)
        if keeps_secrets and row.base_url and origin(row.base_url) != origin(address):
            raise Invalid(
                "The address leads to another server than the key was entered for: "
                "enter key and headers again, or take them away."
            )
        row.base_url = address
    if edit.key is not None:
        key = edit.key.strip()
        if len(key) > LONGEST_KEY or not key.isascii() or not key.isprintable() or " " in key:
            raise Invalid(f"A key is up to {LONGEST_KEY} plain characters without spaces.")
        row.key = key
    if edit.headers is not None:
        if len(edit.headers) > MOST_HEADERS:
            raise Invalid(f"Up to {MOST_HEADERS} headers can be sent.")
        for name, value in edit.headers.items():
            if not HEADER.fullmatch(name) or name.lower() in RESERVED:
                raise Invalid(f"{name[:100]!r} cannot be the name of a header here.")
            if not (value.isascii() and value.isprintable()):
                raise Invalid(
                    f"The value of {name} has to be printable ASCII characters on one line."
                )
        row.headers = dict(edit.headers)
    if edit.prices is not None:
        row.prices = checked_prices(edit.prices)
    if edit.api is not None:
        if edit.api and edit.api not in PROTOCOLS:
            known = " or ".join(PROTOCOLS)
            raise Invalid(f"There is no protocol {edit.api[:64]!r}: it is {known}.")
        row.api = edit.api
    if edit.flags is not None:
        if unknown := sorted(set(edit.flags) - FLAGS):
            known = ", ".join(sorted(FLAGS))
            raise Invalid(f"There is no flag {unknown[0][:64]!r}; known is {known}.")
        row.flags = dict(edit.flags)


def present_address(name: str) -> str:
    """Where a built-in provider is while no row says otherwise."""
    return built_in(BY_NAME[name]).base_url if name in BY_NAME else ""


def origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


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
    path = path.removesuffix("/messages").removesuffix("/responses")
    return f"{parts.scheme}://{parts.netloc}{path}"


def checked_prices(prices: Prices) -> dict[str, dict[str, float]]:
    """US dollars per million tokens, input and output, for each model named.

    `cached_input` may be given besides.
    """
    if len(prices) > MOST_PRICES:
        raise Invalid(f"Prices of up to {MOST_PRICES} models are kept.")
    for model, price in prices.items():
        if not 0 < len(model) <= 200 or not model.isprintable():
            raise Invalid("A price is for a model: name it in up to 200 characters.")
        if set(price) - {"cached_input"} != {"input", "output"}:
            raise Invalid(
                f"The price of {model[:100]} has two parts, input and output, and may have "
                "cached_input besides."
            )
        if not all(math.isfinite(value) and 0 <= value <= DEAREST for value in price.values()):
            raise Invalid(f"A price of {model[:100]} is not between 0 and {DEAREST:,.0f} dollars.")
    return {
        model: {part: float(value) for part, value in price.items()}
        for model, price in prices.items()
    }
