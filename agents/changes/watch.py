"""Watching the folder of a turn for what others do between its calls.

The kernel notes the last change of a file or folder alone, and a call hides what was before it. So
each call that may write is preceded and followed by a look, which costs no query where nothing has
happened in between.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from agents.changes.authorship import TICK, Evidence
from agents.changes.evidence import (
    calls_of,
    edits_in,
    folders_of,
    joined,
    named_file,
    nanoseconds,
    own_turns,
    writes_of,
)
from agents.changes.store import Store
from agents.models import Recording, ToolCall
from agents.models.recording import Identity
from agents.tools.base import FILE_WRITING_TOOLS
from agents.tools.confinement import Workspace
from agents.tools.paths import path_bytes, path_text

MOST_FOLDERS = 5_000  # that are looked at before and after each call
MOST_FILES = 2_000  # that are looked at before and after a call which may write any of them
MOST_TOUCHED = 1_000  # entries that one call names, or that are noted of others

Times = dict[bytes, int | None]
Taken = list[tuple[str, int]]  # paths, with ctimes
Written = list[tuple[str, int, int]]  # and inodes


class FolderWatch:
    """The folder of one turn, as its calls left it. Raises StoreBroken where it is read."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.workspace = Workspace(Path(recording.root))
        self.began = nanoseconds(recording.began_at)
        self.times: Times = {}
        self.files: dict[bytes, Identity | None] = {}

    @cached_property
    def folders(self) -> Mapping[bytes, Identity]:
        """Those of before. Raises StoreBroken."""
        return folders_of(self.recording)

    @cached_property
    def paths(self) -> list[bytes]:
        """The files of before; none of too many. Raises StoreBroken."""
        found, folders = list[bytes](), [(b"", bytes.fromhex(self.recording.before))]
        with Store.of(self.workspace.root) as store:
            while folders and len(found) <= MOST_FILES:
                folder, tree = folders.pop()
                for name, entry in store.tree(tree).items() if tree else ():
                    path = joined(folder, name)
                    if entry.is_folder:
                        folders.append((path, entry.oid))
                    else:
                        found.append(path)
        return found if len(found) <= MOST_FILES else []

    # Before a call

    def is_as_left(self, call: ToolCall) -> bool:
        """Whether nothing came, went or was written since the last call, where that can be seen."""
        return self.folder_times() == self.times and not self.changed_files(call)

    def changed_files(self, call: ToolCall) -> list[tuple[bytes, int, int]]:
        """Those that the call may write and that were changed since the turn began, not by its
        calls as far as is remembered, with their ctimes and inodes."""
        there = [(path, self.identity(path)) for path in self.files_of(call)]
        return [
            (path, now[1], now[0])
            for path, now in there
            if now and now[1] >= self.began and now != self.files.get(path)
        ]

    def known_so_far(self) -> tuple[Evidence, set[bytes]]:
        """What is known of who wrote, and the entries that looks have found to differ from before.
        Reads the database."""
        recording, began = self.recording, self.began
        turns = own_turns(recording)
        own = writes_of(turns, Path(recording.root))
        seen = {path_bytes(path) for path, _ in recording.taken}
        for folders in calls_of(turns).values_list("folders", flat=True):
            for folder, names in (folders or {}).items():
                seen |= {joined(path_bytes(folder), path_bytes(name)) for name in names}
        return Evidence(began, own, edits=edits_in(recording.root, began)), seen

    def taken(
        self, store: Store, call: ToolCall, evidence: Evidence, seen: set[bytes]
    ) -> tuple[Taken, Written]:
        """What others removed or brought in folders of before while the turn wrote nothing, with
        the ctimes of these folders, but for what people are known to have done; the folder itself
        where that is too much. And what others wrote or brought, with ctimes and inodes."""
        found: Taken = []
        written = [each for each in self.changed_files(call) if not evidence.own.has(each[1])]
        for path, now in self.folder_times().items():
            at = evidence.unexplained(path, self.folders[path][0], now or 0)
            if at >= self.began and not evidence.own.has(at):
                entries = {joined(path, name) for name in self.differing(store, path, evidence)}
                entries = entries - seen
                if len(entries) + len(found) > MOST_TOUCHED:
                    entries = {path}
                found += [(path_text(entry), at) for entry in entries]
                there = ((entry, self.identity(entry)) for entry in entries)
                written += [(entry, now[1], now[0]) for entry, now in there if now]
        before = {tuple(each) for each in self.recording.taken}
        there_now = [(path_text(path), at, inode) for path, at, inode in written]
        return [each for each in found if each not in before], there_now

    # After it

    def touched(self, store: Store, call: ToolCall) -> dict[str, list[str]] | None:
        """Folders of before in which something may have come or gone while a call ran, with what
        differs there from before; those that are not at their place are among them. None where
        there is too much. What others changed after it, before this look, is left to the next."""
        until = nanoseconds(call.finished_at) + TICK if call.finished_at else sys.maxsize
        for path in self.files_of(call):
            there = self.identity(path)
            if there is None or there[1] <= until:
                self.files[path] = there
        now = self.folder_times()
        self.times |= {path: at for path, at in now.items() if at is None or at <= until}
        if call.started_at is None or len(self.folders) > MOST_FOLDERS:
            return None
        began = nanoseconds(call.started_at) - TICK
        found = {
            path_text(path): [path_text(name) for name in self.differing(store, path)]
            for path, at in now.items()
            if at is None or began <= at <= until
        }
        return found if len(found) + sum(map(len, found.values())) <= MOST_TOUCHED else None

    # Looking

    def files_of(self, call: ToolCall) -> list[bytes]:
        """The one that it names; of one that may write any those of before."""
        if call.tool not in FILE_WRITING_TOOLS:
            return self.paths
        path = named_file(self.workspace, call)
        return [path] if path else []

    def identity(self, path: bytes) -> Identity | None:
        """Of what is there, or None."""
        with suppress(OSError):
            status = os.lstat(os.fsencode(self.recording.root) + b"/" + path)
            return status.st_ino, status.st_ctime_ns
        return None

    def folder_times(self) -> Times:
        """The ctimes of folders of before, None for one that is not at its place; none of too
        many."""
        looked = self.folders.items() if len(self.folders) <= MOST_FOLDERS else ()
        return dict(self.time_of(path, inode) for path, (inode, _) in looked)

    def time_of(self, folder: bytes, inode: int) -> tuple[bytes, int | None]:
        there = self.identity(folder)
        return folder, there[1] if there and there[0] == inode else None

    def differing(self, store: Store, folder: bytes, quiet: Evidence | None = None) -> set[bytes]:
        """The names that are in it no more, those of folders that were not there before, and of new
        files that were changed last while the turn wrote nothing; nothing of a folder that is gone.
        """
        tree = bytes.fromhex(self.recording.before)
        if folder:
            entry = store.find(tree, folder)
            tree = entry.oid if entry and entry.is_folder else b""
        before = {*store.tree(tree)} if tree else set()
        try:
            with os.scandir(os.fsencode(self.recording.root) + b"/" + folder) as listing:
                now = {each.name: each.stat(follow_symlinks=False) for each in listing}
        except OSError:
            return set()
        gone, new = before - now.keys(), now.keys() - before
        return gone | {name for name in new if is_of_others(now[name], quiet)}


def is_of_others(status: os.stat_result, quiet: Evidence | None) -> bool:
    """Whether a new entry is one to note: a folder, or a file that others changed last."""
    if stat.S_ISDIR(status.st_mode):
        return True
    at = status.st_ctime_ns
    return quiet is not None and at >= quiet.began and not quiet.own.has(at)
