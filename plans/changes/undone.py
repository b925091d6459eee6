"""What undos have taken back of the changes of a subtask, a plan or a reply, read off the files.

The steps of an undo say what it put at each path. A change is taken back where the last undo left
its path as it was before the change, or earlier in the same plan, and nothing was recorded there
since. An undo that was undone put the change back, so it needs no rule of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, lru_cache
from pathlib import Path

from django.db.models import Max, Q, QuerySet

from agents.changes.authorship import Origin
from agents.changes.compare import Change, Version
from agents.changes.store import Store, StoreBroken
from agents.changes.undo_preview import sides_of
from agents.changes.undo_steps import Step, as_changes, read_steps
from agents.models import Recording, Undo
from agents.statements import one_of, prepared
from agents.timestamps import Moment, timestamp
from plans.changes.held import composed_changes
from plans.changes.recorded import ChangeCounts, Changes, changes_of, recordings_of, sums_document
from plans.models import Plan

HELD = 64  # undos whose files are held in memory


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
def undos_in(conversations: list[int]) -> QuerySet[Undo]:
    rows = Undo.objects.filter(one_of("conversation", conversations), finished_at__isnull=False)
    return rows.order_by("pk")


@prepared
def last_written(plans: list[int]) -> QuerySet[Recording, tuple[int, datetime]]:
    """When the last attempt that changed files began, by subtask."""
    rows = Recording.objects.filter(one_of("turn__attempt__subtask__plan", plans))
    rows = rows.filter(Q(files__gt=0) | Q(unsure__gt=0)).order_by()
    begun = rows.values("turn__attempt__subtask").annotate(last=Max("began_at"))
    return begun.values_list("turn__attempt__subtask", "last")


def subject_of_turn(turn: int) -> str:
    """As `Undo.subject` names a reply."""
    return f"turn:{turn}"


def subject_of_plan(plan: int, key: str = "") -> str:
    """The same of a plan, or of the subtask with the key."""
    return f"subtask:{plan}/{key}" if key else f"plan:{plan}"


class ChangedSnapshot(ChangeCounts):
    """Files and lines that the attempts changed themselves; `outside` and `unsure` count files that
    others changed meanwhile, and those of which it cannot be told. With `up_to` it may be less: not
    all is kept, and a file that several attempts changed counts for each. `stopped` says why
    nothing is known, `undone_at` when an undo left none of them, `partly_undone` whether it took
    some back."""

    stopped: str
    undone_at: Moment | None
    partly_undone: bool

    @property
    def is_left(self) -> bool:
        """Whether files were changed, and not taken back since."""
        return bool(self.files and not self.undone_at)


def summary(recordings: list[Recording], undone: TakenBack = NOTHING) -> ChangedSnapshot | None:
    """For the snapshot, with what undos have taken back of it: None where no turn of it has
    recorded anything."""
    if not recordings:
        return None
    changes = changes_of(recordings)
    return ChangedSnapshot.model_construct(
        **sums_document(changes.sums),
        up_to=changes.is_bound,
        stopped=changes.stopped,
        undone_at=timestamp(undone.at),
        partly_undone=undone.is_part,
    )


def undos_about(plan: Plan) -> list[tuple[Undo, str]]:
    """What was taken back of the plan or its subtasks, and what was brought back, in their order;
    each with the subtask's key, empty for the plan."""
    return by_plan([plan.conversation_id])[str(plan.pk)]


def by_plan(conversations: list[int]) -> dict[str, list[tuple[Undo, str]]]:
    """The same of all plans in these conversations, by number."""
    subjects: dict[int, str] = {}
    found = defaultdict(list)
    for row in undos_in.models(conversations=conversations):
        subject = subjects.get(row.reverses_id or 0) or row.subject
        subjects[row.pk] = subject
        kind, _, about = subject.partition(":")
        number, _, key = about.partition("/")
        if kind in ("plan", "subtask"):
            found[number].append((row, key))
    return found


