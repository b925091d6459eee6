"""Who runs the turns of a home: one process of a SQLite home, and commands beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from filelock import FileLock, Timeout

from agents.engine.lifecycle import request_stop
from agents.errors import Conflict
from agents.models import Turn, TurnState

COMMAND = ".command.lock"  # held beside the home's lock by a command, not by the server


def home_lock() -> FileLock:
    """Held by the one process that runs turns on a SQLite home; taken here or refused."""
    lock = FileLock(Path(settings.PLANSIDE_HOME) / ".turns.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise Conflict(
            f"Another Planside is running on {settings.PLANSIDE_HOME}. "
            "Stop it first, or set PLANSIDE_HOME to another folder."
        ) from None
    return lock


@contextmanager
def as_command() -> Iterator[None]:
    """While a command runs its own turns and nobody else's."""
    with FileLock(Path(settings.PLANSIDE_HOME) / COMMAND):
        yield


def a_command_runs() -> bool:
    """Whether the home is held by a command, which does no work but its own."""
    lock = FileLock(Path(settings.PLANSIDE_HOME) / COMMAND)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    lock.release()
    return False


# Turns that a command runs itself: proof that it lives, which every other process respects.
#
# A command holds a file of the home locked for as long as it runs a turn, a server beside it or
# not. The lock ends with the process, however that ends; the file then tells whose the turn was.

FOLDER = ".commands"


@contextmanager
def held_by_this_command(turn: int) -> Iterator[None]:
    """While this process runs a turn of its own; nobody else takes it up or ends it."""
    path = folder() / f"{turn}.lock"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with FileLock(path):
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def held_by_commands() -> frozenset[int]:
    """Turns whose command lives. What one that was killed has left is stopped on the way.

    Nobody asked for it to go on: its output had one reader, and that has gone.
    """
    held = set()
    for path in [each for each in folder().glob("*.lock") if each.stem.isdecimal()]:
        try:
            with FileLock(path, timeout=0):
                stop_left(int(path.stem))
                path.unlink(missing_ok=True)
        except Timeout:
            held.add(int(path.stem))
    return frozenset(held)


def stop_left(turn: int) -> None:
    rows = Turn.objects.filter(pk=turn)
    rows.filter(state=TurnState.RUNNING).update(state=TurnState.QUEUED, lease_until=None)
    for left in rows.filter(state=TurnState.QUEUED):
        request_stop(left, "")


def folder() -> Path:
    return Path(settings.PLANSIDE_HOME) / FOLDER
