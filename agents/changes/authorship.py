"""Whose a change is: the turn's, except what is known to be another's.

Known is what Planside did for others, people and other turns, and what the kernel noted while
nothing of this turn could write: the ctime of a file, or for one that is gone that of its folder.
Times that a moved folder brings along prove nothing. What others wrote and then the turn, or the
other way round, is of both; where others may have written too it is unsure.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from agents.changes.scan import Snapshot
from agents.changes.store import Oid
from agents.models.recording import Identity

TICK = 10_000_000  # by how much a file's time may lie behind ours, nanoseconds
# How long it may stand still, nanoseconds: Linux takes it from CLOCK_REALTIME_COARSE.
FILE_CLOCK = int(time.clock_getres(5) * 1e9) if sys.platform == "linux" else 0

Window = tuple[int, int]  # from and until, nanoseconds since 1970


class Origin(StrEnum):
    OWN = "own"
    OUTSIDE = "outside"  # by a person, another turn or another program
    BOTH = "both"  # the turn and others
    UNSURE = "unsure"  # it cannot be told: others may have written there too


@dataclass
class Writes:
    """When calls may have written: `files` those that name theirs, `anywhere` all others."""

    anywhere: list[Window] = field(default_factory=list)
    files: dict[bytes, list[Window]] = field(default_factory=dict)

    def has(self, moment: int) -> bool:
        return is_within(moment, self.anywhere) or is_within_any(moment, self.files)


Left = Identity | Oid | Origin | None


@dataclass
class Edits:
    """What others are known to have done between two moments, nanoseconds.

    `files` are what they left at each path: a file or object, None for nothing, or that it is
    unsure. `folders` are those that they found, of which they changed what is in these, or any of
    them without; `had` says whether a file was there then. `is_whole` where they changed nothing
    else.
    """

    began: int
    ended: int
    files: Mapping[bytes, Left]
    folders: Mapping[bytes, Identity]
    changed: frozenset[bytes] | None = None
    had: Callable[[bytes], bool] = lambda path: True
    is_whole: bool = False

    def inode(self, folder: bytes) -> int:
        return self.folders.get(folder, (0, 0))[0]

    def has_set(self, folder: bytes, inode: int, moment: int) -> bool:
        """Whether a folder has this ctime by them."""
        is_changed = self.changed is None or folder in self.changed
        is_then = self.began - TICK <= moment <= self.ended
        return is_changed and is_then and self.inode(folder) == inode


@dataclass
class Evidence:
    """What is known of who wrote in a folder since it was recorded at `began`, nanoseconds.

    `edits` are those of people and other turns, in their order; `folders` the inodes of before,
    empty where these are not known. `taken` are files and folders that others removed or brought
    while the turn wrote nothing, with the ctimes of where they were, `written` what these
    wrote or brought then, with inodes; `touched` are folders in which
    its calls changed what is there, None where these do not say, and `removed` files and folders
    that were gone, or new folders, after one of them.
    """

    began: int
    own: Writes = field(default_factory=Writes)
    others: Writes = field(default_factory=Writes)
    edits: Sequence[Edits] = ()
    folders: Mapping[bytes, int] = field(default_factory=dict)
    taken: Sequence[tuple[bytes, int]] = ()
    written: Mapping[bytes, int] = field(default_factory=dict)
    touched: set[bytes] | None = None
    removed: set[bytes] = field(default_factory=set)

    def origin(self, path: bytes, there: Identity | None, now: Snapshot) -> Origin:
        """Of a change at a path, where this file stands now, or none."""
        whose = self.last_writer(path, there, now)
        is_anew = there is not None and path in self.removed
        is_both = whose == Origin.OUTSIDE and (path in self.own.files or is_anew)
        return Origin.BOTH if is_both else whose

    def last_writer(self, path: bytes, there: Identity | None, now: Snapshot) -> Origin:
        left = self.edited.get(path, Origin.OWN)
        if left in (there, now.index.get(path, (None, None))[1]):
            return Origin.OUTSIDE
        if there is None:
            if self.is_by_others(path, now, is_gone=True):
                return Origin.OUTSIDE
            whose = self.origin_at(self.gone_at(path, now))
            is_unsure = left == Origin.UNSURE or self.is_taken(path, now)
            both = Origin.BOTH if path in self.written else whose
            return whose if whose != Origin.OWN else Origin.UNSURE if is_unsure else both
        changed = there[1]
        others = is_within(changed, self.others.files.get(path, ()))
        is_both = left not in (Origin.OWN, Origin.UNSURE) or path in self.taken_at
        is_both = is_both or path in self.written
        mine = Origin.BOTH if is_both else Origin.OWN
        is_unsure = left == Origin.UNSURE
        is_unsure |= not is_both and (self.is_taken(path, now) or self.is_foreign(path, there, now))
        if is_within(changed, self.own.files.get(path, ())):
            return Origin.UNSURE if others or is_unsure else mine
        if others:
            return Origin.OUTSIDE
        if is_within(changed, self.own.anywhere):
            is_theirs = is_within(changed, self.others.anywhere)
            is_unsure = is_unsure or is_theirs or self.is_metadata(now.written_at(path))
            is_unsure = is_unsure or self.is_carried(path, changed, now)
            return Origin.UNSURE if is_unsure else mine
        return Origin.UNSURE if left == Origin.UNSURE else self.origin_of_quiet(path, changed, now)

    def is_metadata(self, written: int) -> bool:
        """Whether others wrote what a file holds, by its mtime, of which we changed the rest. One
        of a whole second was set, by tar for instance, and says nothing."""
        return written > self.began and written % 1_000_000_000 > 0 and not self.own.has(written)

    def is_by_others(self, path: bytes, now: Snapshot, *, is_gone: bool) -> bool:
        """Whether looks after each call tell that others took it away, or brought it."""
        if self.touched is None or not self.removed.isdisjoint((path, *above(path))):
            return False
        came = [each for each in above(path) if self.is_new(each, now)]
        top = came[-1] if came else path
        place = now.places.get(self.folders.get(top, -1)) if came else None
        if is_gone and place is not None and place + path[len(top) :] not in now.index:
            return False  # from where the folder is now, anybody may have taken it
        # In a folder that others made, nobody has looked.
        is_seen = not came or is_gone or self.is_brought(top, now)
        folder = top.rpartition(b"/")[0]
        inside = [each for each in above(path) if is_gone and len(each) > len(folder)]
        is_untouched = is_seen and self.touched.isdisjoint((folder, *inside))
        return is_untouched or self.is_taken(path, now)

    def is_carried(self, path: bytes, changed: int, now: Snapshot) -> bool:
        """Whether others moved a folder in which it is since it was changed."""
        came = [each for each in above(path) if self.is_new(each, now)]
        arrivals = (self.arrived_at(each, now) for each in came)
        if any(at > changed + TICK and not self.own.has(at) for at in arrivals):
            return True
        is_moved = any(self.is_brought(each, now) for each in came)
        return is_moved and self.is_by_others(path, now, is_gone=False)

    def is_taken(self, path: bytes, now: Snapshot) -> bool:
        """Whether others took it away, or brought it, besides what is known of them. What came into
        a folder that they brought came later than that."""
        moved = next((each for each in above(path) if self.is_brought(each, now)), b"")
        since = now.folders[moved][1] if moved else 0
        for entry in (path, *above(path)):
            folder = entry.rpartition(b"/")[0]
            for at in self.taken_at.get(entry, ()):
                moment = self.unexplained(folder, self.folders.get(folder, 0), at)
                is_since = entry in (path, moved) or moment >= since
                if is_since and moment >= self.began and not self.own.has(moment):
                    return True
        return False

    def is_foreign(self, path: bytes, there: Identity, now: Snapshot) -> bool:
        """Whether others wrote it, or brought it or a folder that it is in, at another place."""
        new = [each for each in above(path) if each in now.folders and self.is_new(each, now)]
        inodes = {there[0], *(now.folders[each][0] for each in new)}
        return not inodes.isdisjoint(self.foreign)

    @cached_property
    def foreign(self) -> set[int]:
        """The inodes of what others are known to have written or brought."""
        lefts = (left for edits in self.edits for left in edits.files.values())
        return {*self.written.values(), *(left[0] for left in lefts if isinstance(left, tuple))}

    @cached_property
    def taken_at(self) -> dict[bytes, list[int]]:
        found = dict[bytes, list[int]]()
        for entry, at in self.taken:
            found.setdefault(entry, []).append(at)
        return found

    def is_brought(self, folder: bytes, now: Snapshot) -> bool:
        return self.is_new(folder, now) and folder in now.folders and self.was_moved(folder, now)

    def origin_of_quiet(self, path: bytes, changed: int, now: Snapshot) -> Origin:
        """Of a file that was changed while the turn wrote nothing there, or came with a folder."""
        # A mode, a time or a name that others changed does not say who wrote what it holds.
        is_ours = is_within(now.written_at(path), self.own.anywhere)
        if self.is_by_others(path, now, is_gone=False) and not is_ours:
            return Origin.OUTSIDE
        came = [each for each in above(path) if self.is_new(each, now)]
        moved = [each for each in came if self.was_moved(each, now)]
        is_older = changed < self.began - TICK
        if is_older or moved:
            arrived = self.arrived_at((moved or came or [path])[0], now)
            is_later = changed > max(arrived, self.began) + TICK and not self.is_unchanged(changed)
            whose = Origin.OUTSIDE if is_later else self.origin_at(arrived)
            is_both = self.is_taken(path, now) or self.is_carried(path, arrived, now)
            return Origin.UNSURE if whose == Origin.OWN and is_both else whose
        if came and is_within_any(changed, self.own.files):
            return Origin.OWN  # it was written by its name, in a folder that was moved since
        until = max((self.arrived_at(each, now) for each in came), default=changed)
        is_open = any(begin <= until and changed <= end for begin, end in self.own.anywhere)
        return Origin.UNSURE if is_open or is_ours or self.is_unchanged(changed) else Origin.OUTSIDE

    def is_unchanged(self, moment: int) -> bool:
        """Whether a turn that says all it changed worked at that moment, after one of our calls."""
        is_known = any(each.is_whole and each.began <= moment <= each.ended for each in self.edits)
        return is_known and has_begun(self.own.anywhere, moment)

    def origin_at(self, moment: int) -> Origin:
        """Of what happened then, or before."""
        if not has_begun(self.own.anywhere, moment):
            return Origin.OUTSIDE
        others = self.others.anywhere
        if is_within(moment, self.own.anywhere):
            return Origin.UNSURE if is_within(moment, others) else Origin.OWN
        is_told = is_within_any(moment, self.own.files | self.others.files)
        return Origin.OWN if is_told and not has_begun(others, moment) else Origin.UNSURE

    def was_there(self, path: bytes, changed: int, now: Snapshot) -> bool:
        """Whether it is as it was before the turn, although no recording has it."""
        is_older = changed < self.began - TICK
        return is_older and not any(self.is_new(each, now) for each in above(path))

    @cached_property
    def edited(self) -> dict[bytes, Left]:
        """What was left at each path by the last who is known to have changed it."""
        return {path: each for edits in self.edits for path, each in edits.files.items()}

    # Folders

    @cached_property
    def inodes(self) -> dict[int, bytes]:
        return {inode: path for path, inode in self.folders.items()}

    def is_new(self, folder: bytes, now: Snapshot) -> bool:
        """Whether it is gone, or another one than was at that path before."""
        is_other = now.folders.get(folder, (0, 0))[0] != self.folders.get(folder, -1)
        return bool(folder) and is_other and (bool(self.folders) or folder not in now.folders)

    def was_moved(self, folder: bytes, now: Snapshot) -> bool:
        """Whether a folder of before was moved here, and not along with the one that it is in."""
        before = self.inodes.get(now.folders[folder][0])
        if before is None or before == folder:
            return False
        above_before, _, name_before = before.rpartition(b"/")
        above_now, _, name = folder.rpartition(b"/")
        is_along = self.folders.get(above_before) == now.folders.get(above_now, (0, 0))[0]
        return not (is_along and name == name_before)

    def gone_at(self, path: bytes, now: Snapshot) -> int:
        """The moment before which a file went: its folder was changed then last, or moved."""
        if not now.folders:  # all of it went
            return max((end for _, end in self.own.anywhere), default=0)
        went = now.at
        for folder in above(path):
            if not self.is_new(folder, now):
                went = min(went, self.changed_at(folder, now))
                break
            place = now.places.get(self.folders.get(folder, -1))
            if place and self.was_moved(place, now):
                went = min(went, self.arrived_at(place, now))
        return min([went, *(self.missing_at(path, each, went) for each in self.edits)])

    def missing_at(self, path: bytes, edits: Edits, latest: int) -> int:
        """The moment before which it had gone when others began, if it had."""
        if edits.had(path):
            return latest
        kept = (each for each in above(path) if self.folders.get(each) == edits.inode(each))
        return next((edits.folders[each][1] for each in kept), latest)

    def arrived_at(self, path: bytes, now: Snapshot) -> int:
        """The moment before which a file or folder came to be where it is."""
        folder = path.rpartition(b"/")[0]
        times = [self.changed_at(each, now) for each in (path, folder) if each in now.folders]
        return min(times, default=0)

    def changed_at(self, folder: bytes, now: Snapshot) -> int:
        """When it was changed last, but for what others are known to have done in it since."""
        return self.unexplained(folder, *now.folders[folder])

    def unexplained(self, folder: bytes, inode: int, moment: int) -> int:
        """The time of a folder, or where others are known to have set it that of before."""
        for edits in reversed(self.edits):
            if edits.has_set(folder, inode, moment) and not is_within(moment, self.own.anywhere):
                moment = min(moment, edits.folders[folder][1])
        return moment


def above(path: bytes) -> Iterator[bytes]:
    """The folders that it is in, the nearest first; the last is the root."""
    while path:
        path = path.rpartition(b"/")[0]
        yield path


def is_within(moment: int, windows: Iterable[Window]) -> bool:
    return any(begin - TICK <= moment <= end for begin, end in windows)


def is_within_any(moment: int, files: Mapping[bytes, list[Window]]) -> bool:
    return any(is_within(moment, each) for each in files.values())


def has_begun(windows: Iterable[Window], moment: int) -> bool:
    return any(begin - TICK <= moment for begin, _ in windows)
