"""What an admin enters about a provider, checked. Raises Invalid, and never says a secret."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from agents.errors import Invalid, about
from agents.llm.known_providers import PROTOCOLS
from agents.normalization import split_url
from agents.stored_text import gettext

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


@about("name")
def checked_name(name: str) -> str:
    if len(name) > LONGEST_NAME or not NAME.fullmatch(name):
        sentence = gettext(
            "A provider's name is 1 to {most} small letters and digits, with single - or _ "
            "between them."
        )
        raise Invalid(sentence.format(most=LONGEST_NAME))
    if name == "demo":
        raise Invalid(gettext("demo is the scripted model that is built in; choose another name."))
    return name


@about("base_url")
def checked_address(text: str) -> str:
    """http or https, a host, and a path such as /v1; no password in it."""
    url = text.strip()
    wanted = gettext("The base URL is a web address such as https://api.example.com/v1.")
    try:
        parts = split_url(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise Invalid(wanted) from None
    if not is_address or len(url) > LONGEST_ADDRESS or not url.isprintable() or " " in url:
        raise Invalid(wanted)
    if parts.username is not None or parts.query or parts.fragment:
        raise Invalid(
            gettext(
                "The base URL is a web address such as https://api.example.com/v1, without a "
                "password, ? or #; a secret goes into key or headers."
            )
        )
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    path = path.removesuffix("/messages").removesuffix("/responses")
    return f"{parts.scheme}://{parts.netloc}{path}"


@about("key")
def checked_key(text: str) -> str:
    key = text.strip()
    if len(key) > LONGEST_KEY or not key.isascii() or not key.isprintable() or " " in key:
        sentence = gettext("A key is up to {most} plain characters without spaces.")
        raise Invalid(sentence.format(most=LONGEST_KEY))
    return key


@about("headers")
def checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    if len(headers) > MOST_HEADERS:
        raise Invalid(gettext("Up to {most} headers can be sent.").format(most=MOST_HEADERS))
    for name, value in headers.items():
        if not HEADER.fullmatch(name) or name.lower() in RESERVED:
            sentence = gettext("{name!r} cannot be the name of a header here.")
            raise Invalid(sentence.format(name=name[:100]))
        if not (value.isascii() and value.isprintable()):
            sentence = gettext(
                "The value of {name} has to be printable ASCII characters on one line."
            )
            raise Invalid(sentence.format(name=name))
    return dict(headers)


@about("api")
def checked_api(api: str) -> str:
    """The protocol its server speaks; an empty one is that of its name or address."""
    if api and api not in PROTOCOLS:
        sentence = gettext("There is no protocol {api!r}; known are {known}.")
        raise Invalid(sentence.format(api=api[:64], known=", ".join(PROTOCOLS)))
    return api


@about("stream_options")
def checked_flags(flags: Mapping[str, bool]) -> dict[str, bool]:
    if unknown := sorted(set(flags) - FLAGS):
        sentence = gettext("There is no flag {unknown!r}; known is {known}.")
        raise Invalid(sentence.format(unknown=unknown[0][:64], known=", ".join(sorted(FLAGS))))
    return dict(flags)


@about("prices")
def checked_prices(prices: Prices) -> dict[str, dict[str, float]]:
    """US dollars per million tokens, input and output, for each model named.

    `cached_input` may be given besides.
    """
    if len(prices) > MOST_PRICES:
        sentence = gettext("Prices of up to {most} models are kept.")
        raise Invalid(sentence.format(most=MOST_PRICES))
    for model, price in prices.items():
        if not 0 < len(model) <= 200 or not model.isprintable():
            raise Invalid(gettext("A price is for a model: name it in up to 200 characters."))
        if set(price) - {"cached_input"} != {"input", "output"}:
            sentence = gettext(
                "The price of {model} has two parts, input and output, and may have cached_input "
                "besides."
            )
            raise Invalid(sentence.format(model=model[:100]))
        if not all(math.isfinite(value) and 0 <= value <= DEAREST for value in price.values()):
            sentence = gettext("A price of {model} is not between 0 and {most:,.0f} dollars.")
            raise Invalid(sentence.format(model=model[:100], most=DEAREST))
    return {
        model: {part: float(value) for part, value in price.items()}
        for model, price in prices.items()
    }
