"""What a person deletes or replaces in a workspace lies in a trash for a day, and can come back.

It is moved there in one step: into the home, or where the workspace is on another disk into a
hidden folder of its own. A row is written before, so what the end of a process cuts off is
finished or taken back by `sweep`. What is replaced and what replaces it change places in one step,
so whoever else does the same at that moment, in another process too, replaces the one or the other.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from agents.errors import Conflict, Invalid, NotFound
from agents.models import Trashed
from agents.stored_text import gettext
from agents.tools.base import ToolFailed
from agents.tools.confinement import (
    DELETED,
    FOLDER,
    NEW_FILE,
    TRASH,
    FileName,
    NameTaken,
    Workspace,
    exchange,
    move,
    move_to_free,
    opened_folder,
    status_in,
    translated_errors,
)
from agents.tools.files import editing
from agents.workspace.attachments import CUT_OFF, bounded
from agents.workspace.edits import noted
from agents.workspace.files import AgentFiles, IfTaken, clean_name, refusals

RESTORABLE = timedelta(days=1)
MOST_ERASED = 20  # at a time
ITEM = FileName("item")
IGNORES_ALL = FileName(".gitignore")
GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)  # it, or what it lay in, is something else now


def delete(files: AgentFiles, path: str, key: str = "") -> Trashed:
    """Take a file, link or folder out of the workspace, to come back by a key of its own, or this.

    Raises Conflict on a mount in it.
    """
    files.check_writable()
    with (
        refusals(path),
        editing(files),
        noted(files, path),
        files.parent_of(path, follow=False) as (folder, name),
    ):
        status_in(folder, name)
        whole = "/".join(files.entry_parts(path))
        with settled(new_row(files, whole, key, was_replaced=False)) as row:
            put_away(row, lambda trash: os.rename(name, ITEM, src_dir_fd=folder, dst_dir_fd=trash))
        os.fsync(folder)
    return row


def store(
    files: AgentFiles, folder: str, name: str, pieces: Iterable[bytes], if_taken: IfTaken = "refuse"
) -> tuple[str, Trashed | None]:
    """Take in a file, whole or not at all; its path, and what it replaced.

    Raises Conflict where the name is taken.
    """
    files.check_writable()
    wanted = clean_name(name)
    if not wanted:
        raise Invalid(gettext("Give it a name."))
    path = f"{folder}/{wanted}".removeprefix("/")

    rows = list[Trashed]()

    def replace(parent: int, new: FileName, name: FileName) -> None:
        row = new_row(files, "/".join(files.entry_parts(path)))
        with editing(files), settled(row):
            put_away(row, partial(exchange_by_way_of, parent, new, name))
        rows.append(row)

    with refusals(path), noted(files, path) as changed:
        clean = FileName(wanted)
        if if_taken == "refuse" and files.is_there(path):
            raise NameTaken(clean)
        way = replace if if_taken == "replace" else None
        only = if_taken == "refuse"
        stored = files.add(folder or ".", clean, bounded(pieces), only=only, replace=way)
        changed.append(f"{folder}/{stored}".removeprefix("/"))
    return f"{folder}/{stored}".removeprefix("/"), rows[0] if rows else None


def exchange_by_way_of(folder: int, new: FileName, name: FileName, trash: int) -> None:
    """The new file goes into the trash, where it changes places with the one that is there."""
    os.rename(new, ITEM, src_dir_fd=folder, dst_dir_fd=trash)
    try:
        if exchange(trash, ITEM, folder, name):
            return
    except OSError:
        os.rename(ITEM, new, src_dir_fd=trash, dst_dir_fd=folder)
        raise
    os.rename(ITEM, new, src_dir_fd=trash, dst_dir_fd=folder)
    os.rename(name, ITEM, src_dir_fd=folder, dst_dir_fd=trash)
    move(folder, new, folder, name)


def restore(files: AgentFiles, key: str) -> tuple[str, Trashed | None]:
    """Bring back what was deleted or replaced; its path, and what it replaces now.

    What was replaced takes its place again from an ordinary file. All else, and from all else,
    comes by another name where its own is taken.
    """
    row = found(files, key)
    path, other = row.path, None
    *above, last = path.split("/")
    name = FileName(last)
    with (
        refusals(path),
        editing(files),
        noted(files, path) as changed,
        files.folder(tuple(above), path, make=True) as folder,
        translated_errors(path),
        settled(row),
        opened(row) as trash,
    ):
        if row.was_replaced and may_give_way(files, folder, name):
            other = new_row(files, path)
            exchange_with(row, other, trash, folder, name)
        else:
            name = move_to_free(trash, ITEM, folder, name)
            changed.append("/".join((*above, name)))
        os.fsync(folder)
    return "/".join((*above, name)), other


def may_give_way(files: Workspace, folder: int, name: FileName) -> bool:
    with suppress(ToolFailed, OSError):
        status = status_in(folder, name)
        files.check_plain(status, name)
        return bool(status.st_mode & stat.S_IWUSR)
    return False


def exchange_with(row: Trashed, other: Trashed, trash: int, folder: int, name: FileName) -> None:
    """What lies there and what is in the trash change places, and it gets a key of its own."""
    if not exchange(trash, ITEM, folder, name):
        with settled(other):
            put_away(other, lambda to: os.rename(name, ITEM, src_dir_fd=folder, dst_dir_fd=to))
            move(trash, ITEM, folder, name)
        return
    other.is_beside = row.is_beside
    root, above = trash_of(row)
    with settled(other), opened_folder(root, above) as all_keys:
        os.rename(row.key, other.key, src_dir_fd=all_keys, dst_dir_fd=all_keys)


def sweep() -> None:
    """Finish what was cut off, and erase what was deleted a day ago, some at a time.

    It may be a hundred thousand files, so nobody waits for it.
    """
    now, erased = timezone.now(), 0
    for row in Trashed.objects.filter(state=Trashed.State.MOVING, at__lt=now - CUT_OFF):
        with suppress(OSError), editing(Workspace(Path(row.root))):
            if not is_away(row):
                settle(row)
    for row in Trashed.objects.filter(at__lt=now - RESTORABLE).order_by("at"):
        with suppress(OSError):  # another user's: those behind it go all the same
            if not is_away(row):
                discard(row)
                erased += 1
        if erased == MOST_ERASED:
            return
    home, late = Path(settings.PLANSIDE_HOME), (now - RESTORABLE).timestamp()
    for each in home.glob(f"{DELETED}/*/*"):  # a database that was restored knows nothing of some
        with suppress(OSError), opened_folder(home, (DELETED, each.parent.name)) as trash:
            is_old = status_in(trash, each.name).st_mtime < late
            if is_old and not Trashed.objects.filter(key=each.name).exists():
                remove(trash, each.name)


# Rows, and where each lies


def holds(key: str) -> bool:
    """Whether it can come back."""
    row = Trashed.objects.filter(key=key, at__gt=timezone.now() - RESTORABLE).first()
    with suppress(OSError):
        return row is not None and is_there(row)
    return False


def new_row(files: AgentFiles, path: str, key: str = "", *, was_replaced: bool = True) -> Trashed:
    return Trashed(
        key=key or secrets.token_hex(8),
        agent=files.agent,
        person_id=files.person,
        root=str(files.root),
        path=path,
        was_replaced=was_replaced,
    )


def found(files: AgentFiles, key: str) -> Trashed:
    """What this person may bring back into the workspace as it is now."""
    files.check_writable()
    rows = Trashed.objects.filter(agent=files.agent, person=files.person)
    row = rows.filter(key=key[:16], at__gt=timezone.now() - RESTORABLE).first()
    gone = NotFound(gettext("It was deleted more than a day ago, or is back already."))
    if row is None:
        raise gone
    with refusals(row.path), translated_errors(row.path):
        if is_away(row):
            raise Conflict(gettext("The disk that it was deleted on is not mounted now."))
        if not is_there(row):
            raise gone
    if row.root != str(files.root):
        raise Conflict(gettext("The agent works in another folder now."))
    return row


@contextmanager
def settled(row: Trashed) -> Iterator[Trashed]:
    """The row says that something is on its way before it is, and what came of it afterwards."""
    mark(row, Trashed.State.MOVING)
    try:
        yield row
    finally:
        settle(row)


def settle(row: Trashed) -> None:
    """Make the row say what is there: kept, or nothing, and then it goes."""
    if row.was_replaced:
        put_back_if_free(row)
    if not is_there(row):
        return discard(row)
    return mark(row, Trashed.State.KEPT)


def mark(row: Trashed, state: Trashed.State) -> None:
    """Also if it is new, but not if somebody else has deleted it meanwhile."""
    row.state = state
    if row._state.adding:
        row.save()
    else:
        Trashed.objects.filter(pk=row.pk).update(state=state)


def put_back_if_free(row: Trashed) -> None:
    """Of a disk where files cannot change places: what has left its, into which nothing came."""
    *above, name = row.path.split("/")
    with (
        suppress(OSError),
        opened(row) as trash,
        opened_folder(Path(row.root), tuple(above)) as folder,
    ):
        move(trash, ITEM, folder, FileName(name))


def is_there(row: Trashed) -> bool:
    with nothing_if_gone(), opened(row) as trash:
        return bool(status_in(trash, ITEM))
    return False


def is_away(row: Trashed) -> bool:
    """Whether it is on a disk that is not mounted now: the workspace is gone, or empty."""
    with nothing_if_gone():
        return row.is_beside and not any(Path(row.root).iterdir())
    return True


@contextmanager
def nothing_if_gone() -> Iterator[None]:
    """Any other error, such as a lack of permission, does not say that it is gone."""
    try:
        yield
    except OSError as error:
        if error.errno not in GONE:
            raise


def discard(row: Trashed) -> None:
    """Erase it for good, and its row."""
    erase(row)
    row.delete()


# On the disk


def lies_elsewhere(workspace: str) -> bool:
    """Whether a workspace is on another disk than the home, and so has a trash of its own."""
    with suppress(OSError):
        root = Path(workspace).expanduser()
        return root.stat().st_dev != Path(settings.PLANSIDE_HOME).stat().st_dev
    return False


def trash_of(row: Trashed) -> tuple[Path, tuple[str, ...]]:
    """A folder, and below it the way to the trash that it lies in."""
    if row.is_beside:
        return Path(row.root), (TRASH,)
    return Path(settings.PLANSIDE_HOME), (DELETED, row.agent)


@contextmanager
def opened(row: Trashed, *, make: bool = False) -> Iterator[int]:
    """The folder in the trash that has it alone."""
    root, above = trash_of(row)
    mode = 0o700 if make else None
    if make and row.is_beside:
        with opened_folder(root, above, mode) as trash, suppress(FileExistsError):
            ignored = os.open(IGNORES_ALL, NEW_FILE, 0o600, dir_fd=trash)
            with os.fdopen(ignored, "w") as file:
                file.write("*\n")
    with opened_folder(root, (*above, row.key), mode) as folder:
        yield folder


def put_away(row: Trashed, act: Callable[[int], None]) -> None:
    """Have something moved, by `act(trash)`, into the trash that is on its disk."""
    try:
        with opened(row, make=True) as trash:
            act(trash)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        erase(row)
        row.is_beside = True
        row.save()
        with opened(row, make=True) as trash:
            act(trash)


def erase(row: Trashed) -> None:
    root, above = trash_of(row)
    with nothing_if_gone(), opened_folder(root, above) as trash:
        remove(trash, row.key)
        with os.scandir(trash) as found:
            is_empty = row.is_beside and [each.name for each in found] == [IGNORES_ALL]
        if is_empty:
            os.unlink(IGNORES_ALL, dir_fd=trash)
            with opened_folder(root, ()) as workspace:
                os.rmdir(TRASH, dir_fd=workspace)


def remove(above: int, name: str) -> None:
    """A folder with all that is in it, whatever its modes.

    Folders are brought up to the outermost one before they are gone through: as a tree they may be
    deeper than calls or handles go, which Python's rmtree needs for each level.
    """
    with emptied(above, name) as (outermost, left):
        while left:
            with emptied(outermost, left.pop()) as (inside, folders):
                for each in folders:
                    os.chmod(each, 0o700, dir_fd=inside)
                    brought = secrets.token_hex(16)
                    os.rename(each, brought, src_dir_fd=inside, dst_dir_fd=outermost)
                    left.append(brought)


@contextmanager
def emptied(above: int, name: str) -> Iterator[tuple[int, list[str]]]:
    """A folder without its files, opened, and the folders in it; removed after the block.

    Raises OSError for another disk that is mounted there.
    """
    if status_in(above, name).st_dev != os.fstat(above).st_dev:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), name)
    os.chmod(name, 0o700, dir_fd=above)
    folder = os.open(name, FOLDER, dir_fd=above)
    try:
        with os.scandir(folder) as found:
            entries = [(each.name, each.is_dir(follow_symlinks=False)) for each in found]
        for inner, is_folder in entries:
            if not is_folder:
                os.unlink(inner, dir_fd=folder)
        yield folder, [inner for inner, is_folder in entries if is_folder]
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=above)
