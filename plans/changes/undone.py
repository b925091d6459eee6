"""What undos have taken back of the changes of a subtask, a plan or a reply, read off the files.

The steps of an undo say what it put at each path. A change is taken back where the last undo left
its path as it was before the change, or earlier in the same plan, and nothing was recorded there
since. An undo that was undone put the change back, so it needs no rule of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, lru_cache
from pathlib import Path

from django.db.models import QuerySet

from agents.changes.authorship import Origin
from agents.changes.compare import Change, Version
from agents.changes.store import Store, StoreBroken
from agents.changes.undo_steps import Step, as_changes, read_steps, sides_of
from agents.models import Recording, Undo
from agents.statements import prepared
from agents.timestamps import timestamp
from plans.changes.held import composed_changes
from plans.changes.recorded import Changes, Document, changes_of, recordings_of, sums_document
from plans.models import Plan

HELD = 64  # undos whose files are held in memory


@dataclass(frozen=True)
class Restored:
    """What an undo left at a path, and when."""

    to: Version | None
    at: datetime


@dataclass(frozen=True)
class TakenBack:
    """`at` is when the last of it was, where nothing is left; `paths` are those that are as they
    were before."""

    at: datetime | None = None
    paths: frozenset[str] = frozenset()

    @property
    def names(self) -> list[str]:
        return sorted(self.paths)

    @property
    def is_part(self) -> bool:
        return self.at is None and bool(self.paths)


NOTHING = TakenBack()


@prepared
def undos_in(conversation: int) -> QuerySet[Undo]:
    rows = Undo.objects.filter(conversation=conversation, finished_at__isnull=False)
    return rows.order_by("pk")


def subject_of_turn(turn: int) -> str:
    """As `Undo.subject` names a reply."""
    return f"turn:{turn}"


def subject_of_plan(plan: int, key: str = "") -> str:
    """The same of a plan, or of the subtask with the key."""
    return f"subtask:{plan}/{key}" if key else f"plan:{plan}"


def summary(recordings: list[Recording], undone: TakenBack = NOTHING) -> Document | None:
    """For the snapshot, with what undos have taken back of it: None where no turn of it has
    recorded anything."""
    if not recordings:
        return None
    changes, at = changes_of(recordings), undone.at
    sums = {**sums_document(changes.sums), "up_to": changes.is_bound, "stopped": changes.stopped}
    return {**sums, "undone_at": timestamp(at), "partly_undone": undone.is_part}


def undos_about(plan: Plan) -> list[tuple[Undo, str]]:
    """What was taken back of the plan or its subtasks, and what was brought back, in their order;
    each with the subtask's key, empty for the plan."""
    subjects: dict[int, str] = {}
    found = []
    for row in undos_in.models(conversation=plan.conversation_id):
        subject = subjects.get(row.reverses_id or 0) or row.subject
        subjects[row.pk] = subject
        kind, _, about = subject.partition(":")
        number, _, key = about.partition("/")
        if kind in ("plan", "subtask") and number == str(plan.pk):
            found.append((row, key))
    return found


