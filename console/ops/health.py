"""For whoever watches the server: /healthz, is the process alive; /readyz, can it work.

The server itself answers both through `readiness`, on its loop and within a bounded time
(console.ops.probes); the views below answer where Django is asked without it.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.urls import path

from agents.models import Conversation
from console.serving.migrating import is_behind

PATIENCE = 1.5  # seconds for each of the checks
LEAST_ROOM = 4 * 1024**2  # bytes

Answer = tuple[int, dict[str, object]]


def healthz(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> JsonResponse:
    found = [database_problem(), disk_problem(), channel_problem()]
    status, document = verdict(found)
    return JsonResponse(document, status=status)


async def readiness() -> Answer:
    """All checks at once, none of which may take longer than PATIENCE."""
    checks = [database_answer(), disk(), channel_answer()]
    return verdict(list(await asyncio.gather(*checks)))


def verdict(found: list[str]) -> Answer:
    """`found` in the order database, disk, live updates: what is wrong with each, if anything."""
    parts = ("database", "disk", "live updates")
    away = [part for part, problem in zip(parts, found, strict=True) if problem]
    if not away:
        return 200, {"status": "ready"}
    told = " ".join(problem for problem in found if problem)
    return 503, {"status": "not ready", "away": away, "detail": told}


async def database_answer() -> str:
    asked = asyncio.wrap_future(database_thread.ask())
    answered, _ = await asyncio.wait({asked}, timeout=PATIENCE)
    return asked.result() if answered else f"The database does not answer within {PATIENCE} s."


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


def checked_database() -> str:
    """On the check's own connection, which then goes back to the pool."""
    try:
        return database_problem()
    except Exception as error:  # it went away between two of the questions
        return f"The database does not answer: {first_line(error)}."
    finally:
        with suppress(Exception):
            connection.close()


def database_problem() -> str:
    try:
        connection.ensure_connection()
    except Exception as error:  # the pool has errors of its own
        return f"The database does not answer: {first_line(error)}."
    try:
        Conversation.objects.exists()
    except DatabaseError:
        return "The database has no tables yet: run manage.py migrate."
    return migration_problem()


class Migrations:
    """Looking is slow, and what is applied stays applied."""

    are_applied = False


def migration_problem() -> str:
    if not Migrations.are_applied:
        if is_behind():
            return "The database is not up to date: run manage.py migrate."
        Migrations.are_applied = True
    return ""


async def disk() -> str:
    return disk_problem()


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
    sends = "say" if hasattr(type(layer), "say") else "group_send"  # ours hides that it failed
    try:
        async with asyncio.timeout(PATIENCE):
            await getattr(layer, sends)("health", {"type": "health.check"})
    except Exception as error:  # each version of the client has its own tree of errors
        return f"The channel layer (REDIS_URL) does not answer: {first_line(error)}."
    return ""


def first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__


database_thread = OneThread(checked_database)

urlpatterns = [path("healthz", healthz), path("readyz", readyz)]