def undone_subtasks(subtasks: Mapping[int, tuple[int, int, str]]) -> dict[int, Undo]:
    """Those of which an undo has taken back all that they changed, by id, with the undo; each is
    given with its conversation, plan and key.

    The rows say so where each undo took all or brought back all; of others the files are asked.
    """
    about = by_plan([*{each[0] for each in subtasks.values()}]) if subtasks else {}
    plans = [plan for plan in {plan for _, plan, _ in subtasks.values()} if str(plan) in about]
    wrote = dict(last_written.rows(plans=plans)) if plans else {}
    takes_back = taking_back(row for rows in about.values() for row, _ in rows)
    found: dict[int, Undo] = {}
    for pk in wrote.keys() & subtasks.keys():
        conversation, plan, key = subtasks[pk]
        rows = [row for row, of in about[str(plan)] if of in ("", key)]
        rows = [row for row in rows if row.created_at > wrote[pk]]
        last = next((row for row in reversed(rows) if takes_back[row.pk]), None)
        is_gone = last is not None and last == rows[-1]
        if not all(row.whole for row in rows):
            recordings = [*Recording.objects.filter(turn__attempt__subtask=pk).order_by("turn")]
            is_gone = bool(UndoHistory(conversation).of_plan(plan, recordings, key).at)
        if last is not None and is_gone:
            found[pk] = last
    return found


def taking_back(rows: Iterable[Undo]) -> dict[int, bool]:
    """Of undos in their order, by number: whether it takes back, or brings back what one has."""
    found: dict[int, bool] = {}
    for row in rows:
        found[row.pk] = not found.get(row.reverses_id or 0, False)
    return found


def undo_that_stands(plan: Plan) -> Undo | None:
    """The last undo of the plan as a whole, if it was not undone."""
    rows = [row for row, key in undos_about(plan) if not key]
    return rows[-1] if rows and taking_back(rows)[rows[-1].pk] else None


class UndoHistory:
    """The finished undos of a conversation, read once, when they are first asked for."""

    def __init__(self, conversation: int) -> None:
        self.conversation = conversation
        self.plans: dict[int, tuple[list[Recording], TakenBack]] = {}

    @cached_property
    def rows(self) -> list[Undo]:
        return undos_in.models(conversations=[self.conversation])

    def of_turn(self, turn: int, recordings: list[Recording]) -> TakenBack:
        return self.taken_back(recordings, {subject_of_turn(turn)}, recordings)

    def of_plan(self, plan: int, recordings: list[Recording], key: str = "") -> TakenBack:
        """`recordings` are those of the subtask with the key, or without one of the plan."""
        if not recordings or not self.rows:
            return NOTHING
        if plan not in self.plans:
            every = recordings_of.models(plan=plan)
            self.plans[plan] = every, self.taken_back(every, {subject_of_plan(plan)}, every)
        every, whole = self.plans[plan]
        if not key or (whole.at and whole.at > recordings[-1].began_at):
            return whole
        return self.taken_back(
            recordings, {subject_of_plan(plan), subject_of_plan(plan, key)}, every
        )

    def taken_back(
        self, recordings: list[Recording], subjects: Collection[str], every: list[Recording]
    ) -> TakenBack:
        """`subjects` are what an undo of all of it is of; `every` are the recordings among which
        these stand, in their order."""
        changes = changes_of(recordings)
        if not any(row.root == changes.root for row in self.rows):
            return NOTHING
        if len(changes.kept) < len(changes.ended):
            return self.by_rows(changes, subjects)
        histories, sides = self.histories(changes, every, subjects), [*sides_of(changes.files)]
        gone = {path for path, old, new, _ in sides if histories[path].is_back(old, new)}
        moments = [at for path in gone if (at := histories[path].undone_at)]
        if not moments:
            return NOTHING
        # What was never recorded no undo can put back.
        unknown = (e.is_unknown and e.origin != Origin.OUTSIDE for e in changes.files)
        is_part = any(unknown) or any(path not in gone for path, *_ in sides)
        return TakenBack(None if is_part else max(moments), frozenset(gone))

    def to_undo(self, changes: Changes) -> list[Change]:
        """What taking all of it back has to look at: what earlier undos have left is no change of
        somebody else, and may be there again though in the end the turns left nothing there."""
        if not self.rows:
            return changes.files
        histories = self.histories(changes, changes.recordings)
        left = {path: each.left for path, each in histories.items() if each.is_known}
        found = []
        for change in changes.files:
            if any(left.get(path, new) != new for path, _, new in change.sides):
                for path, old, new in change.sides:
                    found += one_path(path, old, left.get(path, new), change.origin)
            else:
                found.append(change)
        known = {path for path, *_ in sides_of(changes.files)}
        for path in sorted(left.keys() - known):
            found += one_path(path, histories[path].before[-1], left[path], Origin.OWN)
        return found

    def histories(
        self, changes: Changes, every: list[Recording], subjects: Collection[str] = ()
    ) -> dict[str, PathHistory]:
        """By path, what recordings and then undos have made of it. An undo that left nothing of
        all of it found the files that it had no need to touch as they had been."""
        found: dict[str, PathHistory] = defaultdict(PathHistory)
        root, own = changes.root, {each.pk for each in changes.kept}
        for each in Changes(root, [row for row in every if row.root == root]).kept:
            began_at = each.began_at if each.pk in own else None
            for path, old, new, _ in sides_of(composed_changes(root, (each.changes,))):
                found[path].go_on(old, new, began_at)
        for row in self.rows if found else ():
            if row.root == root:
                whole = changes.files if row.whole and row.subject in subjects else []
                then = {path: old for path, old, _, _ in sides_of(whole)}
                for path, to in {**then, **versions_left(row)}.items():
                    found[path].put_back(to, row.created_at)
        return found

    def by_rows(self, changes: Changes, subjects: Collection[str]) -> TakenBack:
        """Where files are not kept any more: an undo of all of it that was not undone itself."""
        last = changes.recordings[-1].began_at
        rows = (row for row in self.rows if row.whole and row.subject in subjects)
        standing = [row.created_at for row in rows if row.created_at > last and self.stands(row)]
        return TakenBack(max(standing, default=None))

    def stands(self, row: Undo) -> bool:
        return not any(self.stands(each) for each in self.rows if each.reverses_id == row.pk)


