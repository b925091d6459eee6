"""Which addresses a model may have fetched: public ones, and hosts that the agent's file allows.

The tables follow IANA's special-purpose registries rather than `is_global`, which means something
else in each version of Python.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

import httpx

from agents.http import usual_tls
from agents.pools import LOOKUPS
from agents.tools.base import ToolFailed
from agents.tools.confinement import display_path

Resolver = Callable[[str, int], Awaitable[list[str]]]

NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*", re.ASCII)
# What some resolvers read as a number: 127.1, 0x7f.1, 2130706433, 0177.0.0.1.
NUMBER_AT_END = re.compile(r"(.*\.)?([0-9]+|0x[0-9a-f]*)", re.ASCII)
PORTS = {"http": 80, "https": 443}

INTERNAL_V4 = [
    IPv4Network(each)
    for each in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # the host under a virtual machine of Azure
        "169.254.0.0/16",  # link-local; metadata of clouds
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
]
GLOBAL_V6 = IPv6Network("2000::/3")
INTERNAL_V6 = [
    IPv6Network(each)
    for each in (
        "2001::/23",  # protocol assignments; Teredo, which carries an IPv4 address
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, which carries an IPv4 address
        "3fff::/20",  # documentation
    )
]
# On networks without IPv4, every public IPv4 address looks like this.
NAT64 = IPv6Network("64:ff9b::/96")


async def ask_system(host: str, port: int) -> list[str]:
    """The addresses of a name, in the system's order of preference. Raises OSError."""
    found = await LOOKUPS.run(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


@dataclass(frozen=True)
class Guard:
    """Says where a URL may lead. `allowed` holds hosts, or host:port, that may be private."""

    allowed: Collection[str] = ()
    resolver: Resolver = field(default=ask_system)

    async def addresses(self, url: httpx.URL) -> list[str]:
        """Ask once for the host's addresses: these may be connected to. Raises ToolFailed."""
        host = host_of(url)
        port = url.port or PORTS[url.scheme]
        literal = address_in(host)
        try:
            addresses = [str(literal)] if literal else await self.resolver(host, port)
        except (OSError, UnicodeError):
            addresses = []
        if not addresses:
            raise ToolFailed(
                f"{display_path(host)} could not be found: no address is known for it."
            )
        names = {host, f"[{host}]"} if ":" in host else {host}
        names |= {f"{name}:{port}" for name in names}
        is_allowed = any(each.strip().lower() in names for each in self.allowed)
        if not is_allowed and not all(map(is_public, addresses)):
            raise ToolFailed(
                f"{display_path(host)} is not a public address, and fetch_url goes to no other "
                "unless the agent's file allows the host."
            )
        return addresses


def host_of(url: httpx.URL) -> str:
    """The host as it is connected to, in ASCII. Raises ToolFailed for a URL that is not plain."""
    if url.scheme not in PORTS:
        raise ToolFailed("Only http and https URLs are fetched.")
    if url.userinfo:
        raise ToolFailed("A URL with a user name or password in it is not fetched.")
    host = url.raw_host.decode("ascii", "replace").lower()
    if not host:
        raise ToolFailed("The URL names no host.")
    if not address_in(host) and (not NAME.fullmatch(host) or NUMBER_AT_END.fullmatch(host)):
        raise ToolFailed(
            f"{display_path(host)} is neither a host's name nor an address in usual form."
        )
    return host


def address_in(host: str) -> IPv4Address | IPv6Address | None:
    """The address that a host is, if it is one in its usual form; never with a zone."""
    try:
        return None if "%" in host else ip_address(host)
    except ValueError:
        return None


def is_public(address: str) -> bool:
    """Whether the address is public, by the ranges it is in."""
    found = address_in(address)
    if isinstance(found, IPv6Address) and found in NAT64:
        found = IPv4Address(int(found) & 0xFFFFFFFF)
    if isinstance(found, IPv4Address):
        return not any(found in network for network in INTERNAL_V4)
    if found is None or found not in GLOBAL_V6:
        return False
    return not any(found in network for network in INTERNAL_V6)


# A way to the network that connects to the very address that was checked.

MOST_ADDRESSES = 4  # of one host that are tried


class PinnedTransport(httpx.AsyncBaseTransport):
    """Each request asks the guard, then goes to an address instead of a name.

    So a name that changes its address between check and connection changes nothing. No connection
    is kept: it would be found by its address, and serve another name than it was made for.
    """

    def __init__(self, guard: Guard, tls: ssl.SSLContext | None = None) -> None:
        self.guard = guard
        self.inner = httpx.AsyncHTTPTransport(
            verify=tls or usual_tls(), limits=httpx.Limits(max_keepalive_connections=0)
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        addresses = await self.guard.addresses(request.url)
        *others, last = addresses[:MOST_ADDRESSES]
        for address in others:
            with suppress(httpx.ConnectError, httpx.ConnectTimeout):
                return await self.inner.handle_async_request(pinned(request, address))
        return await self.inner.handle_async_request(pinned(request, last))

    async def aclose(self) -> None:
        await self.inner.aclose()


def pinned(request: httpx.Request, address: str) -> httpx.Request:
    """The same request to an address; its Host header and the name for TLS stay."""
    return httpx.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.raw_host.decode("ascii")},
    )
