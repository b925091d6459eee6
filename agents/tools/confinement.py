"""One folder and nothing outside it, whatever a path says and whoever swaps a link meanwhile.

A path is resolved and checked first; then it is walked again from the folder down, each part
opened relative to the one before and never through a link. So a link that is put in the way
between check and use makes the walk fail instead of leading it out.
"""

from __future__ import annotations

import ctypes
import errno
import math
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import BinaryIO, Self

from django.conf import settings

from agents import umask
from agents.tools.base import ToolFailed

# See workspace/trash.py: of a folder on another disk than the home, and in the home.
TRASH, DELETED = ".planside-trash", "deleted-files"
IGNORED = {".git", ".hg", ".svn", ".venv", "__pycache__", "node_modules", TRASH}
DEEPEST = 40  # folders below the one where a walk begins
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
NEW_FILE = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
UNFINISHED = re.compile(r"\.[0-9a-f]{16}\.(part|tmp)")
ABANDONED_AFTER = 60 * 60  # seconds without another byte
REASONS = {
    errno.ENOENT: "does not exist",
    errno.ENOTDIR: "does not exist, or a part of it is not a folder",
    errno.ELOOP: "leads through a link that cannot be followed",
    errno.EACCES: "may not be opened: permission denied",
    errno.ENAMETOOLONG: "is too long for a name",
    errno.EISDIR: "is a folder, not a file",
    errno.ENXIO: "is not an ordinary file",
}

LONGEST_NAME = 255  # bytes, of any common file system

Parts = tuple[str, ...]

# renameat2 of Linux, from glibc 2.28 on, and what macOS calls it; with it the flags for a free name
# and for two files that change places
LIBC = ctypes.CDLL(None, use_errno=True)
RENAME, IF_FREE, EXCHANGE = getattr(LIBC, "renameat2", None), 1, 2
if sys.platform == "darwin":
    RENAME, IF_FREE = LIBC.renameatx_np, 4


class NoRoom(ToolFailed):
    """The disk is full."""


class ReadOnly(ToolFailed):
    """The disk, or the file, takes no changes."""


class NotAllowed(ToolFailed):
    """The server lacks the permission."""


class NotThere(ToolFailed):
    """Nothing has this name."""


class NoFolder(ToolFailed):
    """A part of the path is a file, or a link."""


class OtherDisk(ToolFailed):
    """What is to be moved, and where to, are on two disks, or one is mounted there."""


NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
EXCHANGES_NONE = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)  # this disk, or this system
REFUSALS: dict[int, type[ToolFailed]] = {
    **dict.fromkeys(NO_ROOM, NoRoom),
    **dict.fromkeys((errno.EROFS, errno.EPERM), ReadOnly),
    **dict.fromkeys((errno.ENOTDIR, errno.ELOOP), NoFolder),
    errno.EACCES: NotAllowed,
    errno.ENOENT: NotThere,
    **dict.fromkeys((errno.EXDEV, errno.EBUSY), OtherDisk),
}


