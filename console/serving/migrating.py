"""Bringing the database up to date at the start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

# Any number, as long as nobody else locks by it.
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
        cursor.execute("SET idle_in_transaction_session_timeout = 0")  # it may have to think
        try:
            yield
        finally:
            cursor.execute("RESET idle_in_transaction_session_timeout")
            cursor.execute("SELECT pg_advisory_unlock(%s)", [MIGRATING])
