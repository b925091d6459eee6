"""Where requests may go: an operation's always go to the host that the admin registered."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

from agents.errors import Invalid

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
        return urlsplit(url)
    except ValueError:
        raise Invalid("The address of a service is not a URL.") from None
