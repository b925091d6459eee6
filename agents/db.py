"""The one place where async code meets the database, and what to do when it is away."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast
from weakref import WeakSet

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.conf import settings
from django.db import (
    DatabaseError,
    InterfaceError,
    InternalError,
    OperationalError,
    connection,
    connections,
)
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from agents.statements import DATABASE_CLOCK, IDLE_TIMEOUT, fetch_one, this_database

if TYPE_CHECKING:
    from datetime import datetime

    from psycopg import AsyncConnection

log = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")

# What a server that is restarted, or lost on the network, comes up as.
AWAY = (OperationalError, InterfaceError)
# PostgreSQL's code: this process slept in a transaction, so the server ended the connection.
SLEPT_TOO_LONG = "25P03"

IDLE = 1.0  # seconds after which a server may have been restarted behind our back
_used = threading.local()
READERS = 4  # pages that are drawn side by side; none waits behind another's
_readers = ThreadPoolExecutor(READERS, "reader")


async def in_db(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a sync function of the domain on the process's one database thread; for what belongs to
    a request, on the thread of that.
    """
    return cast(R, await on_kept_connection(function, *args, **kwargs))


@contextmanager
def kept_connection() -> Iterator[None]:
    """Work on a thread that lives on: with a connection that works, kept for what comes next.

    One that broke meanwhile is thrown away, also if its error has become an answer already. Taking
    one from the pool and giving it back each time costs a journey to the database and as much of
    Django's code as two further queries.
    """
    if time.monotonic() - getattr(_used, "at", 0.0) > IDLE:
        give_back()
    try:
        yield
    except AWAY:
        give_back()
        raise
    except InternalError as error:
        if getattr(error.__cause__, "sqlstate", "") != SLEPT_TOO_LONG:
            raise
        give_back()
        raise OperationalError(str(error)) from error
    finally:
        _used.at = time.monotonic()
        if this_database().errors_occurred or not getattr(_used, "keeps", True):
            give_back()


def keep_connection(is_kept: bool) -> None:
    """Whether this thread keeps its connection between two uses; not while it waits for others."""
    _used.keeps = is_kept
    if not is_kept:
        give_back()


@sync_to_async
def on_kept_connection(function: Callable[..., object], *args: object, **kwargs: object) -> object:
    with kept_connection():
        return function(*args, **kwargs)


async def in_reader(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """The same on other threads, for what only reads: drawing a page never delays a turn."""
    async with ThreadSensitiveContext(executor=_readers):
        return await in_db(function, *args, **kwargs)


# A process that sleeps in a transaction keeps its locks no longer than its leases. Set once a
# connection, and not by a start-up parameter, which poolers refuse.
_limited: WeakSet[object] = WeakSet()


def limit_idling(connection: BaseDatabaseWrapper, **_: object) -> None:
    if connection.vendor == "postgresql" and connection.connection not in _limited:
        with connection.cursor() as cursor:
            cursor.execute(IDLE_TIMEOUT, [f"{settings.PLANSIDE_LEASE_SECONDS}s"])
        _limited.add(connection.connection)


connection_created.connect(limit_idling)


def give_back() -> None:
    """To the pool, which looks at a connection before it hands it out again; SQLite has none."""
    for each in connections.all(initialized_only=True):
        end = each.close if each.vendor == "postgresql" else each.close_if_unusable_or_obsolete
        if not each.in_atomic_block:
            with suppress(DatabaseError):
                end()


def is_postgresql() -> bool:
    """Whether other processes may run turns of this database: on PostgreSQL, never on SQLite."""
    return this_database().vendor == "postgresql"


def clock() -> datetime:
    """The time by which leases and delays are judged: the database's, where hosts may differ."""
    from django.utils import timezone

    if not is_postgresql():
        return timezone.now()
    row = fetch_one(DATABASE_CLOCK)
    assert row is not None, "it always answers"
    return cast("datetime", row[0])


def libpq_params() -> dict[str, Any]:
    """For a connection to PostgreSQL of one's own, outside the pool.

    It prepares no statements either: a pooler may hand them to somebody else.
    """
    django_only = ("context", "cursor_factory")
    params = connection.get_connection_params()
    return {name: value for name, value in params.items() if name not in django_only}


async def session() -> AsyncConnection[tuple[object, ...]]:
    """A connection to PostgreSQL of its own, off the database thread."""
    from psycopg import AsyncConnection

    return await AsyncConnection.connect(**libpq_params(), autocommit=True)


class Outage:
    """A service that does not answer is logged once, and once more when it is back.

    `what` is the subject of those sentences: "the database".
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self.is_on = False

    def began(self, error: BaseException) -> None:
        if not self.is_on:
            self.is_on = True
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            log.warning("%s does not answer (%s); trying again", self.what, reason)

    def over(self) -> None:
        if self.is_on:
            self.is_on = False
            log.warning("%s answers again", self.what)
