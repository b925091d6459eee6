"""The home folder at the start: private, whole, and never silently a new one."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, connection

from agents.config.workspaces import agent_ids, prepare_home
from agents.errors import Conflict
from console import env
from console.serving.migrating import migrate

OTHERS = 0o077
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
            if not new_database:
                must_have_its_database()
            migrate()
        prepare_home()
    except OSError as error:
        where = error.filename or settings.PLANSIDE_HOME
        raise Conflict(f"{where} cannot be used: {os.strerror(error.errno or 0)}.") from None


def must_have_its_database() -> None:
    """Raises Conflict where agents and a key lie beside none."""
    if is_lost():
        raise Conflict(f"{LOST.format(database_file())} {BEGIN_ANEW}")


def is_lost() -> bool:
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
    """What is wrong with the file, as one sentence; nothing has been written over it."""
    try:
        yield
    except DatabaseError as error:
        if sentence := sentence_on(error):
            raise Conflict(sentence) from None
        raise


def sentence_on(error: DatabaseError) -> str:
    """Nothing for a server's error, or one that only a programmer understands."""
    code = getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF
    if code in DAMAGED:
        return (
            f"The database {database_file()} is damaged ({error}). "
            "Put it back from a backup; Planside leaves the damaged file as it is."
        )
    return f"The database {database_file()} cannot be used: {error}." * (code in OUT_OF_REACH)


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