class UndoHistory:
    """The finished undos of a conversation, read once, when they are first asked for."""

    def __init__(self, conversation: int) -> None:
        self.conversation = conversation
        self.whole: dict[int, TakenBack] = {}  # by plan

    @cached_property
    def rows(self) -> list[Undo]:
        return undos_in.models(conversation=self.conversation)

    def of_turn(self, turn: int, recordings: list[Recording]) -> TakenBack:
        return self.taken_back(recordings, {subject_of_turn(turn)}, lambda: recordings)

    def of_plan(self, plan: int, recordings: list[Recording], key: str = "") -> TakenBack:
        """`recordings` are those of the subtask with the key, or without one of the plan."""
        if not recordings or not self.rows:
            return NOTHING
        if plan not in self.whole:
            every = recordings_of.models(plan=plan)
            subjects = {subject_of_plan(plan)}
            self.whole[plan] = self.taken_back(every, subjects, lambda: every)
        whole = self.whole[plan]
        if not key or (whole.at and whole.at > recordings[-1].began_at):
            return whole
        subjects = {subject_of_plan(plan), subject_of_plan(plan, key)}
        return self.taken_back(recordings, subjects, lambda: recordings_of.models(plan=plan))

    def taken_back(
        self,
        recordings: list[Recording],
        subjects: Collection[str],
        of_all: Callable[[], list[Recording]],
    ) -> TakenBack:
        """`subjects` are what an undo of all of it is of; `of_all` reads the recordings among which
        these stand, in their order."""
        if not recordings or not self.rows:
            return NOTHING
        changes = changes_of(recordings)
        if len(changes.kept) < len(changes.ended):
            return self.by_rows(changes, subjects)
        sides = [(path, old, new) for path, old, new, _ in sides_of(changes.files)]
        restored = self.restored(changes.root, subjects, sides)
        if not restored:
            return NOTHING
        written, (earlier, tips) = writes(changes), versions_around(of_all(), changes)
        gone: dict[str, datetime | None] = {}
        for path, old, new in sides:
            last, tip = restored.get(path), tips.get(path, new)
            if last and any(last.at <= each.began_at for each in written.get(path, ())):
                last = None
            state = last.to if last else tip
            if state != new and state in {old, *earlier.get(path, ())}:
                gone[path] = last.at if last and last.to != tip else None
        moments = [at for at in gone.values() if at]
        unknown = any(stays_unknown(each) for each in changes.files)
        is_whole = bool(moments) and not unknown and all(path in gone for path, _, _ in sides)
        paths = frozenset(gone) if moments else frozenset[str]()
        return TakenBack(max(moments) if is_whole else None, paths)

    def to_undo(self, changes: Changes) -> list[Change]:
        """What taking all of it back has to look at: what earlier undos have left is no change of
        somebody else, and may be there again though in the end the turns left nothing there."""
        if not self.rows:
            return changes.files
        sides = [(path, old, new) for path, old, new, _ in sides_of(changes.files)]
        written = writes(changes)
        left = {
            path: each.to
            for path, each in self.restored(changes.root, (), sides).items()
            if path in written and each.at > written[path][-1].began_at
        }
        found = []
        for change in changes.files:
            if any(left.get(path, new) != new for path, _, new in change.sides):
                for path, old, new in change.sides:
                    found += one_path(path, old, left.get(path, new), change.origin)
            else:
                found.append(change)
        first, known = first_versions(changes), {path for path, _, _ in sides}
        for path in sorted(left.keys() - known):
            found += one_path(path, first[path], left[path], Origin.OWN)
        return found

    def restored(
        self,
        root: str,
        subjects: Collection[str],
        sides: list[tuple[str, Version | None, Version | None]],
    ) -> dict[str, Restored]:
        """By path, what the last undo there has left. One that left nothing of all of it found the
        files that it had no need to touch as they had been."""
        found: dict[str, Restored] = {}
        for row in self.rows:
            if row.root != root:
                continue
            if row.whole and row.subject in subjects:
                found |= {path: Restored(old, row.created_at) for path, old, _ in sides}
            for path, to in versions_left(row).items():
                found[path] = Restored(to, row.created_at)
        return found

    def by_rows(self, changes: Changes, subjects: Collection[str]) -> TakenBack:
        """Where files are not kept any more: an undo of all of it that was not undone itself."""
        last = changes.recordings[-1].began_at
        rows = (row for row in self.rows if row.whole and row.subject in subjects)
        standing = [row.created_at for row in rows if row.created_at > last and self.stands(row)]
        return TakenBack(max(standing, default=None))

    def stands(self, row: Undo) -> bool:
        return not any(self.stands(each) for each in self.rows if each.reverses_id == row.pk)


def stays_unknown(change: Change) -> bool:
    """Whether no undo can put it back: it was never recorded."""
    return change.kind == "not_recorded" and change.origin != Origin.OUTSIDE


def versions_left(row: Undo) -> dict[str, Version | None]:
    """By path, what an undo has put there; nothing where that is not kept any more."""
    try:
        left = held_versions(row.root, row.steps)
    except (StoreBroken, ValueError):
        return {}
    return {path: to for path, to in left.items() if path not in row.kept}


@lru_cache(maxsize=HELD)
def held_versions(root: str, steps: str) -> dict[str, Version | None]:
    """What is stored under a digest never changes. Raises StoreBroken, ValueError."""
    with Store.of(Path(root)) as store:
        return {step.path: step.to for step in read_steps(store, steps)}


def writes(changes: Changes) -> dict[str, list[Recording]]:
    """By path, the recordings in which something happened there."""
    found: dict[str, list[Recording]] = {}
    for recording in changes.kept:
        for change in composed_changes(changes.root, (recording.changes,)):
            for path, *_ in sides_of([change]):
                found.setdefault(path, []).append(recording)
    return found


def versions_around(
    recordings: list[Recording], changes: Changes
) -> tuple[dict[str, set[Version | None]], dict[str, Version | None]]:
    """By path, what was there before each of the recordings up to the first of `changes` that wrote
    there; and what the last of them has left."""
    written = writes(changes)
    before: dict[str, set[Version | None]] = {}
    after: dict[str, Version | None] = {}
    for recording in changes_of(recordings).kept:
        for path, old, new, _ in sides_of(composed_changes(changes.root, (recording.changes,))):
            after[path] = new
            if path in written and recording.pk <= written[path][0].pk:
                before.setdefault(path, set()).add(old)
    return before, after


def first_versions(changes: Changes) -> dict[str, Version | None]:
    """By path, what was there before any of it."""
    found: dict[str, Version | None] = {}
    for recording in changes.kept:
        for path, old, _, _ in sides_of(composed_changes(changes.root, (recording.changes,))):
            found.setdefault(path, old)
    return found


def one_path(path: str, old: Version | None, new: Version | None, origin: str) -> list[Change]:
    """The change of one path, or none where both sides are the same."""
    step = Step(path, old, new)
    return [replace(each, origin=origin) for each in as_changes([step]) if old != new]
