"""The home folder: at the start private, whole and never silently a new one; and where a browser
finds the server that holds it.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from getpass import getuser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from agents.config.workspaces import agent_ids, prepare_home, write_atomically
from agents.db import is_postgresql, libpq_params
from agents.errors import Conflict
from agents.statements import IDLE_TIMEOUT, LOCK_MIGRATIONS, LOCK_TIMEOUT, execute
from console import env

if TYPE_CHECKING:
    from psycopg import Connection

log = logging.getLogger(__name__)

OTHERS = 0o077
MIGRATING = 300  # seconds that another process may take for it
AT_ONCE = 1  # seconds until it is said that this is waited for
WAITS = "another process brings the database up to date: waiting for it, up to %s s"
BEING_MIGRATED = (
    "Another process has been bringing the database up to date for five minutes: wait until it is "
    "done, or end it, then try again."
)
LOST = "The database {} is gone or empty, though agents and a key lie beside it."
BEGIN_ANEW = "Put it back from a backup, or begin anew: manage.py serve --new-database"
DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
OUT_OF_REACH = (
    sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH,
    sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY,
)  # fmt: skip


def make_ready(*, new_database: bool = False) -> None:
    """The database first and the sample agent last, so agents without a database are a loss."""
    try:
        with database_in_words():
            if not new_database and is_lost():
                raise Conflict(f"{LOST.format(database_file())} {BEGIN_ANEW}")
            if is_behind():
                with one_migration_at_a_time():
                    if is_behind():
                        call_command("migrate", interactive=False, verbosity=0)
        prepare_home()
    except OSError as error:
        raise cannot_be_used(error) from None


def cannot_be_used(error: OSError) -> Conflict:
    where = error.filename or settings.PLANSIDE_HOME
    return Conflict(f"{where} cannot be used: {os.strerror(error.errno or 0)}.")


def is_lost() -> bool:
    """Whether agents and a key lie beside no database."""
    return not env.made_key and bool(agent_ids()) and not has_database()


def has_database() -> bool:
    """Whether there is a table in it; of a server's nothing is known here.

    Whoever only looks at a file that is not there makes one, of a page without a table.
    """
    path = database_file()
    if path is None or path.is_dir():
        return True
    is_there = path.exists() and path.stat().st_size > 0
    return is_there and bool(connection.introspection.table_names())


def database_file() -> Path | None:
    """None where the database is a server."""
    return Path(str(connection.settings_dict["NAME"])) if connection.vendor == "sqlite" else None


@contextmanager
def database_in_words() -> Iterator[None]:
    """What is wrong with SQLite's file, or with the way to PostgreSQL, becomes one sentence.

    Nothing has been written over it. What only a programmer understands stays as it is.
    """
    try:
        yield
    except DatabaseError as error:
        if problem := no_way_to_postgresql():
            raise Conflict(problem) from None
        code = getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF
        if code in DAMAGED:
            raise Conflict(
                f"The database {database_file()} is damaged ({error}). "
                "Put it back from a backup; Planside leaves the damaged file as it is."
            ) from None
        if code in OUT_OF_REACH:
            raise Conflict(f"The database {database_file()} cannot be used: {error}.") from None
        raise


def no_way_to_postgresql() -> str:
    """Why it cannot be connected to, as the pool does not say; else, and on SQLite, ""."""
    if not is_postgresql():
        return ""
    from psycopg import Error, connect

    try:
        connect(**libpq_params()).close()
    except Error as error:
        # One line for each address, of which the last words are the reason; then advice of libpq.
        lines = [line for line in str(error).splitlines() if not line.startswith("\t")]
        reason = lines[-1]
        for before in ("FATAL:", "failed:", "is bad:"):
            reason = reason.rpartition(before)[2].strip()
        found = connection.settings_dict
        where = f"{found['HOST'] or 'this machine'}:{found['PORT'] or 5432}"
        who = f"database {found['NAME']}, role {found['USER'] or getuser()}"
        return f"PostgreSQL at {where} ({who}) lets nobody in: {reason}. Check DATABASE_URL."
    return ""


def warnings() -> Iterator[str]:
    """A line for each thing that is odd about the home, said before anything is changed."""
    home = Path(settings.PLANSIDE_HOME)
    mode = stat.S_IMODE(home.stat().st_mode)
    if mode & OTHERS:
        yield f"Others on this machine can look into {home} (mode {mode:o}). Run: {remedy()}"
    if env.made_key and database_file() and has_database():
        yield f"The key in {home} was gone: a new one was made, and everybody signs in again."
    elif env.made_key and agent_ids() and not has_database():
        yield f"There was no database in {home}: the agents there begin with a new one."


def remedy() -> str:
    return f"chmod -R go= {settings.PLANSIDE_HOME}"


def keep_address(address: str) -> None:
    """For commands beside the server: its port may have been any that was free."""
    write_atomically(address_file(), address.encode())


def public_address() -> str:
    """Where a browser finds the server."""
    if not settings.PLANSIDE_IS_LOCAL:
        return f"https://{settings.PLANSIDE_ALLOWED_HOSTS[0]}"
    if address_file().is_file():
        return address_file().read_text()
    host = settings.PLANSIDE_HOST
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.PLANSIDE_PORT}"


def address_file() -> Path:
    return Path(settings.PLANSIDE_HOME) / ".address"


# What a server or worker does to the database before its first request.


def is_behind() -> bool:
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


@contextmanager
def one_migration_at_a_time() -> Iterator[None]:
    """For servers that start together; on SQLite the home's lock keeps a second one away.

    Raises Conflict where another one is not done in time.
    """
    if connection.vendor != "postgresql":
        yield
        return
    from psycopg import ClientCursor, connect

    # On a connection of its own, whose transaction lasts as long as the lock.
    with connect(**libpq_params(), cursor_factory=ClientCursor) as beside:
        lock_migrations(beside)
        execute(IDLE_TIMEOUT, ["0"])
        try:
            yield
        finally:
            execute(IDLE_TIMEOUT, [f"{settings.PLANSIDE_LEASE_SECONDS}s"])


def lock_migrations(beside: Connection[Any]) -> None:
    """Waits for a second, then says what for, and waits for as long as that may take."""
    from psycopg.errors import LockNotAvailable

    for seconds in (AT_ONCE, MIGRATING):
        try:
            beside.execute(LOCK_TIMEOUT, [f"{seconds}s"])
            beside.execute(LOCK_MIGRATIONS)
            return
        except LockNotAvailable:
            beside.rollback()
        if seconds == AT_ONCE:
            log.warning(WAITS, MIGRATING)
    raise Conflict(BEING_MIGRATED)
