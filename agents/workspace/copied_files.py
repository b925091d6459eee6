"""Files that are copied from one disk to another, and removed only as they were copied.

Nobody keeps other programs from writing there meanwhile: what they add or change is not in the
copy, so it is not removed.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import BinaryIO

from agents.tools.confinement import FILE, FOLDER

DEEPEST_COPIED = 100  # folders; each takes two handles meanwhile
NO_FOLDER = (errno.ENOTDIR, errno.ELOOP)  # a file, or a link, has taken its name
NOT_EMPTY = (errno.ENOTEMPTY, errno.EEXIST)  # systems say one or the other

State = tuple[int, ...]


class TooMuch(Exception):
    """More than is copied from another disk, or deeper."""


@dataclass(frozen=True)
class Copied:
    """An entry as it was when it was copied, and by name what was `inside`; None for no folder."""

    state: State
    inside: dict[str, Copied] | None = None


def state_of(status: os.stat_result) -> State:
    """Another one for another entry, and for a file also when it is written. A folder is the same
    whatever comes into it."""
    if stat.S_ISDIR(status.st_mode):
        return (status.st_dev, status.st_ino)
    times = (status.st_mtime_ns, status.st_ctime_ns)
    return (status.st_dev, status.st_ino, status.st_size, *times)


class Copy:
    """A tree from one opened folder into another, never through a link; up to `left` bytes.

    Pipes and devices are left out: nothing could be read of them.
    """

    def __init__(self, left: int) -> None:
        self.left = left
        self.depth = 0

    def entry(self, source: int, name: str, target: int, copy: str) -> Copied:
        status = os.stat(name, dir_fd=source, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            return self.folder(source, name, target, copy, status)
        if stat.S_ISREG(status.st_mode):
            return self.file(source, name, target, copy, status)
        if stat.S_ISLNK(status.st_mode):
            os.symlink(os.readlink(name, dir_fd=source), copy, dir_fd=target)
        return Copied(state_of(status))

    def folder(
        self, source: int, name: str, target: int, copy: str, status: os.stat_result
    ) -> Copied:
        self.depth += 1
        if self.depth > DEEPEST_COPIED:
            raise TooMuch
        os.mkdir(copy, 0o700, dir_fd=target)
        inner = os.open(name, FOLDER, dir_fd=source)
        try:
            state = state_of(os.fstat(inner))
            outer = os.open(copy, FOLDER, dir_fd=target)
            try:
                with os.scandir(inner) as found:
                    names = [each.name for each in found]
                copied = {each: self.entry(inner, each, outer, each) for each in names}
                os.fchmod(outer, stat.S_IMODE(status.st_mode))
            finally:
                os.close(outer)
        finally:
            os.close(inner)
        self.depth -= 1
        return Copied(state, copied)

    def file(
        self, source: int, name: str, target: int, copy: str, status: os.stat_result
    ) -> Copied:
        new = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        with (
            os.fdopen(os.open(name, FILE, dir_fd=source), "rb") as old,
            os.fdopen(os.open(copy, new, 0o600, dir_fd=target), "wb") as file,
        ):
            state = state_of(os.fstat(old.fileno()))  # before the first byte is read
            file.writelines(self.pieces(old))
            os.fchmod(file.fileno(), stat.S_IMODE(status.st_mode))
            file.flush()
            os.utime(file.fileno(), ns=(status.st_atime_ns, status.st_mtime_ns))
            os.fsync(file.fileno())
        return Copied(state)

    def pieces(self, file: BinaryIO) -> Iterator[bytes]:
        while piece := file.read(1 << 20):
            self.left -= len(piece)
            if self.left < 0:
                raise TooMuch
            yield piece


def remove_copied(above: int, name: str, copied: Copied) -> bool:
    """Remove an entry if it is still as it was copied; of a folder, what is. Whether nothing is
    left there."""
    with suppress(FileNotFoundError):
        if copied.inside is not None:
            return remove_folder(above, name, copied.state, copied.inside)
        if state_of(os.stat(name, dir_fd=above, follow_symlinks=False)) != copied.state:
            return False
        os.unlink(name, dir_fd=above)
    return True


def remove_folder(above: int, name: str, state: State, inside: dict[str, Copied]) -> bool:
    try:
        handle = os.open(name, FOLDER, dir_fd=above)
    except OSError as error:
        if error.errno in NO_FOLDER:
            return False
        raise
    try:
        status = os.fstat(handle)
        if state_of(status) != state:
            return False
        os.fchmod(handle, 0o700)
        for each, copied in inside.items():
            remove_copied(handle, each, copied)
        try:
            os.rmdir(name, dir_fd=above)
        except OSError as error:
            os.fchmod(handle, stat.S_IMODE(status.st_mode))
            if error.errno in NOT_EMPTY:
                return False
            raise
    finally:
        os.close(handle)
    return True