class NameTaken(ToolFailed):
    """Something of this name is there already."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{display_path(name)} is there already.")
        self.name = name


class NotAName(ToolFailed):
    """It is no single component of a path, so it could lead out of an opened folder."""

    def __init__(self, name: str, why: str = "is not the name of a file") -> None:
        super().__init__(f"{display_path(name)} {why}.")
        self.name = name


class FileName(str):
    """One component of a path: what may be used below an opened folder (`dir_fd`).

    Made after cleaning, which can make a path of a name. Raises NotAName.
    """

    __slots__ = ()

    def __new__(cls, name: str) -> Self:
        if name in ("", ".", "..") or {"/", "\0"} & set(name):
            raise NotAName(name)
        try:
            is_too_long = len(os.fsencode(name)) > LONGEST_NAME
        except UnicodeEncodeError:  # half a character
            raise NotAName(name) from None
        if is_too_long:
            raise NotAName(name, "is too long for a name")
        return super().__new__(cls, name)


# (folder, new, name): has a new file take the place of another in an opened folder
Replace = Callable[[int, FileName, FileName], object]


@dataclass(frozen=True)
class Entry:
    """A file or link below a folder; `parts` lead to it from the root."""

    parts: Parts
    status: os.stat_result
    is_hard_link: bool  # one that may not be followed

    @property
    def is_file(self) -> bool:
        return stat.S_ISREG(self.status.st_mode)

    @property
    def path(self) -> str:
        return display_path("/".join(self.parts))


class Workspace:
    """The folder `root` during one call of a tool. Each failure is a ToolFailed of one sentence."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def locate(self, path: str) -> Parts:
        """The parts of the real path below the root; it need not exist."""
        if path.startswith("/"):
            raise ToolFailed(
                f"Paths are relative to the workspace: {display_path(path)} begins with /."
            )
        try:
            root = self.root.resolve(strict=True)
            parts = (root / path).resolve().relative_to(root).parts
            if not any(map(is_ours, parts)):
                return parts
        except (ValueError, RuntimeError, OSError):  # outside, NUL, half characters, a loop
            pass
        raise ToolFailed(f"{display_path(path)} is not a path inside the workspace.")

    def read(self, path: str, largest: int, *, follow: bool = True) -> bytes:
        with self.parent_of(path, follow=follow) as (parent, name):
            self.check_plain(status_in(parent, name), path)
            handle = os.open(name, FILE, dir_fd=parent)
            with os.fdopen(handle, "rb") as file:
                now = os.fstat(handle)  # it may have been swapped since the first check
                self.check_plain(now, path)
                content = file.read(largest + 1) if now.st_size <= largest else b""
        if now.st_size > largest or len(content) > largest:
            raise ToolFailed(
                f"{display_path(path)} is too large: files up to {largest:,} bytes can be read."
            )
        return content

    def write(self, path: str, content: bytes) -> bool:
        """Replace or make a file in one step, with its folders; true if it is new.

        A temporary file takes the old one's place, so a link or pipe is never opened.
        """
        with (
            self.parent_of(path, make=True) as (parent, name),
            new_file(parent, [content]) as new,
        ):
            is_new = not self.take_mode(parent, name, new, path)
            os.replace(new, name, src_dir_fd=parent, dst_dir_fd=parent)
            return is_new

    def status(self, path: str, *, follow: bool = True) -> os.stat_result:
        """What lies at the path; `follow` is about a link that the path ends in."""
        if follow and not self.locate(path):
            with translated_errors(path):
                return self.root.stat()
        with self.parent_of(path, follow=follow) as (parent, name):
            return status_in(parent, name)

    def is_there(self, path: str) -> bool:
        with suppress(ToolFailed):
            return bool(self.status(path))
        return False

    def add(
        self,
        folder: str,
        name: FileName,
        pieces: Iterable[bytes],
        *,
        only: bool = False,
        replace: Replace | None = None,
        before: Callable[[FileName], None] = lambda name: None,
    ) -> FileName:
        """A new file in a folder, which is made if need be; gives its name.

        Where the name is taken that is another one, unless it is to be the name `only`, or a way to
        `replace` what has it is given. The file appears whole or not at all, also when the pieces
        end in an exception. Each name is told to `before` before it is tried.
        """
        place = f"{folder}/{name}"
        with (
            self.folder(self.locate(folder), folder, make=True) as parent,
            translated_errors(place),
            new_file(parent, pieces) as new,
        ):
            if replace is None:
                return move_to_free(parent, new, parent, name, only=only, before=before)
            for is_last in (False, True):
                with suppress(NameTaken):
                    return move_to_free(parent, new, parent, name, only=True)
                try:
                    self.take_mode(parent, name, new, name)
                    replace(parent, new, name)
                    break
                except FileNotFoundError:  # what had the name has gone meanwhile
                    if is_last:
                        raise
            return name

    def take_mode(self, folder: int, name: FileName, heir: FileName, path: str) -> bool:
        """Give a file the mode of what it is to replace; false where nothing is there.

        Raises ToolFailed for what is no file to be written over.
        """
        try:
            old = status_in(folder, name)
        except FileNotFoundError:
            return False
        self.check_plain(old, path)
        if not old.st_mode & stat.S_IWUSR:
            raise ReadOnly(f"{display_path(path)} is write-protected.")
        handle = os.open(heir, FILE, dir_fd=folder)  # by its name a link could be in its place
        try:
            os.fchmod(handle, stat.S_IMODE(old.st_mode))
        finally:
            os.close(handle)
        return True

    def open(self, path: str) -> BinaryIO:
        """A file to be read piece by piece; the caller closes it."""
        with self.parent_of(path) as (parent, name):
            handle = os.open(name, FILE, dir_fd=parent)
            try:
                self.check_plain(os.fstat(handle), path)
            except BaseException:
                os.close(handle)
                raise
            return os.fdopen(handle, "rb")

    def holds(self, path: str) -> bool:
        """Whether there is a file that may be read."""
        with suppress(ToolFailed):
            self.check_plain(self.status(path), path)
            return True
        return False

    def remove(self, path: str) -> None:
        """A file that has gone already is no failure."""
        with suppress(ToolFailed), self.parent_of(path) as (parent, name):
            os.unlink(name, dir_fd=parent)

    def is_folder(self, path: str) -> bool:
        return stat.S_ISDIR(self.status(path).st_mode)

    def walk(self, path: str, until: float = math.inf) -> Iterator[Entry]:
        """All files and links at or below a path, by name; links are not followed.

        What is being written is left out, and removed where its process has ended long ago.
        At the moment `until`, of the monotonic clock, it ends, also among folders without a file.
        """
        parts = self.locate(path)
        with self.folder(parts, path) as start, translated_errors(path):
            for below, folders, files, handle in os.fwalk(".", dir_fd=start):
                within, inner = Path(below).parts, []
                if time.monotonic() > until:
                    return
                for name in sorted(files + folders):
                    if time.monotonic() > until:
                        return
                    if UNFINISHED.fullmatch(name):
                        remove_abandoned(handle, FileName(name))
                        continue
                    try:
                        status = status_in(handle, name)
                    except OSError:  # gone since
                        continue
                    if stat.S_ISDIR(status.st_mode):
                        inner.append(name)
                        continue
                    is_hard_link = self.is_forbidden_link(status)
                    yield Entry((*parts, *within, name), status, is_hard_link)
                folders[:] = sorted(set(inner) - IGNORED) if len(within) < DEEPEST else []

    def entry_parts(self, path: str) -> Parts:
        """As `locate`, without following a link that the path ends in."""
        above, _, name = path.rstrip("/").rpartition("/")
        if is_ours(name):
            raise NotAName(name)
        return (*self.locate(above), FileName(name))

    @contextmanager
    def parent_of(
        self, path: str, *, make: bool = False, follow: bool = True
    ) -> Iterator[tuple[int, FileName]]:
        """The folder that holds what is at the path, opened, and its name in there."""
        parts = self.locate(path) if follow else self.entry_parts(path)
        if not parts:
            raise ToolFailed("The workspace itself is a folder; name a file in it.")
        with self.folder(parts[:-1], path, make) as handle, translated_errors(path):
            yield handle, FileName(parts[-1])

    @contextmanager
    def folder(self, parts: Parts, path: str, make: bool = False) -> Iterator[int]:
        with ExitStack() as stack:
            with translated_errors(path):
                mode = 0o777 & ~umask.persons() if make else None
                handle = stack.enter_context(opened_folder(self.root, parts, mode))
            yield handle

    def check_plain(self, status: os.stat_result, path: str) -> None:
        if stat.S_ISDIR(status.st_mode):
            raise ToolFailed(f"{display_path(path)} is a folder, not a file.")
        if not stat.S_ISREG(status.st_mode):
            raise ToolFailed(f"{display_path(path)} is not an ordinary file.")
        if self.is_forbidden_link(status):
            raise ToolFailed(
                f"{display_path(path)} is a hard link, which may lead out of the workspace."
            )

    def is_forbidden_link(self, status: os.stat_result) -> bool:
        """Whether it is a second name of a file that may lie where a tool must not look.

        A file with several names is refused if the workspace lies in Planside's home, where only
        a command makes such links, or if one of the names does. In a folder of the person's own,
        such as a checkout or a package store, links among its files and to other places are their
        business.
        """
        if not stat.S_ISREG(status.st_mode) or status.st_nlink < 2:
            return False
        links = self.links_in_home
        return links is None or (status.st_dev, status.st_ino) in links

    @cached_property
    def links_in_home(self) -> set[tuple[int, int]] | None:
        """Device and inode of the home's files with several names; None for a workspace in it.

        What was deleted there is the person's own.
        """
        home = Path(settings.PLANSIDE_HOME).resolve()
        return None if self.root.resolve().is_relative_to(home) else set(linked_names(home))


