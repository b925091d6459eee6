"""What a server or worker does before its first request: its process, database and static files."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from filelock import FileLock

M_ARENA_MAX = -8  # malloc.h
PR_SET_DUMPABLE = 4  # prctl.h
# The key of PostgreSQL's advisory lock: any number, as long as nobody else locks by it.
MIGRATING = 7_526_743


def use_one_malloc_arena() -> None:
    """glibc gives each thread a heap of its own and returns little of it: some 10 MB under load.

    Threads of Python take turns anyway, so one heap is enough. Other C libraries know no such call.
    """
    if sys.platform == "linux":
        with suppress(AttributeError):
            ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


def freeze_loaded_code() -> None:
    """What was loaded by the start stays for good: the collector need not look at it again.

    What comes and goes with a request is looked at every 10,000 objects instead of every 700.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)


def make_undumpable() -> None:
    """Keep memory and first environment from other processes of the same user, where Linux does.

    A command that an agent runs has the rights of the server's user. Without this it could read the
    server's environment, and with it the keys, out of /proc. It ends core dumps of the process, and
    debuggers need root. A root's command may still read everything.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


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
