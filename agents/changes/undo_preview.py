"""What taking changes back would do to each file, and the steps that it takes.

What was moved goes back at all of its paths or at none; what others wrote goes only with a word.
"""

from __future__ import annotations

import os
import stat
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from agents.changes.authorship import Origin
from agents.changes.compare import Change, Side, Version, iso
from agents.changes.store import Oid, Store
from agents.changes.undo_steps import (
    Stayed,
    Step,
    folders_above,
    found,
    in_the_way,
    joined,
    mode_at,
    version_at,
)
from agents.tools.base import ToolFailed
from agents.tools.paths import path_bytes, path_text
from agents.workspace import trash


class Fate(StrEnum):
    """What becomes of a file when it is taken back."""

    BACK = "goes_back"
    REMOVED = "removed"
    COMES_BACK = "comes_back"
    CHANGED = "changed_since"  # restored only if it is named
    UNSURE = "unsure"  # the same: more than one wrote it
    LOST = "not_kept"  # what it was, or what it is now, is not kept; or something is in the way


NEED_WORD = {Fate.CHANGED: Stayed.CHANGED, Fate.UNSURE: Stayed.UNSURE}
LOST = {  # else what it was is not kept
    "no_way": Stayed.BLOCKED,
    "folder_there": Stayed.BLOCKED,
    "unreadable": Stayed.FORBIDDEN,
}


@dataclass(frozen=True)
class Row:
    """One file of a preview: what is there `now`, and what it goes back to."""

    path: str
    fate: Fate
    now: Version | None
    to: Version | None
    changed_at: int = 0  # nanoseconds, of what was changed since
    # Of one that stays: not_recorded, unreadable, folder_there, no_way, moved; of what comes back
    # only where another goes that needs a word: in_the_way
    why: str = ""
    others: tuple[str, ...] = ()  # that go back with it or not at all: it was moved between them

    @property
    def together(self) -> set[str]:
        return {self.path, *self.others}

    @property
    def needs_word(self) -> bool:
        return self.fate in NEED_WORD

    @property
    def stayed(self) -> Stayed:
        """Why it stays, or would without a word."""
        return NEED_WORD.get(self.fate) or LOST.get(self.why, Stayed.NOT_KEPT)


def preview(root: Path, store: Store, changes: Iterable[Change]) -> list[Row]:
    """What taking these back would do; files that are as they were already are left out.

    The caller holds the lock: what would be overwritten goes into the store.
    """
    changes = list(changes)
    rows = [
        Row(each.path, Fate.LOST, None, None, why="not_recorded")
        for each in changes
        if each.is_unknown and each.origin != Origin.OUTSIDE
    ]
    for path, old, new, change in sides_of(changes):
        try:
            now, at = found(root, path, store)
        except (OSError, ValueError, ToolFailed):
            rows.append(Row(path, Fate.LOST, None, old, why="unreadable"))
            continue
        if now == old:
            continue
        is_as_left = now == new or (change.kind == "not_recorded" and iso(at) == change.at)
        fate = fate_of(old, now, change.origin) if is_as_left else Fate.CHANGED
        if old and not is_kept(store, old):
            fate = Fate.LOST
        rows.append(Row(path, fate, now, old, at))
    before: list[Row] = []
    while rows != before:  # what stays may be in the way of another
        before = rows
        going = {row.path for row in rows if row.to is None and row.fate != Fate.LOST}
        rows = closed_under_moves([possible(root, row, going) for row in rows], changes)
    rows = closed_under_moves(asked_where_lost(root, rows, changes), changes)
    going = {row.path for row in rows if row.fate == Fate.REMOVED}  # without a word
    is_sure = [row.fate != Fate.COMES_BACK or possible(root, row, going) == row for row in rows]
    return [
        row if sure else replace(row, why="in_the_way")
        for row, sure in zip(rows, is_sure, strict=True)
    ]


def is_kept(store: Store, version: Version) -> bool:
    return store.holds(version.entry.oid) if version.is_stored else trash.holds(version.oid)


def asked_where_lost(root: Path, rows: list[Row], changes: list[Change]) -> list[Row]:
    """The rows, of which those need a word that would take from the folder what was in it before
    the changes: where others moved it first, or have another file at its old place now."""
    sides = [side for each in changes for side in each.sides]
    before = {old.oid for _, old, _ in sides if old and old.size}
    left = [row.now if row.fate == Fate.LOST else row.to for row in rows]
    leaving = {row.now.oid for row in rows if row.now and row.fate != Fate.LOST}
    lost = (leaving & before) - {each.oid for each in left if each}
    touched = {row.path for row in rows}
    for path, *versions in sides if lost else ():
        if path not in touched and any(each and each.oid in lost for each in versions):
            now = version_at(root, path)
            lost -= {now.oid} if now else set()
    # What was not recorded, and is gone from its path, may be any that cannot be stored.
    is_any = any(each.is_unknown and not mode_at(root, each.path) for each in changes)
    return [
        replace(row, fate=Fate.UNSURE, why="moved")
        if row.now
        and row.fate in (Fate.BACK, Fate.REMOVED)
        and (row.now.oid in lost or (is_any and not row.now.is_stored))
        else row
        for row in rows
    ]


