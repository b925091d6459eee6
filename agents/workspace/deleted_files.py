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
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext

from agents.errors import Conflict, NotFound
from agents.tools.confinement import FOLDER, NameTaken, numbered, translated_errors
from agents.tools.files import editing
from agents.workspace.copied_files import Copy, TooMuch, remove_copied
from agents.workspace.files import Place, hold_name, refusals, release_name

RESTORABLE = 24 * 60 * 60  # seconds
MOST_ERASED = 20  # at a time
MOST_COPIED = 1_000_000_000  # bytes that are copied from another disk
KEY = re.compile(r"[0-9a-f]{16}")
RECORD, ITEM, UNFINISHED_ITEM = "record.json", "item", "unfinished"


@dataclass(frozen=True)
class Deleted:
    """`root` is the folder that the agent worked in then; `person` alone can bring it back. What
    `was_replaced` made room for another of its name. Of a folder that `is_partial` there is still
    what came into it, or was changed, while it was copied from another disk."""

    key: str
    agent: str
    person: int
    root: str
    path: str
    is_folder: bool
    was_replaced: bool = False
    is_partial: bool = False


def delete(place: Place, path: str) -> Deleted:
    """Take a file, link or folder out of the workspace."""
    place.check_writable()
    files = place.files
    with refusals(path), editing(files), files.entry(path) as (folder, name):
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        parts = files.entry_parts(path)
        deleted = new_record(place, "/".join(parts), is_folder=stat.S_ISDIR(status.st_mode))
        trash = make_trash_folder(deleted)
        try:
            write_record(trash, deleted)
            is_gone = move_to(trash, folder, name)
        except TooMuch:
            erase(trash)
            raise Conflict(
                gettext(
                    "{path} lies on another disk and is larger than 1 GB or very deep, so it could "
                    "not be brought back. Delete it there yourself."
                ).format(path=deleted.path)
            ) from None
        except BaseException:
            if not os.path.lexists(trash / ITEM):
                erase(trash)
            raise
        if not is_gone and not deleted.is_folder:
            erase(trash)
            sentence = gettext("{path} was changed meanwhile, so it was not deleted. Try again.")
            raise Conflict(sentence.format(path=deleted.path))
    return deleted if is_gone else replace(deleted, is_partial=True)


def restore(place: Place, key: str) -> str:
    """Back to where it was; by another name where that is taken. Gives its path."""
    trash, deleted = found(place, key)
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
            move_from(trash, folder, free)
        except BaseException:
            release_name(folder, free, is_folder=deleted.is_folder)
            raise
        os.fsync(folder)
    with suppress(OSError):
        erase(trash)
    return "/".join((*above, free))


def erase_old() -> None:
    """For good what was deleted a day ago, some at a time. It may be a hundred thousand files, so
    nobody waits for it."""
    late, erased = time.time() - RESTORABLE, 0
    folders = (each for each in trash_root().glob("*/*") if KEY.fullmatch(each.name))
    for trash in (each for each in folders if is_older(each, late)):
        with suppress(OSError):  # another user's: those behind it go all the same
            erase(trash)
            erased += 1
        if erased == MOST_ERASED:
            return


def is_older(trash: Path, late: float) -> bool:
    """Without its record, as an erasing that was cut off leaves it, by its own time."""
    for each in (trash / RECORD, trash):
        with suppress(OSError):
            return each.stat().st_mtime < late
    return False


def trash_root() -> Path:
    return Path(settings.PLANSIDE_HOME) / "deleted-files"


def trash_folder(agent: str, key: str) -> Path:
    return trash_root() / agent / key


def new_record(
    place: Place, path: str, *, is_folder: bool = False, was_replaced: bool = False
) -> Deleted:
    key, root = secrets.token_hex(8), str(place.root)
    return Deleted(key, place.agent, place.person, root, path, is_folder, was_replaced)


def make_trash_folder(deleted: Deleted) -> Path:
    trash = trash_folder(deleted.agent, deleted.key)
    for each in (trash.parent.parent, trash.parent, trash):
        each.mkdir(mode=0o700, exist_ok=True)
    return trash


def found(place: Place, key: str) -> tuple[Path, Deleted]:
    """What this person may bring back into the workspace as it is now."""
    place.check_writable()
    if KEY.fullmatch(key):
        trash = trash_folder(place.agent, key)
        with suppress(OSError, ValueError, TypeError):
            deleted = Deleted(**json.loads((trash / RECORD).read_text()))
            is_young = (trash / RECORD).stat().st_mtime > time.time() - RESTORABLE
            if deleted.person == place.person and is_young and os.path.lexists(trash / ITEM):
                if deleted.root != str(place.root):
                    raise Conflict(gettext("The agent works in another folder now."))
                return trash, deleted
    raise NotFound(gettext("It was deleted more than a day ago, or is back already."))


def write_record(trash: Path, deleted: Deleted) -> None:
    with (trash / RECORD).open("w") as file:
        json.dump(asdict(deleted), file)
        file.flush()
        os.fsync(file.fileno())


def hold_free_name(folder: int, name: str, *, is_folder: bool) -> str:
    for number in count(1):
        free = numbered(name, number, is_folder=is_folder)
        with suppress(NameTaken):
            hold_name(folder, free, is_folder=is_folder)
            return free
    raise AssertionError


# Moving in one step, or copying from one disk to another


def move_to(trash: Path, folder: int, name: str) -> bool:
    """Whether nothing of it is left in the folder."""
    try:
        os.rename(name, trash / ITEM, src_dir_fd=folder)
        return True
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
    into = os.open(trash, FOLDER)
    try:
        copied = Copy(MOST_COPIED).entry(folder, name, into, UNFINISHED_ITEM)
        os.rename(UNFINISHED_ITEM, ITEM, src_dir_fd=into, dst_dir_fd=into)
        os.fsync(into)
    finally:
        os.close(into)
    return remove_copied(folder, name, copied)


def move_from(trash: Path, folder: int, name: str) -> None:
    """Into the place that `name` holds."""
    try:
        os.replace(trash / ITEM, name, dst_dir_fd=folder)
        return
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
    source, copy = os.open(trash, FOLDER), f".{secrets.token_hex(8)}.part"
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
