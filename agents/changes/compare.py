"""What is another between two recordings of a folder, file by file."""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from pydantic import TypeAdapter

from agents.changes.authorship import Evidence, Origin, moment_of
from agents.changes.ignore import NO_RULES, RULES
from agents.changes.scan import Skipped, Snapshot
from agents.changes.store import Entry, Oid, Store
from agents.text.diff import Alignment, file_lines, text_of_file
from agents.tools.paths import path_text

Kind = Literal["added", "modified", "deleted", "renamed", "not_recorded"]

MOST_COUNTED = 20_000_000  # bytes of text in which lines are counted, of one recording
MOST_LINES = 400_000  # of both sides that are counted, of one recording
MOST_COMPARED = 60  # files on either side that are compared for a rename
LARGEST_COMPARED = 200_000  # bytes of such a file
MOST_PAIRED = 200_000_000  # bytes of all pairs that are compared
LEAST_SHARED = 0.6  # of the lines of a file that was renamed and edited


@dataclass(frozen=True)
class Version:
    """One side of a change: mode, object and bytes."""

    mode: int
    oid: str  # 40 hex digits; 16 of what cannot be stored, and lies in the trash under that key
    size: int

    @property
    def is_stored(self) -> bool:
        return len(self.oid) == 40

    @property
    def entry(self) -> Entry:
        return Entry(self.mode, bytes.fromhex(self.oid))

    @property
    def is_link(self) -> bool:
        return stat.S_ISLNK(self.mode)


Side = tuple[str, Version | None, Version | None]


@dataclass(frozen=True)
class Change:
    """What became of one file. `was` is its earlier path, if it was renamed.

    `added` and `removed` are lines, None where it is not text, or too much of it. Of one
    that is "not_recorded" a side is missing, for the reason `why`. `at` is when it was changed
    last, as ISO 8601, nothing where it is not known.
    """

    path: str
    kind: Kind
    old: Version | None = None
    new: Version | None = None
    origin: str = Origin.OWN
    was: str = ""
    why: str = ""
    added: int | None = None
    removed: int | None = None
    at: str = ""
    is_binary: bool = False
    others: tuple[str, ...] = ()  # paths that go back with it or not at all

    @property
    def is_own(self) -> bool:
        return self.origin == Origin.OWN and self.kind != "not_recorded"

    @property
    def is_unknown(self) -> bool:
        """Whether it is not known what was there before."""
        return self.kind == "not_recorded" and self.old is None

    @property
    def sides(self) -> list[Side]:
        """Each path with what it was and what it became; a file that was renamed has two."""
        if not self.was:
            return [(self.path, self.old, self.new)]
        return [(self.was, self.old, None), (self.path, None, self.new)]


@dataclass(frozen=True)
class Sums:
    """Files and lines that a turn changed itself, and how many files others did; `unsure` are those
    of both, too. Files that could not be recorded count."""

    files: int = 0
    added: int = 0
    removed: int = 0
    outside: int = 0
    unsure: int = 0


def sums_of(changes: Iterable[Change]) -> Sums:
    changes = list(changes)
    own = [each for each in changes if each.origin == Origin.OWN]
    origins = Counter(each.origin for each in changes)
    added, removed = sum(c.added or 0 for c in own), sum(c.removed or 0 for c in own)
    unsure = origins[Origin.UNSURE] + origins[Origin.BOTH]
    return Sums(len(own), added, removed, origins[Origin.OUTSIDE], unsure)


def changes_between(
    store: Store,
    before: Oid,
    skipped: Mapping[bytes, Skipped],
    now: Snapshot,
    evidence: Evidence,
) -> list[Change]:
    """From one tree to what a later recording found. `skipped` was not recorded before."""
    pairs = dict(differing(store, before, now.tree))
    unknown, reported = {*skipped, *now.skipped}, set[bytes]()
    has_rules = any(path.rpartition(b"/")[2] == RULES for path in pairs)
    rules = old_rules(store, before) if has_rules else None
    found = []
    for path, (old, new) in pairs.items():
        sides = version(store, old), version(store, new)
        hidden = within(path, unknown)
        if hidden is None:
            there = now.identity(path)
            was_there = there and evidence.was_there(path, there[1], now)
            if old is None and (was_there or (rules and rules(path))):
                continue  # git left it out before
            found.append(change(path, kind_of(*sides), evidence, now, sides=sides))
        elif hidden not in reported:
            reported.add(hidden)
            known = sides if hidden == path else (None, None)
            why = (now.skipped.get(hidden) or skipped[hidden]).reason
            found.append(change(hidden, "not_recorded", evidence, now, why, known))
    for path in sorted(unknown - reported):
        was, left = skipped.get(path), now.skipped.get(path)
        if (was and (was.size, was.at)) == (left and (left.size, left.at)):
            continue
        is_same = was and left and not was.at and was.size == left.size
        if left and (is_same or evidence.was_there(path, left.at, now)):
            continue  # it is as it was; of recordings made long ago no time is known
        why = (left or skipped[path]).reason
        found.append(change(path, "not_recorded", evidence, now, why))
    return sorted(counted(store, with_renames(store, found)), key=lambda each: each.path)


def change(
    path: bytes,
    kind: Kind,
    evidence: Evidence,
    now: Snapshot,
    why: str = "",
    sides: tuple[Version | None, Version | None] = (None, None),
) -> Change:
    """One change with whose it is, and when it was made."""
    there = now.identity(path)
    at = there[1] if there else moment_of(path, now, evidence.began)
    origin = evidence.origin(path, now)
    return Change(path_text(path), kind, *sides, origin=origin, why=why, at=iso(at))


def kind_of(old: Version | None, new: Version | None) -> Kind:
    return "added" if old is None else "deleted" if new is None else "modified"


