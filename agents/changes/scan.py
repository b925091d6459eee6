"""What a folder holds now, as a tree of git objects; reads only what has changed since last time.

Links are kept as links and never followed, permission bits are kept, names are bytes. Folders
are walked by handles, so a link that is put in the way meanwhile leads nowhere.
"""

from __future__ import annotations

import hashlib
import marshal
import os
import stat
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from django.conf import settings

from agents.changes.ignore import LARGEST_RULES, NEVER, NO_RULES, RULES, Rules
from agents.changes.store import Entry, Oid, Store
from agents.models.recording import Identity
from agents.tools.confinement import (
    DELETED,
    FILE,
    FOLDER,
    TRASH,
    Workspace,
    is_ours,
    linked_names,
)

LARGEST = 20_000_000  # bytes of a file that is kept
MOST_FILES, MOST_BYTES = 50_000, 1_000_000_000
MOST_FOLDERS = 50_000
DEEPEST = 100  # folders
SECOND = 1_000_000_000  # in nanoseconds
CLOCK = 100_000_000  # by how much a file's time may lie behind, nanoseconds
PACKAGES = NEVER - {b".git", b".hg", b".svn", os.fsencode(TRASH)}
NO_OID = b"\0" * 20

Stats = tuple[int, int, int, int, int]  # mode, size, mtime, ctime (nanoseconds), inode
NO_STATS: Stats = (0, 0, 0, 0, 0)
GONE: Identity = (0, 0)
Index = dict[bytes, tuple[Stats, Oid]]  # each file that was recorded, by its path
Files = dict[bytes, Identity]


class Skipped(NamedTuple):
    """A file that is not kept: too_large, unreadable, hard_link, too_deep. With the same size, and
    changed `at` the same moment (nanoseconds), it is as it was."""

    reason: str
    size: int = 0
    at: int = 0
    inode: int = 0


@dataclass
class Snapshot:
    """What was recorded. Where `stopped` says "files", "bytes" or "failed", nothing was."""

    tree: Oid = b""
    size: int = 0  # bytes
    skipped: dict[bytes, Skipped] = field(default_factory=dict)
    stopped: str = ""
    leaves_out: bool = False  # by rules, as installed packages, or as it is no file (a pipe)
    at: int = 0  # when it began, nanoseconds
    index: Index = field(default_factory=dict)
    trees: set[Oid] = field(default_factory=set)
    folders: dict[bytes, Identity] = field(default_factory=dict)

    def identity(self, path: bytes) -> Identity | None:
        """Of a file that was recorded or skipped; None where there is none."""
        if left := self.skipped.get(path):
            return left.inode, left.at
        stats, _ = self.index.get(path, (NO_STATS, b""))
        return (stats[4], stats[3]) if stats[0] else None

    def written_at(self, path: bytes) -> int:
        """The mtime of a recorded file, 0 of another."""
        stats, _ = self.index.get(path, (NO_STATS, b""))
        return abs(stats[2])

    @property
    def files(self) -> Files:
        """All that were recorded or skipped."""
        files = {path: (stats[4], stats[3]) for path, (stats, _) in self.index.items()}
        return files | {path: (left.inode, left.at) for path, left in self.skipped.items()}


class TooMuch(Exception):
    """More than is recorded: "files" or "bytes"; "failed" for folders without end."""


def record(root: Path, store: Store) -> Snapshot:
    """Record the folder; what is new is on the disk afterwards. The caller holds the lock."""
    path = store.folder / "index"
    known = read_index(path)
    index = known.files
    if not index:  # what was recorded, by its names alone: the objects are not to be counted on
        old = read_index(path.with_suffix(".old")).files
        index = {path: (NO_STATS, oid) for path, (_, oid) in old.items()}
    if not index:  # all of it would be read before it is known that it is too much
        found = listed(root)
        if found.stopped:
            return found
    snapshot = Scan(root, store, index, known.trees).run()
    if not snapshot.stopped:
        store.flush()
        if snapshot.index != index:
            write_index(path, Known(snapshot.index, snapshot.trees))
    return snapshot


def listed(root: Path, before: Snapshot | None = None) -> Snapshot:
    """What there is to record, unread; of what git would leave out, what was there `before`."""
    return Scan(root, None, before.index if before else {}, set()).run()


