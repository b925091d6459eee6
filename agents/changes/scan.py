"""What a folder holds now, as a tree of git objects; reads only what has changed since last time.

Links are kept as links and never followed, permission bits are kept, names are bytes. Folders
are walked by handles, so a link that is put in the way meanwhile leads nowhere.
"""

from __future__ import annotations

import os
import stat
import time
from array import array
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from agents.changes.ignore import LARGEST_RULES, NEVER, NO_RULES, RULES, Rules
from agents.changes.index import (
    NO_FOLDER,
    Folder,
    Index,
    Stats,
    entries_of,
    read_index,
    split,
    stats_of,
    unpacked,
    unread,
    write_index,
)
from agents.changes.store import Entry, Oid, Store
from agents.tools.confinement import FILE, FOLDER, TRASH, Workspace

LARGEST = 20_000_000  # bytes of a file that is kept
MOST_FILES, MOST_BYTES = 50_000, 1_000_000_000
MOST_FOLDERS = 50_000
DEEPEST = 100  # folders
SECOND = 1_000_000_000  # in nanoseconds
CLOCK = 100_000_000  # by how much a file's time may lie behind, nanoseconds
PACKAGES = NEVER - {b".git", b".hg", b".svn", os.fsencode(TRASH)}
NO_OID = b"\0" * 20
OURS = (b".part", b".tmp")  # half written files of ours, after a dot and 16 hex digits


class Skipped(NamedTuple):
    """A file that is not kept: too_large, unreadable, hard_link, too_deep. With the same size, and
    changed `at` the same moment (nanoseconds), it is as it was."""

    reason: str
    size: int = 0
    at: int = 0


@dataclass
class Snapshot:
    """What was recorded. Where `stopped` says "files", "bytes" or "failed", nothing was."""

    tree: Oid = b""
    files: int = 0
    size: int = 0  # bytes
    skipped: dict[bytes, Skipped] = field(default_factory=dict)
    stopped: str = ""
    leaves_out: bool = False  # by rules, as installed packages, or as it is no file (a pipe)
    at: int = 0  # when it began, nanoseconds
    index: Index = field(default_factory=dict)

    def stats(self, path: bytes) -> Stats | None:
        """Those of a recorded file."""
        folder, _, name = path.rpartition(b"/")
        row = self.index.get(folder, NO_FOLDER)
        found = row.known().get(name)
        return unpacked(found[0]) if found else None


class TooMuch(Exception):
    """More than is recorded: "files" or "bytes"; "failed" for folders without end."""


def record(root: Path, store: Store) -> Snapshot:
    """Record the folder; what is new is on the disk afterwards. The caller holds the lock."""
    path = store.folder / "index"
    index = read_index(path) or unread(read_index(path.with_suffix(".old")))
    if not index:  # all of it would be read before it is known that it is too much
        counted = Scan(root, store, {}, counts_only=True).run()
        if counted.stopped:
            return counted
    snapshot = Scan(root, store, index).run()
    if not snapshot.stopped:
        store.flush()
        if snapshot.index != index:
            write_index(path, snapshot.index)
    return snapshot


