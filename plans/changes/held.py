"""What the recordings of a folder come to together, held for whoever asks again."""

from __future__ import annotations

import logging
import math
import time
from collections import OrderedDict
from pathlib import Path
from threading import Lock

from agents.changes.compare import Change, read_changes
from agents.changes.history import composed
from agents.changes.store import Store, StoreBroken

log = logging.getLogger("plans.changes")
MOST_HELD = 100_000  # changes in all
BROKEN_FOR = 60.0  # seconds after which it is looked again whether a list can be read

Key = tuple[str, tuple[str, ...]]


class HeldChanges:
    """The lists used last, up to a number of changes in all; the newest is held however long."""

    def __init__(self) -> None:
        self.size = 0
        self.lists: OrderedDict[Key, tuple[tuple[Change, ...], float]] = OrderedDict()
        self.lock = Lock()

    def get(self, key: Key) -> tuple[Change, ...] | None:
        with self.lock:
            changes, until = self.lists.get(key, ((), 0.0))
            if time.monotonic() >= until:
                return None
            self.lists.move_to_end(key)
            return changes

    def put(self, key: Key, changes: tuple[Change, ...], until: float) -> None:
        with self.lock:
            if key in self.lists:
                self.drop(key)
            self.lists[key] = changes, until
            self.size += weight(key, changes)
            while self.size > MOST_HELD and len(self.lists) > 1:
                self.drop(next(iter(self.lists)))

    def drop(self, key: Key) -> None:
        changes, _ = self.lists.pop(key)
        self.size -= weight(key, changes)


def weight(key: Key, changes: tuple[Change, ...]) -> int:
    return len(changes) + len(key[1])


held = HeldChanges()


def composed_changes(root: str, lists: tuple[str, ...]) -> tuple[Change, ...]:
    """Objects never change, so neither does this, unless one of them cannot be read now."""
    if not lists:
        return ()
    changes = held.get((root, lists))
    if changes is None:
        changes, is_whole = read(root, lists)
        until = math.inf if is_whole else time.monotonic() + BROKEN_FOR
        held.put((root, lists), changes, until)
    return changes


def read(root: str, lists: tuple[str, ...]) -> tuple[tuple[Change, ...], bool]:
    """With whether all of them could be read. Most of the time there is one."""
    found = []
    with Store.of(Path(root)) as store:
        for each in lists:
            try:
                found.append(read_changes(store, each))
            except StoreBroken:
                log.exception("the changes %s of %s cannot be read", each, root)
        changes = found[0] if len(found) == 1 else composed(store, found)
    return tuple(changes), len(found) == len(lists)
