"""Where an operation's requests go: always to the host that the admin registered."""

from __future__ import annotations

from urllib.parse import SplitResult, urljoin, urlsplit

from agents.errors import Invalid
from agents.tools.integrations.openapi.schemas import Json, mapping, sequence, text

PORTS = {"http": 80, "https": 443}


def document_address(url: str) -> str:
    return url.rstrip("/") + "/openapi.json"


def check_address(url: str) -> None:
    """Raises Invalid unless it is an http or https URL with a host."""
    parts = split(url)
    if parts.scheme not in PORTS or not parts.hostname:
        raise Invalid("The address of a service starts with http:// or https:// and names a host.")


def base_of(holders: list[Json], url: str, read_from: str, paths: list[str]) -> str:
    """The first server named by the operation, its path or the document, without a last slash.

    One on another host is left aside for the registered URL: the headers are secrets of the host
    that was registered. `read_from` is where the document came from, if anywhere.
    """
    near = read_from if read_from and same_origin(read_from, url) else url.rstrip("/") + "/"
    for holder in holders:
        servers = sequence(holder.get("servers"), "servers")
        if servers:
            named = urljoin(near, server_url(mapping(servers[0], "servers[0]")))
            return (named if same_origin(named, url) else url).rstrip("/")
    return unnamed_base(url, paths)


def server_url(server: Json) -> str:
    """Its URL with the defaults of its variables."""
    url = text(server.get("url"))
    for name, variable in mapping(server.get("variables") or {}, "variables").items():
        default = mapping(variable, f"variables.{name}").get("default", "")
        url = url.replace("{" + name + "}", str(default))
    return url


def unnamed_base(url: str, paths: list[str]) -> str:
    """No server is named: the paths either start with the URL's own path or go on from it."""
    own = split(url).path.rstrip("/")
    if own and paths and all(path.startswith(own + "/") for path in paths):
        return urljoin(url, "/").rstrip("/")
    return url.split("?")[0].split("#")[0].rstrip("/")


def same_origin(one: str, other: str) -> bool:
    return origin(split(one)) == origin(split(other))


def origin(parts: SplitResult) -> tuple[str, str, int | None]:
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
