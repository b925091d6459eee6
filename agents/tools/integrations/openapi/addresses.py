"""Where requests may go: an operation's always go to the host that the admin registered."""

from __future__ import annotations

from urllib.parse import SplitResult

from agents.errors import Invalid
from agents.normalization import joined_url, split_url

NO_URL = "The address of a service is not a URL."
PORTS = {"http": 80, "https": 443}


def same_origin(one: str, other: str) -> bool:
    return origin(one) == origin(other)


def origin(url: str) -> tuple[str, str, int | None]:
    parts = split(url)
    try:
        port = parts.port
    except ValueError:
        raise Invalid("The address of a service has an impossible port.") from None
    return parts.scheme, parts.hostname or "", port or PORTS.get(parts.scheme)


def split(url: str) -> SplitResult:
    try:
        return split_url(url)
    except ValueError:
        raise Invalid(NO_URL) from None


def joined(base: str, url: str) -> str:
    try:
        return joined_url(base, url)
    except ValueError:
        raise Invalid(NO_URL) from None
