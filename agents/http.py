"""The one way out to the network: a client per event loop, and the seam where tests stand in."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import MutableMapping
from contextlib import ExitStack
from functools import cache
from weakref import WeakKeyDictionary

import httpx
from django.conf import settings

from agents.demo.transport import DEMO_HOST, DemoModel

Transport = httpx.AsyncBaseTransport | None
Loop = asyncio.AbstractEventLoop

# httpx logs every URL at INFO, and a URL may hold a secret.
logging.getLogger("httpx").setLevel(logging.WARNING)

# A client belongs to the loop its connections were opened on, and to one transport.
_clients: MutableMapping[Loop, dict[Transport, httpx.AsyncClient]] = WeakKeyDictionary()
_transport: Transport = None


def client() -> httpx.AsyncClient:
    """The client of the running loop."""
    mine = _clients.setdefault(asyncio.get_running_loop(), {})
    if _transport not in mine:
        mine[_transport] = httpx.AsyncClient(
            transport=_transport,
            verify=usual_tls(),
            timeout=timeout(),
            limits=httpx.Limits(max_connections=200, max_keepalive_connections=50),
            mounts=None if _transport else {f"all://{DEMO_HOST}": DemoModel()},
        )
    return mine[_transport]


@cache
def usual_tls() -> ssl.SSLContext:
    """Made once: reading the list of authorities takes a while."""
    return httpx.create_ssl_context()


def use(transport: Transport) -> ExitStack:
    """Send everything through this transport from now on; in a `with`, only until its end."""
    undo = ExitStack()
    undo.callback(_install, _transport)
    _install(transport)
    return undo


async def aclose_all() -> None:
    """Close what the running loop has opened."""
    for opened in _clients.pop(asyncio.get_running_loop(), {}).values():
        await opened.aclose()


def timeout() -> httpx.Timeout:
    """The read timeout counts between two chunks: a long reply may take as long as it likes."""
    return httpx.Timeout(settings.MODEL_IDLE_TIMEOUT, connect=settings.MODEL_CONNECT_TIMEOUT)


def _install(transport: Transport) -> None:
    global _transport
    _transport = transport
