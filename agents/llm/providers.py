"""Where models live: the providers known by name and those an admin adds.

A row goes before a built-in provider of its name, so an admin may move `ollama` to another machine;
`demo` stays what it says it is. A key is written and compared, never given out.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from agents.demo.transport import DEMO_URL
from agents.errors import Conflict, Invalid, NotFound
from agents.llm.errors import no_key
from agents.llm.known_providers import (
    BY_NAME,
    LOOPBACK,
    KnownProvider,
    api_at,
    host_of,
    known_provider,
    whole_address,
)
from agents.llm.lessons import forget_lessons
from agents.llm.provider_checks import (
    Prices,
    checked_address,
    checked_api,
    checked_flags,
    checked_headers,
    checked_key,
    checked_name,
    checked_prices,
)
from agents.llm.request import Endpoint
from agents.models import Provider, ProviderListing
from agents.normalization import split_url
from agents.statements import prepared
from agents.stored_text import gettext, gettext_lazy
from agents.telemetry.redaction import register_secrets

log = logging.getLogger(__name__)

DEMO_LABEL = gettext_lazy("Demo model")


@prepared
def added(name: str) -> QuerySet[Provider]:
    return Provider.objects.filter(name=name)


def resolve(provider_name: str) -> Endpoint:
    """The endpoint of a provider. One that an admin has added goes before a built-in one."""
    name = provider_name.strip()
    if name == "demo":  # which nobody can add
        return Endpoint("demo", DEMO_URL, label=str(DEMO_LABEL))
    if rows := added.models(name=name):
        # The row alone counts: the key of a built-in provider never goes to another address.
        return endpoint_of(rows[0])
    if name in BY_NAME:
        return built_in(BY_NAME[name])
    raise Invalid(
        gettext(
            "There is no provider “{name}”. Known are {providers}; add others in Settings > Models."
        ).format(name=name, providers=", ".join(provider_names()))
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
        sentence = gettext("{address} is Planside's own address: change it in Settings > Models.")
        if variable:
            sentence = gettext(
                "{address} is Planside's own address: set {variable} or change it in "
                "Settings > Models."
            )
        return sentence.format(address=endpoint.address, variable=variable)
    if not endpoint.base_url and known:
        return gettext(
            "No address for {provider}: set {variable} or enter it in Settings > Models."
        ).format(provider=endpoint.label, variable=known.address_variable)
    if known and known.needs_key and not endpoint.key and not endpoint.headers:
        home = host_of(known.address)
        if home in ("", host_of(endpoint.base_url)):
            return no_key(known.label, known.keys[-1])
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
        raise Invalid(
            gettext("PLANSIDE_MODEL is “{written}”; write it as in ollama/qwen3:8b.").format(
                written=written
            )
        )
    return provider, model


# What may happen to the providers an admin adds. Doors are for admins.


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
        raise NotFound(gettext("No provider was added as {name!r}.").format(name=name[:64]))
    return row


def add_provider(name: str, edit: ProviderEdit, by: str) -> Provider:
    row = Provider(name=checked_name(name))
    apply(row, edit)
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        raise Conflict(
            gettext("There is a provider {name!r} already; change that one.").format(name=name),
            field="name",
        ) from None
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
        raise Invalid(gettext("Paste the key."), field="key")
    return put_provider(name, ProviderEdit(key=key, base_url=address or None), by)


def put_provider(name: str, edit: ProviderEdit, by: str) -> Provider:
    """Change one that was added; of one that is built in, add the row that goes before it."""
    if Provider.objects.filter(name=name).exists():
        return change_provider(name, edit, by)
    if name not in BY_NAME:
        raise NotFound(gettext("No provider was added as {name!r}.").format(name=name[:64]))
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
                gettext(
                    "The address leads to another server than the key was entered for: enter key "
                    "and headers again, or take them away."
                ),
                field="base_url",
            )
        row.base_url = address
    if edit.key is not None:
        row.key = checked_key(edit.key)
    if edit.headers is not None:
        row.headers = checked_headers(edit.headers)
    if edit.prices is not None:
        row.prices = checked_prices(edit.prices)
    if edit.api is not None:
        row.api = checked_api(edit.api)
    if edit.flags is not None:
        row.flags = checked_flags(edit.flags)


def present_address(name: str) -> str:
    """Where a built-in provider is while no row says otherwise."""
    return built_in(BY_NAME[name]).base_url if name in BY_NAME else ""


def origin(url: str) -> tuple[str, str]:
    parts = split_url(url)
    return parts.scheme, parts.netloc
