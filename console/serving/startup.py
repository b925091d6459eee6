"""What a server or worker does before its first request: the database and the static files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from filelock import FileLock

# The key of PostgreSQL's advisory lock: any number, as long as nobody else locks by it.
MIGRATING = 7_526_743


def migrate() -> None:
    """Apply what is missing; where several servers start at once, one after the other."""
    with one_at_a_time():
        if is_behind():
            call_command("migrate", interactive=False, verbosity=0)


def is_behind() -> bool:
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """SQLite needs nothing: the home's lock keeps a second server away."""
    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [MIGRATING])
        cursor.execute("SET idle_in_transaction_session_timeout = 0")  # migrating may take long
        try:
            yield
        finally:
            cursor.execute("RESET idle_in_transaction_session_timeout")
            cursor.execute("SELECT pg_advisory_unlock(%s)", [MIGRATING])


def collect_static_files() -> None:
    """Copy style sheets and scripts into the home, each beside its compressed twin.

    Compressed once instead of at every request. Servers that share a home do it one after the
    other; the second finds all copied.
    """
    with FileLock(Path(settings.PLANSIDE_HOME) / ".static.lock"):
        call_command("collectstatic", interactive=False, verbosity=0)
