"""Where models live: the providers built in and those an admin adds, and the models they have.

A row goes before a built-in provider of its name, so an admin may move `ollama` to another machine;
`demo` stays what it says it is. A key is written and compared, never given out.
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from time import monotonic
from urllib.parse import urlsplit

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from agents.config.store import AgentRecord
from agents.db import in_db
from agents.demo.transport import DEMO_URL
from agents.errors import Conflict, Invalid, NotFound, Refused
from agents.llm.client import list_models
from agents.llm.errors import ModelError
from agents.llm.request import Endpoint
from agents.models import Provider
from agents.statements import prepared
from agents.telemetry.redaction import register_secrets

log = logging.getLogger(__name__)

DEMO_LABEL = "Demo model (scripted, offline)"


@prepared
def added(name: str) -> QuerySet[Provider, tuple[int]]:
    return Provider.objects.filter(name=name).values_list("pk")


def resolve(provider_name: str) -> Endpoint:
    """The endpoint of a provider. One that an admin has added goes before a built-in one."""
    name, known = provider_name.strip(), built_in()
    if added.rows(name=name):
        # The row alone counts: the key of a built-in provider never goes to another address.
        row = Provider.objects.get(name=name)
        url, key = row.base_url.strip(), row.key.strip()
        headers = {str(name): str(value) for name, value in row.headers.items()}
        register_secrets((key, *headers.values()))
        label = known[name].label if name in known else name
        return Endpoint(name, url, key, headers, label, row.flags, row.prices)
    if name in known:
        return known[name]
    raise Invalid(
        f"There is no provider “{name}”. Known are {', '.join(provider_names())}; "
        "add others in Settings > Models."
    )


def provider_names() -> list[str]:
    """All providers, the built-in ones first."""
    own = list(built_in())
    rows = Provider.objects.order_by("name").values_list("name", flat=True)
    return own + [name for name in rows if name not in own]


def default_model() -> tuple[str, str]:
    """Provider and model of new agents, from PLANSIDE_MODEL."""
    provider, _, model = str(settings.PLANSIDE_MODEL).partition("/")
    if not provider or not model:
        written = settings.PLANSIDE_MODEL
        raise Invalid(f"PLANSIDE_MODEL is “{written}”; write it as in ollama/qwen3:8b.")
    return provider, model


def built_in() -> dict[str, Endpoint]:
    openai = Endpoint(
        "openai", settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY.strip(), label="OpenAI"
    )
    return {
        "openai": openai,
        "ollama": Endpoint("ollama", "http://127.0.0.1:11434/v1", label="Ollama"),
        "lmstudio": Endpoint("lmstudio", "http://127.0.0.1:1234/v1", label="LM Studio"),
        "demo": Endpoint("demo", DEMO_URL, label=DEMO_LABEL),
    }


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
        address = checked_address(edit.base_url or "")
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
    if edit.flags is not None:
        if unknown := sorted(set(edit.flags) - FLAGS):
            known = ", ".join(sorted(FLAGS))
            raise Invalid(f"There is no flag {unknown[0][:64]!r}; known is {known}.")
        row.flags = dict(edit.flags)


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
    return f"{parts.scheme}://{parts.netloc}{path}"


def checked_prices(prices: Prices) -> dict[str, dict[str, float]]:
    """US dollars per million tokens, input and output, for each model named."""
    if len(prices) > MOST_PRICES:
        raise Invalid(f"Prices of up to {MOST_PRICES} models are kept.")
    for model, price in prices.items():
        if not 0 < len(model) <= 200 or not model.isprintable():
            raise Invalid("A price is for a model: name it in up to 200 characters.")
        if set(price) != {"input", "output"}:
            raise Invalid(f"The price of {model[:100]} has two parts, input and output.")
        if not all(math.isfinite(value) and 0 <= value <= DEAREST for value in price.values()):
            raise Invalid(f"A price of {model[:100]} is not between 0 and {DEAREST:,.0f} dollars.")
    return {
        model: {part: float(price[part]) for part in ("input", "output")}
        for model, price in prices.items()
    }


# Which models a provider has. No page waits for this: fragments that load after it, buttons and
# the API ask.

PATIENCE = 1.5  # seconds for a server on this machine, or one whose key is set
KEPT = 30.0  # seconds that a discovery counts
LOOPBACK = {"127.0.0.1", "localhost", "::1"}
AT_HAND = ("ollama", "lmstudio", "openai")
# Of several models the one that is known to call tools well; never one that only embeds.
PREFERRED = ("qwen3", "gpt-oss", "gpt-4.1-mini", "gpt-4", "qwen", "llama3", "mistral")
NOT_FOR_CHAT = ("embed", "whisper", "tts", "dall-e", "moderation", "rerank", "image", "audio")


@dataclass(frozen=True)
class ProviderTest:
    """The models, or why there is no list (`problem`) and what to do about it (`advice`)."""

    models: tuple[str, ...] = ()
    problem: str = ""
    advice: str = ""


@dataclass(frozen=True)
class FoundModel:
    """A model that could be used at once."""

    provider: str
    model: str
    sentence: str


_discovered: tuple[float, list[FoundModel]] | None = None


async def ask_provider(endpoint: Endpoint) -> ProviderTest:
    try:
        models = [model.id for model in await list_models(endpoint)]
    except ModelError as error:
        problem = error.detail
        if error.kind == "missing" and error.status in (404, 405):
            problem += " It may not list its models: a message will tell."
        return ProviderTest(problem=problem, advice=error.advice)
    if models:
        return ProviderTest(tuple(models))
    advice = {
        "ollama": "Fetch one: ollama pull qwen3:8b",
        "lmstudio": "Load one in LM Studio (Developer > Load model).",
    }.get(endpoint.provider, "Name the model in the agent's card all the same.")
    return ProviderTest(problem="It answers, but has no models.", advice=advice)


async def discover() -> list[FoundModel]:
    """Ollama and LM Studio on this machine, and OpenAI where a key is set; asked every 30 s."""
    global _discovered
    if _discovered is None or monotonic() - _discovered[0] > KEPT:
        answers = await asyncio.gather(*(probe(name) for name in AT_HAND))
        _discovered = monotonic(), [found for found in answers if found]
    return _discovered[1]


def forget_discovered() -> None:
    global _discovered
    _discovered = None


async def probe(name: str) -> FoundModel | None:
    try:
        endpoint = await in_db(resolve, name)
        if name == "openai" and not endpoint.key:
            return None
        async with asyncio.timeout(PATIENCE):
            models = [model.id for model in await list_models(endpoint)]
    except (ModelError, Refused, TimeoutError):
        return None
    fit = [name for name in models if not any(word in name.lower() for word in NOT_FOR_CHAT)]
    if not fit:
        return None
    known = (name for word in PREFERRED for name in fit if word in name.lower())
    model = next(known, fit[0])
    host = urlsplit(endpoint.base_url).hostname or ""
    where = "here" if host in LOOPBACK else f"at {host}"
    sentence = f"{endpoint.label} is running {where} with {model}."
    if host.endswith("openai.com"):
        sentence = f"An OpenAI key is set, and {model} answers to it."
    return FoundModel(name, model, sentence)