def linked_names(top: Path) -> Iterator[tuple[int, int]]:
    """Device and inode of each name below of files with several, but of what was deleted."""
    for folder, below, names, handle in os.fwalk(top):
        depth = len(Path(folder).relative_to(top).parts)
        below[:] = sorted({*below} - {DELETED}) if depth < DEEPEST else []
        for name in names:
            with suppress(OSError):
                status = status_in(handle, name)
                if status.st_nlink > 1:
                    yield status.st_dev, status.st_ino


def is_ours(name: str) -> bool:
    """Whether a name in a workspace is one that only Planside gives, and nobody sees."""
    return name == TRASH or bool(UNFINISHED.fullmatch(name))


def status_in(folder: int, name: str) -> os.stat_result:
    """Of an entry of an opened folder; a link is an entry of its own."""
    return os.stat(name, dir_fd=folder, follow_symlinks=False)


@contextmanager
def opened_folder(root: Path, parts: Parts, mode: int | None = None) -> Iterator[int]:
    """A folder below another, each opened from the one above it and never through a link.

    With a `mode` those that are missing are made. Raises OSError, and NotAName for a part.
    """
    handle = os.open(root.resolve(), FOLDER)
    try:
        for part in map(FileName, parts):
            if mode is not None:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=handle)
                    os.chmod(part, mode, dir_fd=handle)
            deeper = os.open(part, FOLDER, dir_fd=handle)
            os.close(handle)
            handle = deeper
        yield handle
    finally:
        os.close(handle)


