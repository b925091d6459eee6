"""What a person replaces in a workspace is kept as if it had been deleted, and can take its place
again; then the file that it gives way to is kept in its turn."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from django.utils.translation import gettext

from agents.errors import Conflict
from agents.tools.base import ToolFailed
from agents.tools.confinement import FOLDER, FileName
from agents.tools.files import editing
from agents.workspace.copied_files import Copy, TooMuch
from agents.workspace.deleted_files import (
    ITEM,
    MOST_COPIED,
    UNFINISHED_ITEM,
    Deleted,
    erase,
    found,
    make_trash_folder,
    move_from,
    new_record,
    restore,
    write_record,
)
from agents.workspace.files import IfTaken, Place, refusals, take_in


def store(
    place: Place, folder: str, name: str, pieces: Iterable[bytes], if_taken: IfTaken
) -> tuple[str, Deleted | None]:
    """Take in a file; its path, and what it replaced. Raises Conflict where the name is taken."""
    kept: list[Deleted] = []

    @contextmanager
    def replacing(parent: int, name: FileName) -> Iterator[None]:
        with keeping(place, f"{folder}/{name}".removeprefix("/"), parent, name) as old:
            yield
        kept.extend(filter(None, [old]))

    path = take_in(place, folder, name, pieces, if_taken, replacing)
    return path, kept[0] if kept else None


def put_back(place: Place, key: str) -> tuple[str, Deleted | None]:
    """Bring back what was deleted or replaced; its path, and what it replaced now.

    What was replaced takes its place from an ordinary file alone: from anything else it stands
    beside it, by another name.
    """
    trash, deleted = found(place, key)
    if not deleted.was_replaced or not may_give_way(place, deleted.path):
        return restore(place, key), None
    path = deleted.path
    with refusals(path), place.files.entry(path) as (folder, name):
        with keeping(place, path, folder, name) as other:
            move_from(trash, folder, name)
        os.fsync(folder)
    with suppress(OSError):
        erase(trash)
    return path, other


def may_give_way(place: Place, path: str) -> bool:
    files = place.files
    with suppress(ToolFailed, OSError), files.entry(path) as (folder, name):
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        files.check_plain(status, path)
        return bool(status.st_mode & stat.S_IWUSR)
    return False


@contextmanager
def keeping(place: Place, path: str, folder: int, name: str) -> Iterator[Deleted | None]:
    """A copy of the file lies in the home before another takes its place, and nobody edits it
    meanwhile; without the other it goes."""
    with editing(place.files):
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            yield None
            return
        parts = place.files.entry_parts(path)
        deleted = new_record(place, "/".join(parts), was_replaced=True)
        trash = make_trash_folder(deleted)
        try:
            write_record(trash, deleted)
            into = os.open(trash, FOLDER)
            try:
                Copy(MOST_COPIED).file(folder, name, into, UNFINISHED_ITEM, status)
                os.rename(UNFINISHED_ITEM, ITEM, src_dir_fd=into, dst_dir_fd=into)
                os.fsync(into)
            finally:
                os.close(into)
            yield deleted
        except TooMuch:
            erase(trash)
            raise Conflict(
                gettext(
                    "{path} is larger than 1 GB, so it could not be brought back. Delete it first, "
                    "or keep both."
                ).format(path=path)
            ) from None
        except BaseException:
            erase(trash)
            raise
