"""What changed between two versions of a plan's text: what, where to, and which words."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TypedDict

from plans.alignment import longest_increasing
from plans.models import SUBTASK_TEXT
from plans.text_diff import TextRun, diff_words, replace

PLAN_FIELDS = {
    "title": "the title",
    "content": "the description",
    "expected_outcome": "the expected outcome",
}
# Characters of changed texts whose words are compared; further ones are shown as replaced.
MOST_CHARACTERS = 400_000

Subtask = Mapping[str, str]
Texts = Mapping[str, str]


class PlanText(TypedDict):
    """`PlanVersion.snapshot`."""

    title: str
    content: str
    expected_outcome: str
    subtasks: Sequence[Subtask]


class Change(StrEnum):
    SAME = "same"
    ADDED = "added"
    EDITED = "edited"
    MOVED = "moved"
    REMOVED = "removed"


SAID = {"added": "added", "edited": "reworded", "moved": "moved", "removed": "removed"}


@dataclass(frozen=True)
class Rewording:
    """A text that is another one now; the words are compared when somebody looks."""

    field: str
    old: str
    new: str
    is_compared: bool = True

    @cached_property
    def runs(self) -> tuple[TextRun, ...]:
        return diff_words(self.old, self.new) if self.is_compared else replace(self.old, self.new)


@dataclass(frozen=True)
class Row:
    """One subtask in both versions; `place` is where it stands, `was` where it stood, from 1.

    What came back under a new key with its old words is the same: `old_key` is what it was.
    """

    change: Change
    key: str
    old_key: str
    text: Subtask
    place: int | None
    was: int | None
    moved: bool
    fields: tuple[Rewording, ...]

    @property
    def name(self) -> str:
        return self.text["name"]

    @property
    def shift(self) -> int:
        """How many places further down it stands."""
        return (self.place or 0) - (self.was or 0)


@dataclass(frozen=True)
class PlanDiff:
    """`rows` are in the new order; what was removed stands where it stood."""

    fields: tuple[Rewording, ...]
    rows: tuple[Row, ...]

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many subtasks were added, reworded, moved and removed; each counts once."""
        found = Counter(row.change for row in self.rows)
        return {said: found[Change(change)] for change, said in SAID.items()}

    @property
    def changes(self) -> int:
        return len(self.fields) + sum(self.counts.values())

    @property
    def sentence(self) -> str:
        """2 changes: 1 added, 1 reworded."""
        if not self.changes:
            return "No changes"
        words = [PLAN_FIELDS[each.field] for each in self.fields]
        words += [f"{count} {said}" for said, count in self.counts.items() if count]
        noun = "change" if self.changes == 1 else "changes"
        return f"{self.changes} {noun}: {', '.join(words)}"


class Allowance:
    """How much text may still be compared word by word."""

    def __init__(self, characters: int) -> None:
        self.left = characters

    def compare(self, old: Texts, new: Texts, fields: Sequence[str]) -> tuple[Rewording, ...]:
        changed = (field for field in fields if old[field] != new[field])
        return tuple(self.rewording(field, old[field], new[field]) for field in changed)

    def rewording(self, field: str, old: str, new: str) -> Rewording:
        self.left -= len(old) + len(new)
        return Rewording(field, old, new, is_compared=self.left >= 0)


def diff(old: PlanText, new: PlanText) -> PlanDiff:
    """From one version's text to another's."""
    allowance = Allowance(MOST_CHARACTERS)
    fields = allowance.compare(texts_of(old), texts_of(new), tuple(PLAN_FIELDS))
    pairs = paired(old["subtasks"], new["subtasks"])
    olds = [i for _, i in sorted(pairs.items())]
    staying = {olds[place] for place in longest_increasing(olds)}
    rows = rows_of(old["subtasks"], new["subtasks"], pairs, staying, allowance)
    return PlanDiff(fields, tuple(rows))


def texts_of(plan: PlanText) -> Texts:
    return {
        "title": plan["title"],
        "content": plan["content"],
        "expected_outcome": plan["expected_outcome"],
    }


def paired(old: Sequence[Subtask], new: Sequence[Subtask]) -> dict[int, int]:
    """New places to old ones: by key, and among the rest by equal words."""
    by_key = {subtask["key"]: i for i, subtask in enumerate(old)}
    pairs = {j: by_key[each["key"]] for j, each in enumerate(new) if each["key"] in by_key}
    left: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for i in sorted(set(range(len(old))) - set(pairs.values()), reverse=True):
        left[words_of(old[i])].append(i)
    for j, subtask in enumerate(new):
        if j not in pairs and (same := left.get(words_of(subtask))):
            pairs[j] = same.pop()
    return pairs


def words_of(subtask: Subtask) -> tuple[str, ...]:
    return tuple(subtask[field] for field in SUBTASK_TEXT)


def rows_of(
    old: Sequence[Subtask],
    new: Sequence[Subtask],
    pairs: Mapping[int, int],
    staying: set[int],
    allowance: Allowance,
) -> Iterator[Row]:
    gone = removed_behind(old, set(pairs.values()), staying)
    yield from gone[None]
    for j, subtask in enumerate(new):
        i = pairs.get(j)
        if i is None:
            yield Row(Change.ADDED, subtask["key"], "", subtask, j + 1, None, False, ())
            continue
        fields = allowance.compare(old[i], subtask, SUBTASK_TEXT)
        moved = i not in staying
        change = Change.EDITED if fields else Change.MOVED if moved else Change.SAME
        yield Row(change, subtask["key"], old[i]["key"], subtask, j + 1, i + 1, moved, fields)
        yield from gone[i]


def removed_behind(
    old: Sequence[Subtask], kept: set[int], staying: set[int]
) -> defaultdict[int | None, list[Row]]:
    """What was removed, by the place of the last subtask before it that stayed where it was."""
    gone: defaultdict[int | None, list[Row]] = defaultdict(list)
    last: int | None = None
    for i, subtask in enumerate(old):
        if i in staying:
            last = i
        elif i not in kept:
            row = Row(
                Change.REMOVED, subtask["key"], subtask["key"], subtask, None, i + 1, False, ()
            )
            gone[last].append(row)
    return gone