class Scan:
    """One walk through the folder, beside the index of the walk before; nothing is read without a
    store."""

    def __init__(self, root: Path, store: Store | None, index: Index, trees: set[Oid]) -> None:
        self.root, self.store, self.index, self.trees = root, store, index, trees
        self.workspace = Workspace(root)  # knows which hard links may be read
        self.inner_links = set[int]()  # inodes of files whose names are all in the folder
        self.found = Snapshot()

    def run(self) -> Snapshot:
        self.found, self.links = Snapshot(at=time.time_ns()), Counter[tuple[int, int, int]]()
        try:
            handle = os.open(self.root, FOLDER)
        except FileNotFoundError:  # it holds nothing
            self.found.tree = self.add_tree([])
            return self.found
        except OSError:  # a link or a file, closed to us: what it holds is not known
            self.found.stopped = "failed"
            return self.found
        try:
            # What the folder's own git leaves out besides, by a file that is not part of it.
            rules = self.with_rules(NO_RULES, handle, b".git/info/exclude", 0)
            self.found.tree = self.folder(handle, (), rules, False)
        except TooMuch as much:
            self.found.stopped = str(much)
        finally:
            os.close(handle)
        if self.store is None or (inner := self.inner_now()) <= self.inner_links:
            return self.found
        self.inner_links |= inner
        self.index = self.index | self.found.index  # what was read already is not read again
        return self.run()

    def inner_now(self) -> set[int]:
        """Inodes with all their names in the folder or among what a person deleted, which may come
        back."""
        rows, deleted = self.links.items(), Counter[tuple[int, int]]()
        if any(seen < names for (_, _, names), seen in rows):
            deleted.update(linked_names(Path(settings.PLANSIDE_HOME) / DELETED))
        return {each[1] for each, seen in rows if seen + deleted[each[:2]] == each[2]}

    def with_rules(self, rules: Rules, handle: int, name: bytes, depth: int) -> Rules:
        with suppress(OSError, ValueError):
            return rules.with_file(read_start(name, handle, LARGEST_RULES), depth)
        return rules

    def folder(self, handle: int, parts: tuple[bytes, ...], rules: Rules, known_only: bool) -> Oid:
        """The tree of a folder. `known_only` where git would leave it out: of what was recorded
        before, as if git had it already."""
        if len(self.found.folders) >= MOST_FOLDERS:
            raise TooMuch("failed")
        status = os.fstat(handle)
        self.found.folders[b"/".join(parts)] = (status.st_ino, status.st_ctime_ns)
        with os.scandir(handle) as listing:
            listed = {os.fsencode(entry.name): entry for entry in listing}
        if RULES in listed:
            rules = self.with_rules(rules, handle, RULES, len(parts))
        self.found.leaves_out |= bool(rules.levels)
        self.found.leaves_out |= any(
            listed[name].is_dir(follow_symlinks=False) for name in PACKAGES & listed.keys()
        )
        above, entries = b"".join([part + b"/" for part in parts]), []
        for name, each in listed.items():
            path, entry = above + name, None
            if name in NEVER:
                continue
            if each.is_dir(follow_symlinks=False):
                is_out = known_only or rules.leave_out((*parts, name), True)
                if not is_out or path in self.folders_before:
                    entry = self.child(handle, (*parts, name), rules, is_out)
            elif path in self.index or not (
                known_only or is_ours(each.name) or rules.leave_out((*parts, name), False)
            ):
                entry = self.file(handle, path, each)
            if entry:
                entries.append((name, entry))
        return self.add_tree(entries)

    def add_tree(self, entries: list[tuple[bytes, Entry]]) -> Oid:
        """Those of the last recording are stored: thousands are not looked up each time."""
        if self.store is None:
            return NO_OID
        oid = self.store.add_tree(entries, self.trees)
        self.found.trees.add(oid)
        return oid

    @cached_property
    def folders_before(self) -> set[bytes]:
        """Those in which a file was recorded."""
        found = set[bytes]()
        for path in self.index:
            while (path := path.rpartition(b"/")[0]) and path not in found:
                found.add(path)
        return found

    def child(
        self, handle: int, parts: tuple[bytes, ...], rules: Rules, known_only: bool
    ) -> Entry | None:
        if len(parts) > DEEPEST:
            self.skip(handle, parts, "too_deep")
            return None
        try:
            inside = os.open(parts[-1], FOLDER, dir_fd=handle)
        except FileNotFoundError:
            return None
        except OSError:
            self.skip(handle, parts, "unreadable")
            return None
        try:
            mode = os.fstat(inside).st_mode
            return Entry(mode, self.folder(inside, parts, rules, known_only))
        finally:
            os.close(inside)

    def skip(self, handle: int, parts: tuple[bytes, ...], reason: str) -> None:
        """A folder; of what is in it nothing is known."""
        left = Skipped(reason)
        with suppress(OSError):
            status = os.stat(parts[-1], dir_fd=handle, follow_symlinks=False)
            left = Skipped(reason, 0, status.st_ctime_ns, status.st_ino)
        self.found.skipped[b"/".join(parts)] = left

    def file(self, handle: int, path: bytes, each: os.DirEntry[str]) -> Entry | None:
        """A file or link; None for what is not kept."""
        before = self.index.get(path)
        try:
            status = each.stat(follow_symlinks=False)
        except FileNotFoundError:  # gone since
            return None
        except OSError:
            self.found.skipped[path] = Skipped("unreadable")
            return None
        stats = stats_of(status)
        if before and before[0] == stats and status.st_nlink == 1:
            return self.kept(path, before)
        if stat.S_ISREG(status.st_mode):
            if reason := self.why_skipped(status):
                left = Skipped(reason, status.st_size, status.st_ctime_ns, status.st_ino)
                self.found.skipped[path] = left
                return None
        elif not stat.S_ISLNK(status.st_mode):
            self.found.leaves_out = True
            return None
        row = before if before and before[0] == stats else self.read(handle, path, stats)
        return self.kept(path, row) if row else None

    def kept(self, path: bytes, row: tuple[Stats, Oid]) -> Entry:
        found, (stats, oid) = self.found, row
        found.index[path] = row
        found.size += stats[1]
        if len(found.index) > MOST_FILES:
            raise TooMuch("files")
        if found.size > MOST_BYTES:
            raise TooMuch("bytes")
        return Entry(stats[0], oid)

    def why_skipped(self, status: os.stat_result) -> str:
        if status.st_size > LARGEST:
            return "too_large"
        if status.st_nlink > 1 and self.workspace.is_forbidden_link(status):
            self.links[status.st_dev, status.st_ino, status.st_nlink] += 1
            return "" if status.st_ino in self.inner_links else "hard_link"
        return ""

    def read(self, handle: int, path: bytes, stats: Stats) -> tuple[Stats, Oid] | None:
        """Store a file that is new or has changed; None where it is not to be had.

        Its mtime is made such that it is read again next time, if it may change again without
        another time: within the same tick of the clock, or while it was read.
        """
        if self.store is None:
            return stats, NO_OID
        name = path.rpartition(b"/")[2]
        try:
            content = content_of(name, handle, stats[0], LARGEST)
            now = stats_of(os.stat(name, dir_fd=handle, follow_symlinks=False))
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            self.found.skipped[path] = Skipped("unreadable", stats[1], stats[3], stats[4])
            return None
        if now != stats or self.is_fresh(stats):
            stats = (*stats[:2], -stats[2], *stats[3:])
        return stats, self.store.add_blob(content)

    def is_fresh(self, stats: Stats) -> bool:
        """Git calls it racy. Where times are whole seconds, a tick is one of two."""
        last = max(stats[2], stats[3])
        tick = 2 * SECOND if stats[2] % SECOND == stats[3] % SECOND == 0 else CLOCK
        return last > self.found.at - tick


