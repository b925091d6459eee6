"""One folder and nothing outside it, whatever a path says and whoever swaps a link meanwhile.

A path is resolved and checked first; then it is walked again from the folder down, each part
opened relative to the one before and never through a link. So a link that is put in the way
between check and use makes the walk fail instead of leading it out.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from django.conf import settings

from agents import umask
from agents.tools.base import ToolFailed

IGNORED = {".git", ".hg", ".svn", ".venv", "__pycache__", "node_modules"}
DEEPEST = 40  # folders below the one where a walk begins
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY

Parts = tuple[str, ...]


@dataclass(frozen=True)
class Found:
    """A file or link met on a walk; `parts` lead to it from the root."""

    parts: Parts
    mode: int
    size: int
    is_hard_link: bool = False  # one that may not be followed

    @property
    def path(self) -> str:
        return display_path("/".join(self.parts))


class Workspace:
    """The folder `root` during one call of a tool. Each failure is a ToolFailed of one sentence."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.links = HardLinks(root)

    def locate(self, path: str) -> Parts:
        """The parts of the real path below the root; it need not exist."""
        if path.startswith("/"):
            raise ToolFailed(
                f"Paths are relative to the workspace: {display_path(path)} begins with /."
            )
        try:
            root = self.root.resolve(strict=True)
            return (root / path).resolve().relative_to(root).parts
        except (ValueError, RuntimeError, OSError):  # outside, NUL, half characters, a loop
            raise ToolFailed(f"{display_path(path)} is not a path inside the workspace.") from None

    def read(self, path: str, largest: int) -> bytes:
        parts = self.locate(path)
        with self.parent(parts, path) as parent, failing(path):
            return self.read_at(parent, parts[-1], largest, path)

    def write(self, path: str, content: bytes) -> bool:
        """Replace or make a file in one step, with its folders; true if it is new."""
        parts = self.locate(path)
        with self.parent(parts, path, make=True) as parent, failing(path):
            return self.write_at(parent, parts[-1], content, path)

    def is_folder(self, path: str) -> bool:
        parts = self.locate(path)
        if not parts:
            return True
        with self.parent(parts, path) as parent, failing(path):
            return stat.S_ISDIR(os.stat(parts[-1], dir_fd=parent, follow_symlinks=False).st_mode)

    def walk(self, path: str) -> Iterator[Found]:
        """All files and links at or below a path, by name; links are not followed."""
        parts = self.locate(path)
        with self.folder(parts, path) as start, failing(path):
            for below, folders, files, here in os.fwalk(".", dir_fd=start):
                within = parts + Path(below).parts
                depth = len(within) - len(parts)
                links = [name for name in folders if is_link(name, here)]
                folders[:] = sorted(set(folders) - IGNORED - set(links)) if depth < DEEPEST else []
                for name in sorted(files + links):
                    yield from self.look((*within, name), here)

    @contextmanager
    def parent(self, parts: Parts, path: str, make: bool = False) -> Iterator[int]:
        """The folder that holds what `parts` lead to, opened."""
        if not parts:
            raise ToolFailed("The workspace itself is a folder; name a file in it.")
        with self.folder(parts[:-1], path, make) as handle:
            yield handle

    @contextmanager
    def folder(self, parts: Parts, path: str, make: bool = False) -> Iterator[int]:
        with failing(path):
            handle = os.open(self.root.resolve(), FOLDER)
        try:
            for part in parts:
                with failing(path):
                    deeper = open_folder(part, handle, make)
                os.close(handle)
                handle = deeper
            yield handle
        finally:
            os.close(handle)

    def read_at(self, parent: int, name: str, largest: int, path: str) -> bytes:
        self.must_be_plain(os.stat(name, dir_fd=parent, follow_symlinks=False), path)
        handle = os.open(name, FILE, dir_fd=parent)
        with os.fdopen(handle, "rb") as file:
            now = os.fstat(handle)  # it may have been swapped since it was looked at
            self.must_be_plain(now, path)
            content = file.read(largest + 1) if now.st_size <= largest else b""
        if now.st_size > largest or len(content) > largest:
            raise ToolFailed(
                f"{display_path(path)} is too large: files up to {largest:,} bytes can be read."
            )
        return content

    def write_at(self, parent: int, name: str, content: bytes, path: str) -> bool:
        """A temporary file takes the old one's place, so a link or pipe is never opened."""
        mode = self.mode_of(parent, name, path)
        temporary = f".{secrets.token_hex(8)}.tmp"
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(temporary, flags, 0o600, dir_fd=parent)
        try:
            with os.fdopen(handle, "wb") as file:
                os.fchmod(handle, 0o666 & ~umask.persons() if mode is None else mode)
                file.write(content)
                file.flush()
                os.fsync(handle)
            os.replace(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
        except BaseException:
            os.unlink(temporary, dir_fd=parent)
            raise
        os.fsync(parent)
        return mode is None

    def mode_of(self, parent: int, name: str, path: str) -> int | None:
        """The permissions of a file that is about to be replaced; None if there is none yet."""
        try:
            found = os.stat(name, dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            return None
        self.must_be_plain(found, path)
        if not found.st_mode & stat.S_IWUSR:
            raise ToolFailed(f"{display_path(path)} is write-protected.")
        return stat.S_IMODE(found.st_mode)

    def must_be_plain(self, found: os.stat_result, path: str) -> None:
        if stat.S_ISDIR(found.st_mode):
            raise ToolFailed(f"{display_path(path)} is a folder, not a file.")
        if not stat.S_ISREG(found.st_mode):
            raise ToolFailed(f"{display_path(path)} is not an ordinary file.")
        if self.links.forbid(found):
            raise ToolFailed(
                f"{display_path(path)} is a hard link, which may lead out of the workspace."
            )

    def look(self, parts: Parts, parent: int) -> Iterator[Found]:
        """The file of that name, unless it has gone since."""
        try:
            found = os.stat(parts[-1], dir_fd=parent, follow_symlinks=False)
        except OSError:
            return
        is_hard = stat.S_ISREG(found.st_mode) and self.links.forbid(found)
        yield Found(parts, found.st_mode, found.st_size, is_hard)


def open_folder(name: str, parent: int, make: bool) -> int:
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=parent)
            os.chmod(name, 0o777 & ~umask.persons(), dir_fd=parent)
    return os.open(name, FOLDER, dir_fd=parent)


def is_link(name: str, parent: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except OSError:
        return True


@contextmanager
def failing(path: str) -> Iterator[None]:
    """Say what the system said, as one sentence about the path."""
    try:
        yield
    except OSError as error:
        reason = REASONS.get(error.errno or 0) or f"failed: {os.strerror(error.errno or 0)}"
        raise ToolFailed(f"{display_path(path)} {reason}.") from None


REASONS = {
    errno.ENOENT: "does not exist",
    errno.ENOTDIR: "does not exist, or a part of it is not a folder",
    errno.ELOOP: "leads through a link that cannot be followed",
    errno.EACCES: "may not be opened: permission denied",
    errno.ENAMETOOLONG: "is too long for a name",
    errno.EISDIR: "is a folder, not a file",
    errno.ENXIO: "is not an ordinary file",
}


def display_path(path: str) -> str:
    """A name as one line of text that any wire and database takes."""
    text = path if len(path) <= 300 else path[:299] + "…"
    text = text.encode(errors="replace").decode()
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text) or '""'


# A second name of a file (a hard link) may lie where a tool must not look.
#
# A file with several names is refused if the workspace lies in Planside's home, where only a
# command makes such links, or if one of the names does. In a folder of the person's own, such as a
# checkout or a package store, links among its files and to other places are their business.


class HardLinks:
    """What is known of such files during one call of a tool, whose folder is `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def forbid(self, found: os.stat_result) -> bool:
        if found.st_nlink < 2:
            return False
        return self.is_in_home or (found.st_dev, found.st_ino) in self.linked_in_home

    @cached_property
    def is_in_home(self) -> bool:
        return self.root.resolve().is_relative_to(home())

    @cached_property
    def linked_in_home(self) -> set[tuple[int, int]]:
        return {(found.st_dev, found.st_ino) for found in files_in(home()) if found.st_nlink > 1}


def home() -> Path:
    return Path(settings.PLANSIDE_HOME).resolve()


def files_in(folder: Path) -> Iterator[os.stat_result]:
    for _, _, names, handle in os.fwalk(folder):
        for name in names:
            try:
                yield os.stat(name, dir_fd=handle, follow_symlinks=False)
            except OSError:
                continue
