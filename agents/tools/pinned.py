"""A way to the network that connects to the very address that was checked."""

from __future__ import annotations

import ssl
from contextlib import suppress
from functools import cache

import httpx

from agents.tools.addresses import Guard

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


@cache
def usual_tls() -> ssl.SSLContext:
    """Made once: reading the list of authorities takes a while."""
    return httpx.create_ssl_context()
