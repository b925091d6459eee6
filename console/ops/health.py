"""For whoever watches the server: /healthz, is the process alive; /readyz, can it work.

The server answers both in front of Django, on its event loop and within a bounded time: so they
speak when every thread hangs in a database that is gone, are asked by whatever address a probe
knows, and need neither TLS nor a session. The views answer where Django is asked without it.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.urls import path

from agents.models import Conversation
from console.home import is_behind
from console.ops.metrics import loop_lag

PATIENCE = 1.5  # seconds for each of the checks
LEAST_ROOM = 4 * 1024**2  # bytes

Scope = dict[str, Any]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Application = Callable[..., Awaitable[None]]


class Probed:
    """The two probes answered on the event loop; all else is passed on."""

    def __init__(self, pages: Application) -> None:
        self.pages = pages

    async def __call__(self, scope: Scope, receive: object, send: Send) -> None:
        if loop_lag.loop is None:
            loop_lag.watch()
        path = scope["path"]
        if path == "/healthz":
            await respond(send, 200, {"status": "ok"})
        elif path == "/readyz":
            database, channel = await asyncio.gather(database_answer(), channel_answer())
            await respond(send, *verdict([database, disk_problem(), channel]))
        else:
            await self.pages(by_our_name(scope) if path == "/metrics" else scope, receive, send)


def by_our_name(scope: Scope) -> Scope:
    """Prometheus asks each process by its own address, within the network and so without TLS.

    Only where a token is needed, and sent: a browser has to come the usual way.
    """
    sent: list[tuple[bytes, bytes]] = scope["headers"]
    if settings.PLANSIDE_IS_LOCAL or not any(name == b"authorization" for name, _ in sent):
        return scope
    ours = {b"host": b"localhost", b"x-forwarded-proto": b"https"}
    others = [(name, value) for name, value in sent if name not in ours]
    return {**scope, "headers": [*others, *ours.items()]}


async def respond(send: Send, status: int, document: dict[str, object]) -> None:
    body = json.dumps(document).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def healthz(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> JsonResponse:
    status, document = verdict([database_problem(), disk_problem(), channel_problem()])
    return JsonResponse(document, status=status)


def verdict(problems: list[str]) -> tuple[int, dict[str, object]]:
    """`problems` of database, disk and live updates, each empty when all is well."""
    parts = ("database", "disk", "live updates")
    away = [part for part, problem in zip(parts, problems, strict=True) if problem]
    if not away:
        return 200, {"status": "ready"}
    return 503, {"status": "not ready", "away": away, "detail": " ".join(filter(None, problems))}


class OneThread:
    """A check that hangs holds one thread and no more: who asks meanwhile waits for it too."""

    def __init__(self, check: Callable[[], str]) -> None:
        self.check = check
        self.executor = ThreadPoolExecutor(1, "health")
        self.asked: Future[str] | None = None

    def ask(self) -> Future[str]:
        if self.asked is None or self.asked.done():
            self.asked = self.executor.submit(self.check)
        return self.asked


async def database_answer() -> str:
    asked = asyncio.wrap_future(database_thread.ask())
    answered, _ = await asyncio.wait({asked}, timeout=PATIENCE)
    return asked.result() if answered else f"The database does not answer within {PATIENCE} s."


def checked_database() -> str:
    """On the check's own connection, which then goes back to the pool."""
    try:
        return database_problem()
    except Exception as error:  # it went away between two of the questions
        return f"The database does not answer: {first_line(error)}."
    finally:
        with suppress(Exception):
            connection.close()


database_thread = OneThread(checked_database)


class Migrations:
    """Looking is slow, and what is applied stays applied."""

    are_applied = False


def database_problem() -> str:
    try:
        connection.ensure_connection()
    except Exception as error:  # the pool has errors of its own
        return f"The database does not answer: {first_line(error)}."
    try:
        Conversation.objects.exists()
    except DatabaseError:
        return "The database has no tables yet: run manage.py migrate."
    if not Migrations.are_applied:
        if is_behind():
            return "The database is not up to date: run manage.py migrate."
        Migrations.are_applied = True
    return ""


def disk_problem() -> str:
    """Reading goes on with a full disk; nothing that anybody says or does can be kept."""
    room = shutil.disk_usage(settings.PLANSIDE_HOME).free
    least = LEAST_ROOM // 1024**2
    return "" if room >= LEAST_ROOM else f"PLANSIDE_HOME has less than {least} MB of free space."


def channel_problem() -> str:
    return async_to_sync(channel_answer)()


async def channel_answer() -> str:
    """Redis, where it carries the live updates: a message nobody listens to has to go through."""
    layer = get_channel_layer()
    assert layer is not None  # the settings always name one
    # ours hides that it failed
    sends = "send_or_raise" if hasattr(type(layer), "send_or_raise") else "group_send"
    try:
        async with asyncio.timeout(PATIENCE):
            await getattr(layer, sends)("health", {"type": "health.check"})
    except Exception as error:  # each version of the client has its own tree of errors
        return f"The channel layer (REDIS_URL) does not answer: {first_line(error)}."
    return ""


def first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__


urlpatterns = [path("healthz", healthz), path("readyz", readyz)]