@dataclass
class PathHistory:
    """What became of one path: `before` each recording up to the first that is asked about, what
    all `made` of it, when the last of those that are `wrote` there, at the `tip` of all, and what
    was `left` when by the last undo since, if there was one."""

    before: list[Version | None] = field(default_factory=list)
    made: list[Version | None] = field(default_factory=list)
    wrote: datetime | None = None
    tip: Version | None = None
    left: Version | None = None
    undone: datetime | None = None

    def go_on(self, old: Version | None, new: Version | None, asked_at: datetime | None) -> None:
        if self.wrote is None:
            self.before.append(old)
        if asked_at:
            self.wrote = max(self.wrote or asked_at, asked_at)
        self.tip = new
        self.made.append(new)

    def put_back(self, to: Version | None, at: datetime) -> None:
        if self.wrote and at > self.wrote:
            self.left, self.undone = to, at

    def is_back(self, old: Version | None, new: Version | None) -> bool:
        """Whether a change of it is gone: it is as it was before that, or earlier."""
        now = self.left if self.undone else self.tip
        return now != new and now in {old, *self.before}

    @property
    def is_known(self) -> bool:
        """Whether the last undo left what the turns had made or found: where one brought back what
        somebody else had written since, that is theirs as before."""
        return self.undone is not None and self.left in (*self.made, *self.before)

    @property
    def undone_at(self) -> datetime | None:
        """When an undo has made another of it than the recordings."""
        return self.undone if self.left != self.tip else None


def versions_left(row: Undo) -> dict[str, Version | None]:
    """By path, what an undo has put there; nothing where that is not kept any more."""
    try:
        left = held_versions(row.root, row.steps)
    except StoreBroken:
        return {}
    return {path: to for path, to in left.items() if path not in row.kept}


@lru_cache(maxsize=HELD)
def held_versions(root: str, steps: str) -> dict[str, Version | None]:
    """What is stored under a digest never changes. Raises StoreBroken."""
    with Store.of(Path(root)) as store:
        return {step.path: step.to for step in read_steps(store, steps)}


def one_path(path: str, old: Version | None, new: Version | None, origin: str) -> list[Change]:
    """The change of one path, or none where both sides are the same."""
    step = Step(path, old, new)
    return [replace(each, origin=origin) for each in as_changes([step]) if old != new]
