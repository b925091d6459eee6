"""One process runs the turns of a SQLite home."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from filelock import FileLock, Timeout

from agents.errors import NotNow


def home_lock() -> FileLock:
    """Held by the one process that runs turns on a SQLite home; taken here or refused."""
    lock = FileLock(Path(settings.PLANSIDE_HOME) / ".turns.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise NotNow(
            f"Another Planside is running on {settings.PLANSIDE_HOME}. "
            "Stop it first, or set PLANSIDE_HOME to another folder."
        ) from None
    return lock
