"""Whose a change is: the turn's, or others', by what was found changed during which call.

The folder is looked at before and after each call that may write. What changed while a call ran is
the turn's, but for what Planside did then for others; what changed between two calls is theirs.
Where no look was possible, the kernel's times decide: a file's ctime, or for one that came or went
with its folder that of the folder. Who changed a file before it was moved counts too.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from agents.changes.scan import GONE, Snapshot
from agents.models.recording import Identity

TICK = 10_000_000  # by how much a file's time may lie behind ours, nanoseconds
# How long it may stand still, nanoseconds: Linux takes it from CLOCK_REALTIME_COARSE.
FILE_CLOCK = int(time.clock_getres(5) * 1e9) if sys.platform == "linux" else 0

Window = tuple[int, int]  # from and until, nanoseconds since 1970
Places = Mapping[int, Mapping[bytes, int]]  # of each inode its paths, each with its ctime there


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

    def of(self, path: bytes) -> list[Window]:
        return [*self.anywhere, *self.files.get(path, ())]

    def has(self, moment: int) -> bool:
        named = (window for windows in self.files.values() for window in windows)
        return is_within(moment, self.anywhere) or is_within(moment, named)


class Seen(NamedTuple):
    """A file that was found changed: what is there, or None, and the latest moment at which that
    came about, nanoseconds; `was` is the path that it came from, `is_same` unless its content was
    written since: then it may be another file that got the same inode."""

    there: Identity | None
    moment: int
    was: bytes = b""
    is_same: bool = True

    @property
    def is_exact(self) -> bool:
        """Whether it happened at that moment and not before."""
        return self.there is not None and self.there[1] == self.moment


@dataclass
class Look:
    """What had changed between two looks, nanoseconds; `call` is when one of ours ran meanwhile.
    One `by_person` is what a person is known to have changed from `since` on."""

    since: int
    until: int
    files: Mapping[bytes, Seen]
    call: Window | None = None
    by_person: bool = False


@dataclass
class Evidence:
    """What is known of who wrote in a folder since it was recorded at `began`, nanoseconds.

    `unseen` are those of the turn's `own` calls and commands after which nobody looked; `folders`
    the inodes of before, empty where these are not known; `had` says whether a file was there then.
    """

    began: int
    own: Writes = field(default_factory=Writes)
    unseen: Writes = field(default_factory=Writes)
    others: Writes = field(default_factory=Writes)
    looks: Sequence[Look] = ()
    folders: Mapping[bytes, int] = field(default_factory=dict)
    had: Callable[[bytes], bool] = lambda path: True

    def origin(self, path: bytes, now: Snapshot) -> Origin:
        """Of what a path has become."""
        writers, last = self.seen_writers
        whose, there = {*writers.get(path, ())}, now.identity(path)
        if not whose or path not in last or last[path] != there:
            since = max((each.until for each in self.looks), default=0) if path in last else 0
            came_from = moved_from(path, self.places, now)
            seen = Seen(there, moment_of(path, now, self.began), *came_from)
            whose |= brought(seen, writers)
            whose.add(self.by_times(path, seen, max(since, self.began), now.at))
        if Origin.UNSURE in whose:
            return Origin.UNSURE
        return Origin.BOTH if len(whose) > 1 else whose.pop()

    @cached_property
    def seen_writers(self) -> tuple[dict[bytes, set[Origin]], dict[bytes, Identity | None]]:
        """Who changed each path, or what came to it, and what was there at the last look."""
        writers, last = dict[bytes, set[Origin]](), dict[bytes, Identity | None]()
        edited = dict[int, bytes]()  # what people left meanwhile, by inode
        for look in sorted(self.looks, key=lambda each: each.until):
            # What an edit, or a look of another agent's turn, has told already is no change again.
            news = {
                path: seen
                for path, seen in look.files.items()
                if path not in last or last[path] != seen.there
            }
            found = dict[bytes, set[Origin]]()
            left = {there[0]: path for path in news if (there := last.get(path))}
            came_from = left if look.by_person else edited
            for path, seen in news.items():
                last[path] = seen.there
                if seen.there is None and not self.had(path):
                    found[path] = set()  # it came and went
                    continue
                was = seen.was or came_from.get(seen.there[0] if seen.there else 0, b"")
                earlier = {*writers.get(path, ())} | brought(seen._replace(was=was), writers)
                found[path] = earlier | self.in_look(path, seen, look)
            writers |= found
            if look.by_person:
                edited |= {seen.there[0]: path for path, seen in news.items() if seen.there}
            else:
                edited = {}
        return writers, last

    def in_look(self, path: bytes, seen: Seen, look: Look) -> set[Origin]:
        if look.by_person:
            return {Origin.OUTSIDE}
        if seen.is_exact and seen.moment < look.since - TICK:  # rules of git's left it out then
            if seen.moment < self.began - TICK:
                return set()  # nobody since
            return {Origin.OWN if is_within(seen.moment, self.own.of(path)) else Origin.OUTSIDE}
        if look.call is None:
            return {self.by_times(path, seen, look.since, look.until)}
        began, ended = look.call
        theirs = [each for each in self.others.files.get(path, ()) if overlap(each, look.call)]
        is_meanwhile = is_within(seen.moment, [(began, ended + TICK)])
        if seen.is_exact:
            if not is_meanwhile:
                return {self.by_times(path, seen, look.since, look.until)}
            is_named = look.call in self.own.files.get(path, ())
            if is_within(seen.moment, theirs) and not is_named:
                return {Origin.OUTSIDE}
            # A call that names its file puts another there: beside it a command counts as before.
            others = theirs if is_named else [*theirs, *self.others.anywhere]
            is_unsure = is_within(seen.moment, others)
        else:
            is_unsure = any(overlap(each, look.call) for each in self.others.anywhere)
            is_unsure |= not is_meanwhile and seen.moment != look.until
        whose = Origin.UNSURE if is_unsure else Origin.OWN
        return {whose, Origin.OUTSIDE} if theirs else {whose}

    def by_times(self, path: bytes, seen: Seen, since: int, until: int) -> Origin:
        """Of what happened between two moments while nobody looked."""
        unseen = [each for each in self.unseen.of(path) if overlap(each, (since, until))]
        others = self.others.of(path)
        if seen.is_exact:
            is_own = is_within(seen.moment, unseen)
            is_unsure = is_own and is_within(seen.moment, others)
        else:
            is_own = any(begin - TICK <= seen.moment for begin, _ in unseen)
            is_unsure = is_own and not self.own.has(seen.moment)
            is_unsure |= is_own and any(overlap(one, other) for one in unseen for other in others)
        return Origin.UNSURE if is_unsure else Origin.OWN if is_own else Origin.OUTSIDE

    @cached_property
    def places(self) -> Places:
        """Of what was there at the last look."""
        return places_of(self.seen_writers[1])

    def was_there(self, path: bytes, changed: int, now: Snapshot) -> bool:
        """Whether it is as it was before the turn, although no recording has it."""
        is_older = changed < self.began - TICK
        return is_older and not any(self.is_new(each, now) for each in above(path))

    def is_new(self, folder: bytes, now: Snapshot) -> bool:
        """Whether it is gone, or another one than was at that path before."""
        is_other = now.folders.get(folder, (0, 0))[0] != self.folders.get(folder, -1)
        return bool(folder) and is_other and (bool(self.folders) or folder not in now.folders)


def places_of(files: Mapping[bytes, Identity | None]) -> Places:
    places = defaultdict[int, dict[bytes, int]](dict)
    for path, there in files.items():
        if there:
            places[there[0]][path] = there[1]
    return places


def moved_from(path: bytes, before: Places, now: Snapshot) -> tuple[bytes, bool]:
    """The path that a file has left for this one, if it has, and whether unchanged since."""
    inode, _ = now.identity(path) or GONE
    names = before.get(inode, {})
    left = [each for each in names if (now.identity(each) or GONE)[0] != inode]
    if not left or path in names:
        return b"", True
    return left[0], now.written_at(path) <= names[left[0]]


def brought(seen: Seen, writers: Mapping[bytes, set[Origin]]) -> set[Origin]:
    """Who wrote a file before it was moved. Others' may have been written to on the way; what is
    ours too would spread with each inode that is used again."""
    earlier = writers.get(seen.was, set())
    return {*earlier} if seen.is_same or earlier == {Origin.OUTSIDE} else set()


def moment_of(path: bytes, now: Snapshot, since: int) -> int:
    """The latest moment at which it came to be as it is: a file's ctime, of one that came or went
    with an older one that of the nearest folder that was changed since then."""
    there = now.identity(path)
    changed = [there[1]] if there else []
    changed += [now.folders[each][1] for each in above(path) if each in now.folders]
    return next((each for each in changed if each >= since - TICK), now.at)


def above(path: bytes) -> Iterator[bytes]:
    """The folders that it is in, the nearest first; the last is the root."""
    while path:
        path = path.rpartition(b"/")[0]
        yield path


def is_within(moment: int, windows: Iterable[Window]) -> bool:
    return any(begin - TICK <= moment <= end for begin, end in windows)


def overlap(one: Window, other: Window) -> bool:
    return one[0] - TICK <= other[1] and other[0] - TICK <= one[1]
