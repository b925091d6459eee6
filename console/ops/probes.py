"""In front of Django: what watches the server is answered on the loop itself.

So they speak when every thread hangs in a database that is gone, ask by whatever address a probe
knows, and need neither TLS nor a session.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from console.ops.event_loop_lag import lag, watch_this_loop
from console.ops.health import readiness
from console.ops.metrics import is_open, open_sockets

Scope = dict[str, Any]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Application = Callable[..., Awaitable[None]]


class Probed:
    def __init__(self, pages: Application) -> None:
        self.pages = pages

    async def __call__(self, scope: Scope, receive: object, send: Send) -> None:
        if lag.loop is None:
            watch_this_loop()
        path = scope["path"]
        if path == "/healthz":
            await answer(send, 200, {"status": "ok"})
        elif path == "/readyz":
            await answer(send, *await readiness())
        else:
            await self.pages(by_our_name(scope) if path == "/metrics" else scope, receive, send)


class Counted:
    """The sockets that are open."""

    def __init__(self, live: Application) -> None:
        self.live = live

    async def __call__(self, scope: Scope, receive: object, send: Send) -> None:
        with open_sockets.track_inprogress():
            await self.live(scope, receive, send)


def by_our_name(scope: Scope) -> Scope:
    """Prometheus asks each process by its own address, within the network and so without TLS.

    Only where a token is needed, and sent: a browser has to come the usual way.
    """
    sent: list[tuple[bytes, bytes]] = scope["headers"]
    if is_open() or not any(name == b"authorization" for name, _ in sent):
        return scope
    ours = [(b"host", b"localhost"), (b"x-forwarded-proto", b"https")]
    names = {name for name, _ in ours}
    return {**scope, "headers": [pair for pair in sent if pair[0] not in names] + ours}


async def answer(send: Send, status: int, document: dict[str, object]) -> None:
    body = json.dumps(document).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
