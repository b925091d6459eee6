"""What people change in a workspace through Planside while turns are recorded there.

Their files are known to be theirs, whatever an agent does at the same moment.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from agents.models import PersonEdit, Recording
from agents.models.recording import Identity
from agents.tools.base import ToolFailed
from agents.tools.confinement import Parts, Workspace
from agents.tools.paths import path_text


@contextmanager
def noted(workspace: Workspace, *paths: str) -> Iterator[list[str]]:
    """Note what a person changes at or below these paths, and at those added in the block."""
    root, later, began = str(workspace.root.resolve()), [*paths], time.time_ns()
    if not Recording.objects.filter(root=root, ended_at=None).exists():
        yield later
        return
    before = identities(workspace, paths)
    try:
        yield later
    finally:
        after = identities(workspace, later)
        changed = [path for path in {*before, *after} if before.get(path) != after.get(path)]
        if changed:
            PersonEdit.objects.create(
                root=root,
                files={path: after.get(path) for path in changed},
                began=began,
                ended=time.time_ns(),
            )


def identities(workspace: Workspace, paths: Iterable[str]) -> dict[str, Identity]:
    """Of each file at or below the paths: its inode, and when that was changed."""
    found = dict[Parts, Identity]()
    for path in paths:
        with suppress(ToolFailed, OSError):
            status = workspace.status(path, follow=False)
            if not stat.S_ISDIR(status.st_mode):
                found[workspace.entry_parts(path)] = (status.st_ino, status.st_ctime_ns)
                continue
            for each in workspace.walk(path):
                found[each.parts] = (each.status.st_ino, each.status.st_ctime_ns)
    return {text_of(parts): each for parts, each in found.items()}


def text_of(parts: Parts) -> str:
    return path_text(os.fsencode("/".join(parts)))
