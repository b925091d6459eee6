"""The changes of several recordings of one folder, one after the other, as one list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from agents.changes.authorship import Origin
from agents.changes.compare import Change, Kind, Version, counted, kind_of
from agents.changes.store import Store, StoreBroken

Key = tuple[str, bool]  # a path, and whether it was changed by others


@dataclass
class Course:
    """What became of one path, from the first change of it to the last."""

    old: Version | None
    new: Version | None
    origin: str
    known: set[Version | None]  # what it was before and after each of the changes
    changes: list[Change] = field(default_factory=list)

    @property
    def is_known(self) -> bool:
        return self.changes[-1].kind != "not_recorded"

    @property
    def kind(self) -> Kind:
        return kind_of(self.old, self.new) if self.is_known else "not_recorded"

    def go_on(self, change: Change, old: Version | None, new: Version | None) -> None:
        """Others wrote in between if it is what none of these left or found."""
        self.origin = together(self.origin, change.origin)
        if old not in self.known:
            self.origin = together(self.origin, Origin.OUTSIDE)
        self.new, self.known = new, {*self.known, old, new}
        self.changes.append(change)


def together(one: str, other: str) -> str:
    """Whose it is where both of these are known of a file."""
    if one == other:
        return one
    return Origin.UNSURE if Origin.UNSURE in (one, other) else Origin.BOTH


def composed(store: Store, lists: Iterable[list[Change]]) -> list[Change]:
    """From before the first to after the last, the turns' own and others' apart.

    A file that is as it was is left out. What others wrote between two of ours is in the lines of
    the whole, so that is of both.
    """
    courses: dict[Key, Course] = {}
    sources: dict[Key, str] = {}  # what a path was, if it was renamed
    for changes in lists:
        for each in changes:
            add(courses, sources, each)
    renamed = dict(renames(courses, sources))
    gone = {(was, is_outside) for (_, is_outside), was in renamed.items()}
    found, again = [], []
    for key, course in sorted(courses.items(), key=lambda item: item[0]):
        if key in gone or (course.is_known and course.old == course.new):
            continue
        was = renamed.get(key, "")
        source = courses[was, key[1]] if was else course
        if [each.path for each in course.changes] == [key[0]] and (
            source.changes == course.changes and was == course.changes[0].was
        ):
            found.append(course.changes[0])
        else:
            again.append(len(found))
            found.append(whole(key[0], course, was, source))
    try:
        recounted = list(counted(store, [found[place] for place in again]))
    except StoreBroken:
        return found
    for place, each in zip(again, recounted, strict=True):
        found[place] = each
    return found


def add(courses: dict[Key, Course], sources: dict[Key, str], change: Change) -> None:
    is_outside = change.origin == Origin.OUTSIDE
    key = (change.path, is_outside)
    if change.kind == "not_recorded":
        before = courses.get(key)
        old = before.old if before and before.is_known else change.old
        courses[key] = Course(old, None, change.origin, set(), [replace(change, old=old)])
        return
    earliest = sources.pop((change.was, is_outside), change.was)
    for path, old, new in change.sides:
        at = (path, is_outside)
        if new is None:
            sources.pop(at, None)
        if at in courses and courses[at].is_known:
            courses[at].go_on(change, old, new)
        else:
            courses[at] = Course(old, new, change.origin, {old, new}, [change])
    if change.was:
        sources[key] = earliest


def renames(courses: dict[Key, Course], sources: dict[Key, str]) -> Iterator[tuple[Key, str]]:
    """Where nothing has taken the place of the one, and nothing had been in that of the other."""
    taken = set()
    for key, was in sources.items():
        source = (was, key[1])
        is_free = source not in taken and courses[source].kind == "deleted"
        if is_free and courses[key].kind == "added":
            taken.add(source)
            yield key, was


def whole(path: str, course: Course, was: str, source: Course) -> Change:
    """One change out of several."""
    return replace(
        course.changes[-1],
        path=path,
        kind="renamed" if was else course.kind,
        old=source.old,
        new=course.new,
        origin=together(course.origin, source.origin),
        was=was,
        added=None,
        removed=None,
        is_binary=False,
    )