class Scan:
    """One walk through the folder, beside the index of the walk before."""

    def __init__(
        self, root: Path, store: Store, index: Index, *, counts_only: bool = False
    ) -> None:
        self.root, self.store, self.index = root, store, index
        self.counts_only = counts_only
        self.workspace = Workspace(root)  # knows which hard links may be read
        self.found = Snapshot(at=time.time_ns())

    def run(self) -> Snapshot:
        try:
            handle = os.open(self.root, FOLDER)
        except FileNotFoundError:  # it holds nothing
            self.found.tree = b"" if self.counts_only else self.store.add_tree([])
            return self.found
        except OSError:  # a link or a file, closed to us: what it holds is not known
            self.found.stopped = "failed"
            return self.found
        try:
            self.found.tree = self.folder(handle, (), self.rules_outside(handle), False)
        except TooMuch as much:
            self.found.stopped = str(much)
        finally:
            os.close(handle)
        return self.found

    def rules_outside(self, handle: int) -> Rules:
        """What the folder's own git leaves out besides, by a file that is not part of it."""
        try:
            inside = os.open(b".git/info", FOLDER, dir_fd=handle)
        except OSError:
            return NO_RULES
        try:
            return self.with_rules(NO_RULES, inside, b"exclude", 0)
        finally:
            os.close(inside)

    def with_rules(self, rules: Rules, handle: int, name: bytes, depth: int) -> Rules:
        try:
            file = os.open(name, FILE, dir_fd=handle)
        except OSError:
            return rules
        with os.fdopen(file, "rb") as opened:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                return rules
            content = opened.read(LARGEST_RULES)
        return rules.with_file(content, depth) if content.strip() else rules

    def folder(self, handle: int, parts: tuple[bytes, ...], rules: Rules, known_only: bool) -> Oid:
        """The tree of a folder. `known_only` where git would leave it out: of what was recorded
        before, as if git had it already."""
        if len(self.found.index) >= MOST_FOLDERS:
            raise TooMuch("failed")
        before = self.index.get(b"/".join(parts), NO_FOLDER)
        names, folders = self.listed(handle)
        if RULES in names:
            rules = self.with_rules(rules, handle, RULES, len(parts))
        ignored = set(split(before.ignored)) if before.rules == rules.digest else set()
        recorded = set(split(before.files))

        def is_skipped(name: bytes) -> bool:
            if name in recorded:
                return False
            known = known_only or name in ignored or is_ours(name)
            return known or bool(rules.levels and rules.leave_out((*parts, name), False))

        left_out = [name for name in sorted(names) if is_skipped(name)]
        self.found.leaves_out |= bool(rules.levels)
        self.found.leaves_out |= not folders.isdisjoint(PACKAGES)
        kept = sorted(names.keys() - set(left_out))
        files, stats, oids = self.files(handle, parts, kept, names, before)
        children, inner = [], []
        for name in sorted(folders - NEVER):
            is_out = known_only or bool(rules.levels and rules.leave_out((*parts, name), True))
            if is_out and b"/".join((*parts, name)) not in self.index:
                continue
            if child := self.child(handle, (*parts, name), rules, is_out):
                inner.append((name, child))
                children.append(b"%s\0%o %s" % (name, child.mode, child.oid))
        row = Folder(b"\0".join(files), stats, oids, b"".join(children), b"\0".join(left_out), b"")
        tree = NO_OID
        if row[:4] == before[:4] and before.tree != NO_OID:
            tree = before.tree
        elif not self.counts_only:
            tree = self.store.add_tree([*entries_of(row.files, stats, oids), *inner])
        self.found.index[b"/".join(parts)] = row._replace(rules_and_tree=rules.digest + tree)
        return tree

    def listed(self, handle: int) -> tuple[dict[bytes, os.DirEntry[str]], set[bytes]]:
        """What is no folder, and the folders."""
        names, folders = {}, set()
        with os.scandir(handle) as listing:
            for entry in listing:
                name = os.fsencode(entry.name)
                if entry.is_dir(follow_symlinks=False):
                    folders.add(name)
                elif name not in NEVER:
                    names[name] = entry
        return names, folders

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
        at = 0
        with suppress(OSError):
            at = os.stat(parts[-1], dir_fd=handle, follow_symlinks=False).st_ctime_ns
        self.found.skipped[b"/".join(parts)] = Skipped(reason, at=at)

    def files(
        self,
        handle: int,
        parts: tuple[bytes, ...],
        names: list[bytes],
        listing: dict[bytes, os.DirEntry[str]],
        before: Folder,
    ) -> tuple[list[bytes], bytes, bytes]:
        """Those that are kept: names, stats and objects."""
        found = list(self.statuses(parts, names, listing))
        kept = [name for name, _ in found]
        stats = b"".join(each.tobytes() for _, each in found)
        if stats == before.stats and b"\0".join(kept) == before.files:
            return kept, stats, before.oids
        known = before.known()
        kept, packed, oids = [], [], []
        for name, each in found:
            stored = known.get(name)
            if stored is not None and stored[0] == each.tobytes():
                oid: Oid | None = stored[1]
            else:
                oid = self.content(handle, parts, name, each)
            if oid is not None:
                kept.append(name)
                packed.append(each.tobytes())
                oids.append(oid)
        return kept, b"".join(packed), b"".join(oids)

    def statuses(
        self, parts: tuple[bytes, ...], names: list[bytes], listing: dict[bytes, os.DirEntry[str]]
    ) -> Iterator[tuple[bytes, array[int]]]:
        for name in names:
            try:
                status = listing[name].stat(follow_symlinks=False)
            except FileNotFoundError:  # gone since
                continue
            except OSError:
                self.found.skipped[b"/".join((*parts, name))] = Skipped("unreadable")
                continue
            if stat.S_ISREG(status.st_mode):
                if reason := self.why_skipped(status):
                    left = Skipped(reason, status.st_size, status.st_ctime_ns)
                    self.found.skipped[b"/".join((*parts, name))] = left
                    continue
            elif not stat.S_ISLNK(status.st_mode):
                self.found.leaves_out = True
                continue
            self.count(status.st_size)
            yield name, stats_of(status)

    def why_skipped(self, status: os.stat_result) -> str:
        if status.st_size > LARGEST:
            return "too_large"
        has_others = status.st_nlink > 1 and self.workspace.is_forbidden_link(status)
        return "hard_link" if has_others else ""

    def count(self, size: int) -> None:
        self.found.files += 1
        self.found.size += size
        if self.found.files > MOST_FILES:
            raise TooMuch("files")
        if self.found.size > MOST_BYTES:
            raise TooMuch("bytes")

    def content(
        self, handle: int, parts: tuple[bytes, ...], name: bytes, stats: array[int]
    ) -> Oid | None:
        """The object of a file that is new or has changed; None where it is not to be had.

        Its stats are made such that it is read again next time, if it may change again without
        another time: within the same tick of the clock, or while it was read.
        """
        if self.counts_only:
            return NO_OID
        try:
            if stat.S_ISLNK(stats[0]):
                content = os.fsencode(os.readlink(name, dir_fd=handle))
            else:
                content = read_plain(name, handle, LARGEST)
            now = stats_of(os.stat(name, dir_fd=handle, follow_symlinks=False))
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            left = Skipped("unreadable", stats[1], stats[3])
            self.found.skipped[b"/".join((*parts, name))] = left
            return None
        if now != stats or self.is_fresh(stats):
            stats[2] = -1
        return self.store.add_blob(content)

    def is_fresh(self, stats: array[int]) -> bool:
        """Git calls it racy. Where times are whole seconds, a tick is one of two."""
        last = max(stats[2], stats[3])
        tick = 2 * SECOND if stats[2] % SECOND == stats[3] % SECOND == 0 else CLOCK
        return last > self.found.at - tick


def is_ours(name: bytes) -> bool:
    return name.startswith(b".") and name.endswith(OURS) and len(name) in (21, 22)


def read_plain(name: bytes, handle: int, largest: int) -> bytes:
    """Raises ValueError for what is no ordinary file, or has grown too large."""
    file = os.open(name, FILE, dir_fd=handle)
    with os.fdopen(file, "rb") as opened:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise ValueError
        content = opened.read(largest + 1)
    if len(content) > largest:
        raise ValueError
    return content
