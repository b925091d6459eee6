"""Looking at the folder of a turn before and after each call that may write.

The kernel keeps the time of the last change of a file alone, and a call hides what was before it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from agents.changes.authorship import Look, Seen, above, moment_of
from agents.changes.evidence import named_file, nanoseconds
from agents.changes.scan import NO_OID, Files, Snapshot, listed, stats_of
from agents.models import Recording, ToolCall
from agents.models.recording import Identity
from agents.tools.base import FILE_WRITING_TOOLS
from agents.tools.confinement import Workspace

MOST_FILES = 20_000  # in a folder that is looked at


class FolderWatch:
    """The folder of one turn as it was at the last look.

    `found` is what was recorded; without it, after the process that looked died, the folder is
    taken to be as it was before but for what the times of files say, and for what was `seen` since.
    """

    def __init__(
        self,
        recording: Recording,
        found: Snapshot | None = None,
        seen: Mapping[bytes, Identity | None] | None = None,
    ) -> None:
        self.recording, self.workspace = recording, Workspace(Path(recording.root))
        self.root = os.fsencode(recording.root)
        self.found, self.seen = found, seen or {}
        self.files: Files = found.files if found else {}
        self.at = found.at if found else nanoseconds(recording.began_at)

    def look(self, call: ToolCall) -> Look | None:
        """What changed since the last look, of the files that the call may write; None where there
        are none or too many."""
        path = named_file(self.workspace, call) if call.tool in FILE_WRITING_TOOLS else None
        if self.recording.stopped or path == b"" or len(self.files) > MOST_FILES:
            return None
        if self.found is None:
            now = listed(Path(self.recording.root))
            began = nanoseconds(self.recording.began_at)
            self.files = {name: each for name, each in now.files.items() if each[1] < began}
            self.files |= {name: each for name, each in self.seen.items() if each}
            for name in (name for name, each in self.seen.items() if each is None):
                self.files.pop(name, None)
        elif path is None:
            now = listed(Path(self.recording.root), self.found)
        else:
            return self.look_at(path)
        if now.stopped:
            return None
        changed = changed_between(self.files, now, self.at)
        found = Look(self.at, now.at, changed)
        self.found, self.files, self.at = now, now.files, now.at
        return found

    def look_at(self, path: bytes) -> Look:
        now = Snapshot(at=time.time_ns())
        for each in above(path):
            with suppress(OSError):
                status = os.lstat(self.root + b"/" + each)
                now.folders[each] = status.st_ino, status.st_ctime_ns
        with suppress(OSError):
            now.index[path] = stats_of(os.lstat(self.root + b"/" + path)), NO_OID
        before = {path: self.files[path]} if path in self.files else {}
        changed = changed_between(before, now, self.at)
        self.files.pop(path, None)
        self.files |= now.files
        return Look(self.at, now.at, changed)


def changed_between(before: Files, now: Snapshot, since: int) -> dict[bytes, Seen]:
    """Files that are not as they were, each with where it came from."""
    files = now.files
    changed = {path for path, _ in before.items() ^ files.items()}
    left = {
        before[path][0]: path
        for path in changed & before.keys()
        if path not in files or files[path][0] != before[path][0]
    }
    found = dict[bytes, Seen]()
    for path in changed:
        there = files.get(path)
        was = left.get(there[0], b"") if there else b""
        is_moved = was and now.written_at(path) <= before[was][1]
        found[path] = Seen(there, moment_of(path, now, since), was if is_moved else b"")
    return found