@contextmanager
def new_file(folder: int, pieces: Iterable[bytes]) -> Iterator[FileName]:
    """The name of a new file, all of it on the disk, to be moved to its place within the block.

    Nobody sees it before, and where the block fails it is gone.
    """
    name = FileName(f".{secrets.token_hex(8)}.part")
    handle = os.open(name, NEW_FILE, 0o600, dir_fd=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(handle, 0o666 & ~umask.persons())
            file.writelines(pieces)
            file.flush()
            os.fsync(handle)
        yield name
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        raise
    os.fsync(folder)


def move(source: int, name: FileName, folder: int, to: FileName) -> None:
    """Rename in one step to a name that is free. Raises FileExistsError.

    Python cannot ask for that. Where the disk or the system cannot either, a file has both names
    for a moment, and a folder may take the place of an empty one.
    """
    if RENAME is not None:
        if not RENAME(source, os.fsencode(name), folder, os.fsencode(to), IF_FREE):
            return
        if (error := ctypes.get_errno()) not in EXCHANGES_NONE:
            raise OSError(error, os.strerror(error))
    if stat.S_ISDIR(status_in(source, name).st_mode):
        os.mkdir(to, 0o700, dir_fd=folder)
        try:
            os.rename(name, to, src_dir_fd=source, dst_dir_fd=folder)
        except BaseException:
            os.rmdir(to, dir_fd=folder)
            raise
    else:
        os.link(name, to, src_dir_fd=source, dst_dir_fd=folder, follow_symlinks=False)
        os.unlink(name, dir_fd=source)


def exchange(source: int, name: FileName, folder: int, to: FileName) -> bool:
    """Have two files change places, in one step; False where this disk or system has none."""
    if RENAME is None:
        return False
    if RENAME(source, os.fsencode(name), folder, os.fsencode(to), EXCHANGE):
        if (error := ctypes.get_errno()) not in EXCHANGES_NONE:
            raise OSError(error, os.strerror(error))
        return False
    return True


def move_to_free(
    source: int,
    name: FileName,
    folder: int,
    wanted: FileName,
    *,
    only: bool = False,
    before: Callable[[FileName], None] = lambda name: None,
) -> FileName:
    """Rename to what is free: the name that is wanted, or it with a number.

    Each is told to `before` before it is tried.

    Raises NameTaken where it is to be the name `only`.
    """
    is_folder = stat.S_ISDIR(status_in(source, name).st_mode)
    for number in count(1):
        free = FileName(numbered(wanted, number, is_folder=is_folder))
        before(free)
        with suppress(FileExistsError):
            move(source, name, folder, free)
            return free
        if only:
            raise NameTaken(wanted)
    raise AssertionError


def numbered(name: str, number: int, *, is_folder: bool = False) -> str:
    """The name itself as number one, else with the number before its ending."""
    stem, dot, ending = name.rpartition(".")
    if not stem or is_folder:
        stem, dot, ending = name, "", ""
    if number == 1:
        return name
    tail = f"-{number}{dot}{ending}"
    raw, room = os.fsencode(stem), LONGEST_NAME - len(os.fsencode(tail))
    return (stem if len(raw) <= room else raw[:room].decode(errors="ignore")) + tail


def remove_abandoned(folder: int, name: FileName) -> None:
    with suppress(OSError):
        if status_in(folder, name).st_mtime < time.time() - ABANDONED_AFTER:
            os.unlink(name, dir_fd=folder)


@contextmanager
def translated_errors(path: str) -> Iterator[None]:
    """Turns an error of the system into one sentence about the path."""
    try:
        yield
    except OSError as error:
        reason = REASONS.get(error.errno or 0) or f"failed: {os.strerror(error.errno or 0)}"
        refusal = REFUSALS.get(error.errno or 0, ToolFailed)
        raise refusal(f"{display_path(path)} {reason}.") from None


def display_path(path: str) -> str:
    """A name as one line of text that any database and connection takes."""
    text = path if len(path) <= 300 else path[:299] + "…"
    text = text.encode(errors="replace").decode()
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text) or '""'
