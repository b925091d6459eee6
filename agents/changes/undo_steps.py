"""Carrying an undo out, step by step, so that no kill hurts.

Each step says what it expects to find and what it leaves. Carried out twice it does nothing the
second time; where something else is found, the file stays.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from itertools import takewhile
from pathlib import Path

from pydantic import TypeAdapter

from agents import umask
from agents.changes.compare import Change, Version, kind_of
from agents.changes.scan import LARGEST, content_of
from agents.changes.store import BLOB, Store, StoreBroken, oid_of
from agents.errors import DiskFull, Forbidden, Refused
from agents.tools.base import ToolFailed
from agents.tools.confinement import (
    NEW_FILE,
    NO_ROOM,
    FileName,
    exchange,
    move,
    opened_folder,
    status_in,
)
from agents.tools.paths import path_bytes
from agents.workspace import trash
from agents.workspace.files import AgentFiles

NOT_PERMITTED = (errno.EROFS, errno.EPERM, errno.EACCES)


class Stayed(StrEnum):
    """Why an undo left a file as it was."""

    CHANGED = "changed"
    UNSURE = "unsure"
    FULL = "full"
    FORBIDDEN = "forbidden"
    NOT_KEPT = "not_kept"
    BLOCKED = "blocked"  # something else stands in its place, or on its way
    FAILED = "failed"  # the disk did


@dataclass(frozen=True)
class Step:
    """`folders` above the file, each with its mode: those that are not there and have to be made;
    or, where the file is removed, those that came with it. `others` are the paths between which it
    was moved: all of them are done, or none."""

    path: str
    expect: Version | None
    to: Version | None
    folders: list[tuple[str, int]] = field(default_factory=list)
    others: tuple[str, ...] = ()

    @property
    def back(self) -> Step:
        return replace(self, expect=self.to, to=self.expect)


def joined(paths: Sequence[str], sets: Iterable[Collection[str]]) -> list[set[int]]:
    """By the number of a path the group that it is in, the same object for all: those of one of the
    sets are in one."""
    numbers = {path: number for number, path in enumerate(paths)}
    groups = [{number} for number in range(len(paths))]
    for each in sets:
        found = [groups[numbers[path]] for path in each if path in numbers]
        largest = max(found, key=len, default=set())
        for group in found:
            if group is not largest:
                largest |= group
                for member in group:
                    groups[member] = largest
    return groups


def in_the_way(root: Path, path: str) -> str:
    """What stands where a folder above a file should be, or the folder that stands in its place;
    empty for nothing."""
    for folder in folders_above(path):
        if not stat.S_ISDIR(mode := mode_at(root, folder)):
            return folder if mode else ""
    return path if stat.S_ISDIR(mode_at(root, path)) else ""


def folders_above(path: str) -> Iterator[str]:
    """The outermost first."""
    return (path[:i] for i, sign in enumerate(path) if sign == "/")


def mode_at(root: Path, path: str) -> int:
    """Type and permissions of what is there, 0 for nothing; links on the way are followed."""
    with suppress(OSError):
        return (root / os.fsdecode(path_bytes(path))).lstat().st_mode
    return 0


def found(root: Path, path: str, store: Store | None = None) -> tuple[Version | None, int]:
    """What file or link is at a path now, and when it was changed; its content goes into the store.

    What cannot be stored, as it is too large, closed to us or a pipe, is known by its path and
    inode: each name of a hard link comes back. Raises OSError or ToolFailed where its folder cannot
    be read.
    """
    version, changed_at, content = NOTHING
    with trash.nothing_if_gone(), parent_of(root, path) as (folder, name):
        version, changed_at, content = version_in(folder, name, path)
    if store and version and version.is_stored:
        store.add_blob(content)
    return version, changed_at


def version_at(root: Path, path: str) -> Version | None:
    """The same without its time, and nothing for what cannot be read."""
    with suppress(OSError, ValueError, ToolFailed):
        return found(root, path)[0]
    return None


NOTHING = (None, 0, b"")


def version_in(handle: int, name: FileName, path: str) -> tuple[Version | None, int, bytes]:
    """The same of a name in a folder that is open, with its content if that can be stored."""
    with suppress(FileNotFoundError):
        status = status_in(handle, name)
        if stat.S_ISDIR(status.st_mode):
            return NOTHING
        mode, changed_at = status.st_mode, status.st_ctime_ns
        try:
            content = content_of(os.fsencode(name), handle, mode, LARGEST)
        except FileNotFoundError:
            raise
        except (OSError, ValueError):
            known = f"{path} {status.st_ino} {status.st_size} {status.st_mtime_ns}"
            key = hashlib.sha256(known.encode()).hexdigest()[:16]
            return Version(mode, key, status.st_size), changed_at, b""
        return Version(mode, oid_of(BLOB, content).hex(), len(content)), changed_at, content
    return NOTHING


@contextmanager
def parent_of(root: Path, path: str, *, make: bool = False) -> Iterator[tuple[int, FileName]]:
    """The folder that holds what is at a path, opened, and its name in there."""
    folder, _, name = path.rpartition("/")
    with opened(root, folder, make=make) as handle:
        yield handle, FileName(os.fsdecode(path_bytes(name)))


@contextmanager
def opened(root: Path, folder: str, *, make: bool = False) -> Iterator[int]:
    """A folder below the root, through no link. Raises OSError where it, or a part of the way, is
    not there or no folder, and ToolFailed for a path that would lead elsewhere."""
    if root.resolve() != root or not root.is_dir():
        raise ToolFailed("The folder is gone, or a link is in its place.")
    parts = tuple(os.fsdecode(path_bytes(folder)).split("/")) if folder else ()
    with opened_folder(root, parts, 0o777 & ~umask.persons() if make else None) as handle:
        yield handle


STEPS = TypeAdapter(list[Step])


def store_steps(store: Store, steps: list[Step]) -> str:
    """The name under which they can be read."""
    return store.add_blob(STEPS.dump_json(steps)).hex()


def read_steps(store: Store, oid: str) -> list[Step]:
    """Raises StoreBroken."""
    return store.read_as(STEPS, oid)


def as_changes(steps: Iterable[Step]) -> list[Change]:
    """What carrying them out has changed, to be taken back in its turn."""
    return [
        Change(each.path, kind_of(each.expect, each.to), each.expect, each.to, others=each.others)
        for each in steps
    ]


def carry_out(
    root: Path, store: Store, steps: Iterable[Step], name: str, files: Callable[[], AgentFiles]
) -> dict[str, str]:
    """All steps, of which some may have been done before; gives the paths of files that stayed,
    each with why, as a `Stayed`. `name` is one of this undo alone; `files` those of the agent, for
    what goes into the trash or comes from it."""
    steps, kept = list(steps), dict[str, str]()

    def carried(number: int, *, back: bool = False) -> str:
        """Empty where it was, else why not."""
        step = steps[number].back if back else steps[number]
        why = Stayed.CHANGED
        try:
            if done(root, store, step, Beside.of(name, number, back=back), files):
                return ""
        except (OSError, ValueError, ToolFailed, StoreBroken, Refused) as error:
            why = why_stayed(error)
        is_blocked = why == Stayed.CHANGED and step.to and in_the_way(root, step.path)
        return str(Stayed.BLOCKED if is_blocked else why)

    clear_leftovers(root, steps, name)
    # What was moved; and where one path is above another, the one comes only where the other goes.
    sets = [(step.path, *step.others, *folders_above(step.path)) for step in steps]
    groups, staying = joined([step.path for step in steps], sets), dict[int, int]()
    for number, step in enumerate(steps):
        if number not in staying and (why := carried(number)):
            kept[step.path] = why
            staying |= dict.fromkeys(groups[number], number)
    for first in sorted(set(staying.values())):
        for number in sorted(groups[first], reverse=True):  # some may be done, now or before a kill
            path, to = steps[number].path, steps[number].to
            is_back = path in kept or not carried(number, back=True)
            if is_back or version_at(root, path) != to:
                kept.setdefault(path, kept[steps[first].path])
        for chain in lost_by(root, {number: steps[number] for number in sorted(groups[first])}):
            for number in takewhile(lambda each: not carried(each), chain):
                kept.pop(steps[number].path, None)
    return kept


def clear_leftovers(root: Path, steps: Iterable[Step], name: str) -> None:
    """Of a try that was killed, beside each file, also of what will stay now."""
    for number, step in enumerate(steps):
        with suppress(OSError, ToolFailed), parent_of(root, step.path) as (folder, file):
            after_a_kill(folder, file, step, Beside.of(name, number))
            after_a_kill(folder, file, step.back, Beside.of(name, number, back=True))


def lost_by(root: Path, group: Mapping[int, Step]) -> Iterator[list[int]]:
    """What brings back a content that was moved and is at none of its places, as somebody has saved
    another file at the one that an earlier try had emptied: each time the steps, in their order, of
    which each takes its place from the one before."""
    now = {number: version_at(root, step.path) for number, step in group.items()}
    steps = group.values()
    moved = contents(each.expect for each in steps) & contents(each.to for each in steps)
    for lost in sorted(moved - contents(now.values())):
        chain, oids = list[int](), {lost}
        while more := [n for n in group if n not in chain and contents([group[n].to]) & oids]:
            chain += more
            oids |= contents(group[number].expect for number in more) & moved
        if all(now[number] == group[number].expect for number in chain):
            yield chain[::-1]


def contents(versions: Iterable[Version | None]) -> set[str]:
    """Of which it can be told that one of two places has what the other had."""
    return {each.oid for each in versions if each and each.size}


def why_stayed(error: Exception) -> Stayed:
    code = error.errno if isinstance(error, OSError) else None
    if code in NO_ROOM or isinstance(error, DiskFull):
        return Stayed.FULL
    if code in NOT_PERMITTED or isinstance(error, Forbidden):
        return Stayed.FORBIDDEN
    if code == errno.EIO:
        return Stayed.FAILED
    return Stayed.NOT_KEPT if isinstance(error, StoreBroken) else Stayed.CHANGED


@dataclass(frozen=True)
class Beside:
    """Names beside a file that changes: of the new one while it is written, which may be half of
    one after a kill, and of what it changes places with, which is whole."""

    written: FileName
    swapped: FileName

    @classmethod
    def of(cls, name: str, number: int, *, back: bool = False) -> Beside:
        words = f"{name} {number}{' back' if back else ''}"
        start = f".{hashlib.sha256(words.encode()).hexdigest()[:16]}"
        return cls(FileName(f"{start}.tmp"), FileName(f"{start}.part"))


def done(
    root: Path, store: Store, step: Step, beside: Beside, files: Callable[[], AgentFiles]
) -> bool:
    """Whether the file is as it is to be, by this or an earlier try."""
    content = store.read(step.to.entry.oid) if step.to and step.to.is_stored else b""
    now, _ = found(root, step.path)
    if now == step.to:
        tidy(root, step)
        return True
    if not all(side.is_stored for side in (step.expect, step.to) if side):
        return is_exchanged(root, step, now, beside, files(), content)
    if now != step.expect:
        return False
    if step.to is None:
        return is_removed(root, step, beside)
    return write(root, step, beside, content)


def after_a_kill(handle: int, name: FileName, step: Step, beside: Beside) -> None:
    """What stood there before another try is back at its place, if it was not what was expected."""
    with suppress(FileNotFoundError):
        os.unlink(beside.written, dir_fd=handle)
    swapped, *_ = version_in(handle, beside.swapped, step.path)
    if swapped is None:
        return
    now, *_ = version_in(handle, name, step.path)
    if now is None and swapped != step.to:
        os.rename(beside.swapped, name, src_dir_fd=handle, dst_dir_fd=handle)
        return
    is_known = swapped in (step.expect, step.to)
    # Where two have saved one since neither is thrown away.
    if is_known or (now == step.to and exchange(handle, beside.swapped, handle, name)):
        os.unlink(beside.swapped, dir_fd=handle)


def is_exchanged(
    root: Path,
    step: Step,
    now: Version | None,
    beside: Beside,
    files: AgentFiles,
    content: bytes,
) -> bool:
    """Whether what cannot be stored went into the trash for what was there before, or came back."""
    if files.root.resolve() != root:
        return False
    path = os.fsdecode(path_bytes(step.path))
    if step.to and not step.to.is_stored:
        if now not in (None, step.expect) or not trash.holds(step.to.oid):
            return False
        bring = partial(trash.restore, files, step.to.oid)
        return is_removed(root, step, beside, bring) if now else bool(bring())
    assert step.expect is not None, "one of both sides is not stored"
    if now is not None:
        if now != step.expect:
            return False
        trash.delete(files, path, step.expect.oid)
    elif not trash.holds(step.expect.oid):
        return False
    try:
        if step.to:
            write(root, replace(step, expect=None), beside, content)
    except BaseException:
        trash.restore(files, step.expect.oid)
        raise
    tidy(root, step)
    return True


def is_removed(
    root: Path, step: Step, beside: Beside, bring: Callable[[], object] | None = None
) -> bool:
    """Whether it is gone, and `bring` has brought another one. False where somebody has saved one
    at this moment: that is at its place again, as it is after an error."""
    with parent_of(root, step.path) as (handle, name):
        os.rename(name, beside.swapped, src_dir_fd=handle, dst_dir_fd=handle)
        was, *_ = version_in(handle, beside.swapped, step.path)
        if was != step.expect:
            move(handle, beside.swapped, handle, name)
            return False
        try:
            if bring:
                bring()
        except BaseException:
            move(handle, beside.swapped, handle, name)
            raise
        os.unlink(beside.swapped, dir_fd=handle)
        os.fsync(handle)
    tidy(root, step)
    return True


def write(root: Path, step: Step, beside: Beside, content: bytes) -> bool:
    """Put the file there, and the folders that it lay in; whether it is there."""
    assert step.to is not None, "it is removed"
    made = [each for each, _ in step.folders if not stat.S_ISDIR(mode_at(root, each))]
    is_there = False
    try:
        with parent_of(root, step.path, make=True) as (handle, name):
            is_there = put(handle, name, beside, step, content)
    finally:
        if not is_there:
            remove_empty(root, made)
    for folder, mode in step.folders:
        if folder in made:
            with suppress(OSError, ToolFailed), opened(root, folder) as handle:
                os.fchmod(handle, stat.S_IMODE(mode))
    return is_there


def put(handle: int, name: FileName, beside: Beside, step: Step, content: bytes) -> bool:
    """A file or link, whole or not at all; False where something else was there at that moment,
    which is there again."""
    to = step.to
    assert to is not None, "it is removed"
    try:
        if to.is_link:
            os.symlink(content, beside.written, dir_fd=handle)
        else:
            file = os.open(beside.written, NEW_FILE, 0o600, dir_fd=handle)
            with os.fdopen(file, "wb") as opened_file:
                opened_file.write(content)
                opened_file.flush()
                os.fchmod(file, stat.S_IMODE(to.mode))
                os.fsync(file)
        os.rename(beside.written, beside.swapped, src_dir_fd=handle, dst_dir_fd=handle)
        is_there = takes_its_place(handle, name, beside.swapped, step)
    except OSError:  # a folder stands there, the disk is full
        with suppress(OSError):  # what has changed places by then may be somebody's only copy
            after_a_kill(handle, name, step, beside)
        raise
    os.fsync(handle)
    return is_there


def takes_its_place(handle: int, name: FileName, new: FileName, step: Step) -> bool:
    """Whether the new file is there: it changes places with what is expected, and back with what
    somebody has saved at this moment."""
    if step.expect is None:
        try:
            move(handle, new, handle, name)
        except FileExistsError:
            os.unlink(new, dir_fd=handle)
            return False
        return True
    if not exchange(handle, new, handle, name):
        now, *_ = version_in(handle, name, step.path)  # as near as such a disk comes to it
        if now == step.expect:
            os.replace(new, name, src_dir_fd=handle, dst_dir_fd=handle)
        else:
            os.unlink(new, dir_fd=handle)
        return now == step.expect
    was, *_ = version_in(handle, new, step.path)
    is_expected = was == step.expect
    if is_expected or exchange(handle, new, handle, name):
        os.unlink(new, dir_fd=handle)
    return is_expected


def tidy(root: Path, step: Step) -> None:
    """Folders that came with a file go with it, if nothing else is in them."""
    if step.to is None:
        remove_empty(root, [folder for folder, _ in step.folders])


def remove_empty(root: Path, folders: Sequence[str]) -> None:
    """The innermost, which is the last, first."""
    for folder in reversed(folders):
        with suppress(OSError, ToolFailed), parent_of(root, folder) as (above, name):
            os.rmdir(name, dir_fd=above)