def closed_under_moves(rows: list[Row], changes: Iterable[Change]) -> list[Row]:
    """What was moved from one path to another goes back at both, or at neither. So does a content
    that would leave one path and come back to another."""
    leaving, coming = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    paths = [row.path for row in rows]
    sides = [(row.path, row.to, row.now) for row in rows]
    known = set(paths)
    sides += [side for each in changes for side in each.sides if side[0] in known]
    for path, old, new in sides:
        for side, places in ((new, leaving), (old, coming)):
            if side and side.size:
                places[side.oid].add(path)
    moved = [{each.was, each.path, *each.others} for each in changes]
    moved += [leaving[oid] | coming[oid] for oid in leaving.keys() & coming.keys()]
    return [
        with_others(row, [rows[other] for other in sorted(group - {number})])
        for number, (row, group) in enumerate(zip(rows, joined(paths, moved), strict=True))
    ]


def with_others(row: Row, others: list[Row]) -> Row:
    """It stays where one of them stays, and needs a word where one of them does."""
    if not others:
        return row
    fate, why = row.fate, row.why
    if fate != Fate.LOST and any(each.fate == Fate.LOST for each in others):
        fate, why = Fate.LOST, "moved"
    elif fate != Fate.LOST and not row.needs_word:
        asks = next((each.fate for each in others if each.needs_word), None)
        fate, why = (asks, "moved") if asks else (fate, why)
    return replace(row, fate=fate, why=why, others=tuple(each.path for each in others))


def possible(root: Path, row: Row, going: Collection[str]) -> Row:
    """The row, or that it stays where something stands in its place or on its way which the undo,
    by what is `going`, does not take away itself."""
    if row.now is not None or row.to is None or row.fate == Fate.LOST:
        return row
    way = in_the_way(root, row.path)
    if not way or way in going:
        return row
    if way != row.path:
        return replace(row, fate=Fate.LOST, why="no_way")
    if not is_emptied(root, way, going):
        return replace(row, fate=Fate.LOST, why="folder_there")
    return row


def is_emptied(root: Path, path: str, going: Collection[str]) -> bool:
    """Whether nothing is left in a folder once those files are gone. A folder that held none before
    stays."""
    for inside, folders, names in os.walk(os.fsencode(root) + b"/" + path_bytes(path)):
        below = os.path.relpath(inside, os.fsencode(root))
        if not names and not folders:
            return False
        links = [each for each in folders if Path(os.fsdecode(inside + b"/" + each)).is_symlink()]
        if any(path_text(below + b"/" + name) not in going for name in (*names, *links)):
            return False
    return True


def fate_of(old: Version | None, now: Version | None, origin: str) -> Fate:
    """Of a file that is as the changes left it."""
    if origin in (Origin.UNSURE, Origin.BOTH):
        return Fate.UNSURE
    if old is None:
        return Fate.REMOVED
    return Fate.COMES_BACK if now is None else Fate.BACK


def sides_of(changes: Iterable[Change]) -> Iterator[tuple[*Side, Change]]:
    """Of what is not others'; what was there before is known of each."""
    for each in changes:
        if not each.is_unknown and each.origin != Origin.OUTSIDE:
            for side in each.sides:
                yield *side, each


FolderMode = Callable[[str], int | None]  # None where there is no such folder


def steps_for(
    root: Path, rows: Iterable[Row], wanted: Callable[[Row], bool], mode_before: FolderMode
) -> list[Step]:
    """What is to be done, removals first."""
    chosen = [row for row in rows if row.fate != Fate.LOST and wanted(row)]
    steps = []
    for row in sorted(chosen, key=lambda row: (row.to is not None, row.path)):
        folders, is_there = [], True
        for folder in folders_above(row.path):
            before, now = mode_before(folder), mode_at(root, folder)
            is_there = is_there and stat.S_ISDIR(now)
            if row.to is None and before is None and is_there:
                folders.append((folder, now))
            elif row.to is not None and before is not None and not is_there:
                folders.append((folder, before))
        steps.append(Step(row.path, row.now, row.to, folders, row.others))
    return steps


def modes_in_tree(store: Store, tree: Oid) -> FolderMode:
    def mode_of(folder: str) -> int | None:
        entry = store.find(tree, path_bytes(folder)) if tree else None
        return entry.mode if entry and entry.is_folder else None

    return mode_of


def modes_before(steps: Iterable[Step]) -> FolderMode:
    """Those of folders before the steps were carried out: what they made was not there."""
    removed = {folder: mode for step in steps if step.to is None for folder, mode in step.folders}
    made = {folder for step in steps if step.to for folder, _ in step.folders}

    def mode_of(folder: str) -> int | None:
        return None if folder in made else removed.get(folder, stat.S_IFDIR | 0o755)

    return mode_of
