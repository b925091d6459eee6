"""Looking at the folder of a turn before and after each call that may write.

The kernel keeps the time of the last change of a file alone, and a call hides what was before it.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from agents.changes.authorship import Look, Seen, above, moment_of
from agents.changes.compare import differing
from agents.changes.evidence import named_file, nanoseconds
from agents.changes.scan import NO_OID, Files, Snapshot, listed, stats_of
from agents.changes.store import Store
from agents.models import Recording, ToolCall
from agents.models.recording import Identity
from agents.tools.base import FILE_WRITING_TOOLS
from agents.tools.confinement import Workspace
from agents.tools.paths import path_bytes

MOST_FILES = 10_000  # in a folder that is looked at
GONE: Identity = (0, 0)


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

    def look(self, call: ToolCall) -> Look | None:
        """What changed since the last look, of the files that the call may write; None where there
        are none or too many. Raises OSError, StoreBroken."""
        path = named_file(self.workspace, call) if call.tool in FILE_WRITING_TOOLS else None
        if self.recording.stopped or path == b"" or len(self.files) > MOST_FILES:
            return None
        if self.found and path is not None:
            return self.look_at(path)
        now = listed(self.workspace.root, self.found)
        files = now.files
        if now.stopped or len(files) > MOST_FILES:
            return None
        before = self.files if self.found else self.files_recorded(files)
        look = Look(self.at, now.at, changed_between(before, now, self.at))
        self.found, self.files, self.at = now, files, now.at
        return look

    def files_recorded(self, now: Files) -> Files:
        began = nanoseconds(self.recording.began_at)
        with Store.of(self.workspace.root) as store:
            tree = bytes.fromhex(self.recording.before)
            known = {path for path, _ in differing(store, tree, b"")}
        known |= {path_bytes(each["path"]) for each in self.recording.skipped}
        files = {path: now.get(path, GONE) for path in known}
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
        return Look(self.at, now.at, changed_between(before, now, self.at))


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
        is_another = there and there[0] != before.get(path, GONE)[0]
        was = left.get(there[0], b"") if there and is_another else b""
        is_moved = was and now.written_at(path) <= before[was][1]
        found[path] = Seen(there, moment_of(path, now, since), was if is_moved else b"")
    return found
