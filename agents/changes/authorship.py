"""Whose a change is: the turn's, or others', by what was found changed during which call.

The folder is looked at before and after each call that may write. What changed while a call ran is
the turn's, but for what Planside did then for others; what changed between two calls is theirs.
Where no look was possible, the kernel's times decide: a file's ctime, or for one that came or went
with its folder that of the folder. Who changed a file before it was moved counts too.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from agents.changes.scan import Snapshot
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

    def of(self, path: bytes) -> list[Window]:
        return [*self.anywhere, *self.files.get(path, ())]

    def has(self, moment: int) -> bool:
        named = (window for windows in self.files.values() for window in windows)
        return is_within(moment, self.anywhere) or is_within(moment, named)


class Seen(NamedTuple):
    """A file that was found changed: what is there, or None, and the latest moment at which that
    came about, nanoseconds; `was` is the path that it came from."""

    there: Identity | None
    moment: int
    was: bytes = b""

    @property
    def is_exact(self) -> bool:
        """Whether it happened at that moment and not before."""
        return self.there is not None and self.there[1] == self.moment


@dataclass
class Look:
    """What had changed between two looks, nanoseconds; `call` is when one of ours ran meanwhile."""

    since: int
    until: int
    files: Mapping[bytes, Seen]
    call: Window | None = None


@dataclass
class Edit:
    """What a person left at each path, or None, between two moments, nanoseconds."""

    began: int
    ended: int
    files: Mapping[bytes, Identity | None]


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
    edits: Sequence[Edit] = ()
    folders: Mapping[bytes, int] = field(default_factory=dict)
    had: Callable[[bytes], bool] = lambda path: True

    def origin(self, path: bytes, now: Snapshot) -> Origin:
        """Of what a path has become."""
        writers, last = self.seen_writers
        whose, there = {*writers.get(path, ())}, now.identity(path)
        if not whose or path not in last or last[path] != there:
            since = max((each.until for each in self.looks), default=0) if path in last else 0
            seen = Seen(there, moment_of(path, now, self.began), self.came_from(path, now))
            whose |= {*writers.get(seen.was, ())}
            whose.add(self.by_times(path, seen, max(since, self.began), now.at))
        if Origin.UNSURE in whose:
            return Origin.UNSURE
        return Origin.BOTH if len(whose) > 1 else whose.pop()

    @cached_property
    def seen_writers(self) -> tuple[dict[bytes, set[Origin]], dict[bytes, Identity | None]]:
        """Who changed each path, or what came to it, and what was there at the last look."""
        writers, last = dict[bytes, set[Origin]](), dict[bytes, Identity | None]()
        for look in sorted(self.looks, key=lambda each: each.until):
            # What a look of another agent's turn has told already is no change again.
            news = {
                path: seen
                for path, seen in look.files.items()
                if path not in last or last[path] != seen.there
            }
            before = dict(writers)
            for path, seen in news.items():
                last[path] = seen.there
                if seen.there is None and not self.had(path):
                    writers.pop(path, None)  # it came and went
                    continue
                earlier = {*before.get(path, ()), *before.get(seen.was, ())}
                writers[path] = earlier | self.in_look(path, seen, look)
        return writers, last

    def in_look(self, path: bytes, seen: Seen, look: Look) -> set[Origin]:
        if look.call is None:
            return {self.by_times(path, seen, look.since, look.until)}
        began, ended = look.call
        edits = [
            each.files[path]
            for each in self.edits
            if path in each.files and overlap((each.began, each.ended), look.call)
        ]
        if edits:
            return {Origin.OUTSIDE} if edits[-1] == seen.there else {Origin.OUTSIDE, Origin.OWN}
        is_meanwhile = is_within(seen.moment, [(began, ended + TICK)])
        theirs = self.others.files.get(path, ())
        if seen.is_exact:
            if not is_meanwhile:
                return {self.by_times(path, seen, look.since, look.until)}
            if is_within(seen.moment, theirs) and look.call not in self.own.files.get(path, ()):
                return {Origin.OUTSIDE}
            is_unsure = is_within(seen.moment, [*theirs, *self.others.anywhere])
        else:
            is_unsure = any(overlap(each, look.call) for each in self.others.anywhere)
            is_unsure |= not is_meanwhile
        return {Origin.UNSURE if is_unsure else Origin.OWN}

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

    def came_from(self, path: bytes, now: Snapshot) -> bytes:
        """The path of a file that was moved here since the last look."""
        there, last = now.identity(path), self.seen_writers[1]
        is_another = there and there[0] != (last.get(path) or (0, 0))[0]
        was = self.places.get(there[0], path) if there and is_another else path
        left, is_there = last.get(was), now.identity(was)
        is_moved = left and left != is_there and (not is_there or is_there[0] != left[0])
        return was if left and is_moved and now.written_at(path) <= left[1] else b""

    @cached_property
    def places(self) -> dict[int, bytes]:
        """Of what was there at the last look, by inode."""
        return {there[0]: path for path, there in self.seen_writers[1].items() if there}

    def was_there(self, path: bytes, changed: int, now: Snapshot) -> bool:
        """Whether it is as it was before the turn, although no recording has it."""
        is_older = changed < self.began - TICK
        return is_older and not any(self.is_new(each, now) for each in above(path))

    def is_new(self, folder: bytes, now: Snapshot) -> bool:
        """Whether it is gone, or another one than was at that path before."""
        is_other = now.folders.get(folder, (0, 0))[0] != self.folders.get(folder, -1)
        return bool(folder) and is_other and (bool(self.folders) or folder not in now.folders)


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
