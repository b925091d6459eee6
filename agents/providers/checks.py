"""What may be entered for a provider, and the sentence that refuses the rest."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from agents.errors import Invalid

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
