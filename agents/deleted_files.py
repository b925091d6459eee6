"""What a person deletes in a workspace lies in the home for a day, and can be brought back.

Each has a folder of its own, with the thing and a record of where it was. Within one disk it is
moved in one step; from another disk it is copied whole before it goes.
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import count, islice
from pathlib import Path
from typing import BinaryIO

from django.conf import settings
from django.utils.translation import gettext

from agents.errors import Conflict, NotFound
from agents.tools.confinement import FILE, FOLDER, NameTaken, translated_errors
from agents.tools.files import editing
from agents.workspace_files import Place, hold_name, refusals, release_name

RESTORABLE = 24 * 60 * 60  # seconds
MOST_ERASED = 20  # at a time
MOST_COPIED = 1_000_000_000  # bytes that are copied from another disk
DEEPEST_COPIED = 100  # folders; each takes two handles meanwhile
KEY = re.compile(r"[0-9a-f]{16}")
RECORD, ITEM, UNFINISHED_ITEM = "record.json", "item", "unfinished"


@dataclass(frozen=True)
class Deleted:
    """`root` is the folder that the agent worked in then; `person` alone can bring it back. What
    `was_replaced` made room for another of its name."""

    key: str
    agent: str
    person: int
    root: str
    path: str
    is_folder: bool
    was_replaced: bool = False


class TooMuch(Exception):
    """More than is copied from another disk, or deeper."""


def delete(place: Place, path: str) -> Deleted:
    """Take a file, link or folder out of the workspace."""
    place.check_writable()
    files = place.files
    with refusals(path), editing(files), files.entry(path) as (folder, name):
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        parts = files.entry_parts(path)
        deleted = new_record(place, "/".join(parts), is_folder=stat.S_ISDIR(status.st_mode))
        shelf = new_shelf(deleted)
        try:
            write_record(shelf, deleted)
            move_to(shelf, folder, name, status)
        except TooMuch:
            erase(shelf)
            raise Conflict(
                gettext(
                    "{path} lies on another disk and is larger than 1 GB or very deep, so it could "
                    "not be brought back. Delete it there yourself."
                ).format(path=deleted.path)
            ) from None
        except BaseException:
            if not os.path.lexists(shelf / ITEM):
                erase(shelf)
            raise
    return deleted


def restore(place: Place, key: str) -> str:
    """Back to where it was; by another name where that is taken. Gives its path."""
    shelf, deleted = found(place, key)
    *above, name = deleted.path.split("/")
    files = place.files
    with (
        refusals(deleted.path),
        editing(files),
        files.folder(tuple(above), deleted.path, make=True) as folder,
        translated_errors(deleted.path),
    ):
        free = hold_free_name(folder, name, is_folder=deleted.is_folder)
        try:
            move_from(shelf, folder, free)
        except BaseException:
            release_name(folder, free, is_folder=deleted.is_folder)
            raise
        os.fsync(folder)
    with suppress(OSError):
        erase(shelf)
    return "/".join((*above, free))


def erase_old() -> None:
    """For good what was deleted a day ago, some at a time. It may be a hundred thousand files, so
    nobody waits for it."""
    late = time.time() - RESTORABLE
    shelves = (each for each in shelf_root().glob("*/*") if KEY.fullmatch(each.name))
    for shelf in islice((each for each in shelves if is_older(each, late)), MOST_ERASED):
        with suppress(OSError):
            erase(shelf)


def is_older(shelf: Path, late: float) -> bool:
    """Without its record, as an erasing that was cut off leaves it, by its own time."""
    for each in (shelf / RECORD, shelf):
        with suppress(OSError):
            return each.stat().st_mtime < late
    return False


def shelf_root() -> Path:
    return Path(settings.PLANSIDE_HOME) / "deleted-files"


def shelf_of(agent: str, key: str) -> Path:
    return shelf_root() / agent / key


def new_record(
    place: Place, path: str, *, is_folder: bool = False, was_replaced: bool = False
) -> Deleted:
    key, root = secrets.token_hex(8), str(place.root)
    return Deleted(key, place.agent, place.person, root, path, is_folder, was_replaced)


def new_shelf(deleted: Deleted) -> Path:
    shelf = shelf_of(deleted.agent, deleted.key)
    for each in (shelf.parent.parent, shelf.parent, shelf):
        each.mkdir(mode=0o700, exist_ok=True)
    return shelf


def found(place: Place, key: str) -> tuple[Path, Deleted]:
    """What this person may bring back into the workspace as it is now."""
    place.check_writable()
    if KEY.fullmatch(key):
        shelf = shelf_of(place.agent, key)
        with suppress(OSError, ValueError, TypeError):
            deleted = Deleted(**json.loads((shelf / RECORD).read_text()))
            is_young = (shelf / RECORD).stat().st_mtime > time.time() - RESTORABLE
            if deleted.person == place.person and is_young and os.path.lexists(shelf / ITEM):
                if deleted.root != str(place.root):
                    raise Conflict(gettext("The agent works in another folder now."))
                return shelf, deleted
    raise NotFound(gettext("It was deleted more than a day ago, or is back already."))


def write_record(shelf: Path, deleted: Deleted) -> None:
    with (shelf / RECORD).open("w") as file:
        json.dump(asdict(deleted), file)
        file.flush()
        os.fsync(file.fileno())


def hold_free_name(folder: int, name: str, *, is_folder: bool) -> str:
    stem, dot, ending = name.rpartition(".")
    if not stem or is_folder:
        stem, dot, ending = name, "", ""
    for number in count(1):
        free = name if number == 1 else f"{stem}-{number}{dot}{ending}"
        with suppress(NameTaken):
            hold_name(folder, free, is_folder=is_folder)
            return free
    raise AssertionError


# Moving in one step, or copying from one disk to another


def move_to(shelf: Path, folder: int, name: str, status: os.stat_result) -> None:
    try:
        os.rename(name, shelf / ITEM, src_dir_fd=folder)
        return
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
    into = os.open(shelf, FOLDER)
    try:
        Copy(MOST_COPIED).entry(folder, name, into, UNFINISHED_ITEM)
        os.rename(UNFINISHED_ITEM, ITEM, src_dir_fd=into, dst_dir_fd=into)
        os.fsync(into)
    finally:
        os.close(into)
    remove(folder, name, is_folder=stat.S_ISDIR(status.st_mode))


def move_from(shelf: Path, folder: int, name: str) -> None:
    """Into the place that `name` holds."""
    try:
        os.replace(shelf / ITEM, name, dst_dir_fd=folder)
        return
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
    source, copy = os.open(shelf, FOLDER), f".{secrets.token_hex(8)}.part"
    try:
        Copy(MOST_COPIED).entry(source, ITEM, folder, copy)
        os.replace(copy, name, src_dir_fd=folder, dst_dir_fd=folder)
    except TooMuch:
        throw_away(folder, copy)
        raise Conflict(
            gettext(
                "It is larger than 1 GB or very deep, and the workspace is on another disk now: it "
                "cannot be brought back from here."
            )
        ) from None
    except BaseException:
        throw_away(folder, copy)
        raise
    finally:
        os.close(source)


def throw_away(folder: int, copy: str) -> None:
    """What was copied of something that is not all there: nobody would see it, or miss it."""
    with suppress(OSError):
        status = os.stat(copy, dir_fd=folder, follow_symlinks=False)
        remove(folder, copy, is_folder=stat.S_ISDIR(status.st_mode))


def remove(folder: int, name: str, *, is_folder: bool) -> None:
    if not is_folder:
        os.unlink(name, dir_fd=folder)
        return
    empty(folder, name)
    os.rmdir(name, dir_fd=folder)


def erase(folder: Path) -> None:
    """With all that is in it, however deep."""
    above = os.open(folder.parent, FOLDER)
    try:
        remove(above, folder.name, is_folder=True)
    finally:
        os.close(above)


def empty(above: int, name: str) -> None:
    """Folders are brought up to the outermost one before they are gone through: as a tree they may
    be deeper than calls or handles go."""
    os.chmod(name, 0o700, dir_fd=above)
    outermost = os.open(name, FOLDER, dir_fd=above)
    try:
        left = unlinked(outermost)
        while left:
            each = left.pop()
            os.chmod(each, 0o700, dir_fd=outermost)
            inside = os.open(each, FOLDER, dir_fd=outermost)
            try:
                for inner in unlinked(inside):
                    os.chmod(inner, 0o700, dir_fd=inside)
                    brought = secrets.token_hex(16)
                    os.rename(inner, brought, src_dir_fd=inside, dst_dir_fd=outermost)
                    left.append(brought)
            finally:
                os.close(inside)
            os.rmdir(each, dir_fd=outermost)
    finally:
        os.close(outermost)


def unlinked(folder: int) -> list[str]:
    """The folders in it; everything else is gone."""
    with os.scandir(folder) as found:
        entries = [(each.name, each.is_dir(follow_symlinks=False)) for each in found]
    for name, is_folder in entries:
        if not is_folder:
            os.unlink(name, dir_fd=folder)
    return [name for name, is_folder in entries if is_folder]


class Copy:
    """A tree from one opened folder into another, never through a link; up to `left` bytes.

    Pipes and devices are left out: nothing could be read of them.
    """

    def __init__(self, left: int) -> None:
        self.left = left
        self.depth = 0

    def entry(self, source: int, name: str, target: int, copy: str) -> None:
        status = os.stat(name, dir_fd=source, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            os.symlink(os.readlink(name, dir_fd=source), copy, dir_fd=target)
        elif stat.S_ISDIR(status.st_mode):
            self.folder(source, name, target, copy, status)
        elif stat.S_ISREG(status.st_mode):
            self.file(source, name, target, copy, status)

    def folder(
        self, source: int, name: str, target: int, copy: str, status: os.stat_result
    ) -> None:
        self.depth += 1
        if self.depth > DEEPEST_COPIED:
            raise TooMuch
        os.mkdir(copy, 0o700, dir_fd=target)
        inner = os.open(name, FOLDER, dir_fd=source)
        try:
            outer = os.open(copy, FOLDER, dir_fd=target)
            try:
                with os.scandir(inner) as found:
                    names = [each.name for each in found]
                for each in names:
                    self.entry(inner, each, outer, each)
                os.fchmod(outer, stat.S_IMODE(status.st_mode))
            finally:
                os.close(outer)
        finally:
            os.close(inner)
        self.depth -= 1

    def file(self, source: int, name: str, target: int, copy: str, status: os.stat_result) -> None:
        new = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        with (
            os.fdopen(os.open(name, FILE, dir_fd=source), "rb") as old,
            os.fdopen(os.open(copy, new, 0o600, dir_fd=target), "wb") as file,
        ):
            file.writelines(self.pieces(old))
            os.fchmod(file.fileno(), stat.S_IMODE(status.st_mode))
            file.flush()
            os.utime(file.fileno(), ns=(status.st_atime_ns, status.st_mtime_ns))
            os.fsync(file.fileno())

    def pieces(self, file: BinaryIO) -> Iterator[bytes]:
        while piece := file.read(1 << 20):
            self.left -= len(piece)
            if self.left < 0:
                raise TooMuch
            yield piece