def stats_of(status: os.stat_result) -> Stats:
    """What differs, or the time of it, once a file has changed."""
    return (
        status.st_mode,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_ino,
    )


class Known(NamedTuple):
    """What the last recording saw, and the trees that it stored."""

    files: Index
    trees: set[Oid]


def read_index(path: Path) -> Known:
    """Empty where it is not whole, and then every file is read."""
    with suppress(OSError, EOFError, ValueError, TypeError):
        content = path.read_bytes()
        if content[:20] == hashlib.sha1(content[20:], usedforsecurity=False).digest():
            return Known(*marshal.loads(content[20:]))
    return Known({}, set())


def write_index(path: Path, known: Known) -> None:
    """Not synced: one that is lost costs time alone."""
    body = marshal.dumps(tuple(known))
    unfinished = path.with_suffix(".tmp")
    with suppress(OSError):
        unfinished.write_bytes(hashlib.sha1(body, usedforsecurity=False).digest() + body)
        unfinished.replace(path)


def content_of(name: bytes, handle: int, mode: int, largest: int) -> bytes:
    """What a file holds, or where a link leads. Raises ValueError for what is neither, or has grown
    too large."""
    if stat.S_ISLNK(mode):
        return os.fsencode(os.readlink(name, dir_fd=handle))
    content = read_start(name, handle, largest + 1)
    if len(content) > largest:
        raise ValueError
    return content


def read_start(name: bytes, handle: int, most: int) -> bytes:
    """So many bytes of an ordinary file. Raises ValueError for what is none."""
    with open(name, "rb", opener=lambda name, _: os.open(name, FILE, dir_fd=handle)) as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise ValueError
        return opened.read(most)