def within(path: bytes, unknown: Collection[bytes]) -> bytes | None:
    """The path, or a folder above it, if that was not recorded: what is in there is not known."""
    while unknown and path:
        if path in unknown:
            return path
        path = path.rpartition(b"/")[0]
    return None


def iso(moment: int) -> str:
    return datetime.fromtimestamp(moment / 1e9, UTC).isoformat() if moment else ""


def version(store: Store, entry: Entry | None) -> Version | None:
    return entry and Version(entry.mode, entry.oid.hex(), len(store.read(entry.oid)))


def differing(
    store: Store, old: Oid, new: Oid, inside: bytes = b""
) -> Iterator[tuple[bytes, tuple[Entry | None, Entry | None]]]:
    """The files of two trees that are not the same, each with both sides."""
    if old == new:
        return
    before, after = store.tree(old), store.tree(new)
    for name in sorted(before.keys() | after.keys()):
        one, other = before.get(name), after.get(name)
        if one == other:
            continue
        path = inside + name
        folders = [each.oid if each and each.is_folder else b"" for each in (one, other)]
        if any(folders):
            yield from differing(store, folders[0], folders[1], path + b"/")
        files = [None if each is None or each.is_folder else each for each in (one, other)]
        if any(files):
            yield path, (files[0], files[1])


def old_rules(store: Store, tree: Oid) -> Callable[[bytes], bool]:
    """Whether the `.gitignore` files of a tree leave a path out."""

    def rules_leave_out(path: bytes) -> bool:
        rules, inside, parts = NO_RULES, tree, tuple(path.split(b"/"))
        for depth in range(len(parts)):
            entries = store.tree(inside)
            file = entries.get(RULES)
            if file and stat.S_ISREG(file.mode):
                rules = rules.with_file(store.read(file.oid), depth)
            is_folder = depth < len(parts) - 1
            if rules.leave_out(parts[: depth + 1], is_folder):
                return True
            entry = entries.get(parts[depth])
            inside = entry.oid if entry and entry.is_folder else b""
        return False

    return rules_leave_out


# Renames


def with_renames(store: Store, changes: list[Change]) -> list[Change]:
    """A file that went and one that came, by the same hand and with the same lines, are one."""
    gone = [each for each in changes if each.kind == "deleted"]
    came = [each for each in changes if each.kind == "added"]
    paired: dict[str, Change] = {}
    by_content: dict[tuple[str, str], list[Change]] = {}
    for old in reversed(gone):
        if old.old and old.old.size:
            by_content.setdefault((old.origin, old.old.oid), []).append(old)
    for new in came:
        oid = new.new.oid if new.new else ""
        if same := by_content.get((new.origin, oid)):
            paired[same.pop().path] = new
    few = max(len(gone), len(came)) <= MOST_COMPARED and bytes_of_pairs(gone, came) <= MOST_PAIRED
    for new in came if few else ():
        rest = [old for old in gone if old.origin == new.origin and old.path not in paired]
        if new not in paired.values() and (source := most_alike(store, rest, new)):
            paired[source.path] = new
    of_new = {paired[old.path].path: old for old in gone if old.path in paired}
    return [
        replace(each, kind="renamed", was=of_new[each.path].path, old=of_new[each.path].old)
        if each.path in of_new
        else each
        for each in changes
        if each.path not in paired
    ]


def bytes_of_pairs(gone: list[Change], came: list[Change]) -> int:
    old, new = (
        [side.size for side in sides if side and side.size <= LARGEST_COMPARED]
        for sides in ([each.old for each in gone], [each.new for each in came])
    )
    return sum(old) * len(new) + sum(new) * len(old)


def most_alike(store: Store, gone: list[Change], new: Change) -> Change | None:
    shares = {old.path: alike(store, old.old, new.new) for old in gone}
    best = max(gone, key=lambda old: shares[old.path], default=None)
    return best if best and shares[best.path] >= LEAST_SHARED else None


def alike(store: Store, old: Version | None, new: Version | None) -> float:
    """How much of the larger one is in both, by lines."""
    if not old or not new or old.is_link or new.is_link:
        return 0
    if not 0 < max(old.size, new.size) <= LARGEST_COMPARED:
        return 0
    one, other = (Counter(store.read(each.entry.oid).splitlines()) for each in (old, new))
    lines = max(one.total(), other.total())
    return (one & other).total() / lines


# Lines


def counted(store: Store, changes: list[Change]) -> Iterator[Change]:
    """Each with the lines that were added and removed, as far as that is done at once."""
    left, lines_left = MOST_COUNTED, MOST_LINES
    for each in changes:
        sides = (each.old, each.new)
        if each.kind == "not_recorded" or any(side and side.is_link for side in sides):
            yield each
            continue
        left -= sum(side.size for side in sides if side)
        if left < 0:
            yield each
            continue
        before, after = (text_of(store, side) for side in sides)
        if before is None or after is None:
            yield replace(each, is_binary=True)
            continue
        if before and after:
            lines_left -= before.count("\n") + after.count("\n")
        if lines_left < 0:
            yield each
        else:
            added, removed = Alignment(file_lines(before), file_lines(after)).counts
            yield replace(each, added=added, removed=removed)


def text_of(store: Store, side: Version | None) -> str | None:
    """What a side says; None where it is no text. A file that is not there says nothing."""
    return text_of_file(store.read(side.entry.oid)) if side else ""


# As they are kept

CHANGES = TypeAdapter(list[Change])


def store_changes(store: Store, changes: list[Change]) -> str:
    """The name under which they can be read."""
    return store.add_blob(CHANGES.dump_json(changes)).hex()


def read_changes(store: Store, oid: str) -> list[Change]:
    """Raises StoreBroken."""
    return store.read_as(CHANGES, oid)
