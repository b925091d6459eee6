"""Looking at the folder of a turn before and after each call that may write.

The kernel keeps the time of the last change of a file alone, and a call hides what was before it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from agents.changes.authorship import Look, Seen, above, moment_of, moved_from, places_of
from agents.changes.evidence import named_file, nanoseconds, recorded_paths
from agents.changes.scan import GONE, NO_OID, NO_STATS, Files, Snapshot, listed, stats_of
from agents.changes.store import Store
from agents.models import Recording, ToolCall
from agents.models.recording import Identity
from agents.tools.base import FILE_WRITING_TOOLS
from agents.tools.confinement import Workspace

MOST_FILES = 10_000  # in a folder that is looked at
MOST_FOUND = 100_000  # changes that looks note of one turn, in rows that are read as it ends


class FolderWatch:
    """The folder of one turn as it was at the last look.

    `found` is what was recorded. Without it, after the process that looked died, that is what the
    recording and the times of files say, and what was `seen` changed since.
    """

    def __init__(
        self,
        recording: Recording,
        found: Snapshot | None = None,
        seen: dict[bytes, Identity | None] | None = None,
    ) -> None:
        self.recording, self.workspace = recording, Workspace(Path(recording.root))
        self.root = os.fsencode(recording.root)
        self.found, self.seen = found, seen or {}
        self.files: Files = found.files if found else {}
        self.at = found.at if found else nanoseconds(recording.began_at)
        self.noted = len(self.seen)

    def look(self, call: ToolCall | None = None) -> Look | None:
        """What changed since the last look, of the files that the call may write; None where there
        are none or too many. Raises OSError, StoreBroken."""
        names_file = call is not None and call.tool in FILE_WRITING_TOOLS
        path = named_file(self.workspace, call) if call and names_file else None
        is_much = len(self.files) > MOST_FILES or self.noted > MOST_FOUND
        if self.recording.stopped or path == b"" or is_much:
            return None
        if self.found and path is not None and not self.has_other_names(path):
            return self.look_at(path)
        known = self.found or self.recorded()
        now = listed(self.workspace.root, known)
        files = now.files
        if now.stopped or len(files) > MOST_FILES:
            return None
        before = self.files if self.found else self.files_recorded(known, files)
        look = Look(self.at, now.at, changed_between(before, now, self.at, known.folders))
        self.found, self.files, self.at = now, files, now.at
        self.noted += len(look.files)
        return look

    def has_other_names(self, path: bytes) -> bool:
        """Whether a call that replaces the file changes further ones, as the kernel tells."""
        there = self.files.get(path)
        return there is not None and [each[0] for each in self.files.values()].count(there[0]) > 1

    def recorded(self) -> Snapshot:
        """The names of what was recorded."""
        with Store.of(self.workspace.root) as store:
            paths = recorded_paths(store, self.recording)
        return Snapshot(index=dict.fromkeys(paths, (NO_STATS, NO_OID)))

    def files_recorded(self, known: Snapshot, now: Files) -> Files:
        began = nanoseconds(self.recording.began_at)
        files = {path: now.get(path, GONE) for path in known.index}
        left = {path: each for path, each in files.items() if each[1] < began} | self.seen
        return {path: each for path, each in left.items() if each}

    def look_at(self, path: bytes) -> Look:
        now = Snapshot(at=time.time_ns())
        for each in above(path):
            with suppress(OSError):
                status = os.lstat(self.root + b"/" + each)
                now.folders[each] = status.st_ino, status.st_ctime_ns
        with suppress(OSError):
            now.index[path] = stats_of(os.lstat(self.root + b"/" + path)), NO_OID
        before = {path: self.files.pop(path)} if path in self.files else {}
        self.files |= now.files
        return Look(self.at, now.at, changed_between(before, now, self.at, {}))


def changed_between(
    before: Files, now: Snapshot, since: int, known: Mapping[bytes, Identity]
) -> dict[bytes, Seen]:
    """Files that are not as they were, each with where it came from. One in folders that were
    `known` then was there, left out by rules of git's, if it is older."""
    files = now.files
    changed = {path for path, _ in before.items() ^ files.items()}
    places = places_of({path: before[path] for path in changed & before.keys()})
    found = dict[bytes, Seen]()
    for path in changed:
        there = files.get(path)
        was, is_same = moved_from(path, places, now)
        is_old = not was and path not in before and is_in_known_folders(path, known, now)
        moment = there[1] if there and is_old else moment_of(path, now, since)
        found[path] = Seen(there, moment, was, is_same)
    return found


def is_in_known_folders(path: bytes, known: Mapping[bytes, Identity], now: Snapshot) -> bool:
    inodes = [[each.get(one, GONE)[0] for each in (known, now.folders)] for one in above(path)]
    return all(one and one == other for one, other in inodes)
