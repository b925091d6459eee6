"""What changed between two versions of a plan's text: what, where to, and which words."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from django.utils.translation import gettext, gettext_lazy, ngettext

from plans.models import SUBTASK_TEXT, PlanText
from plans.text_diff import TextRun, diff_words, longest_increasing, replace

PLAN_FIELDS = {
    "title": gettext_lazy("the title"),
    "content": gettext_lazy("the description"),
    "expected_outcome": gettext_lazy("the expected outcome"),
}
# Characters of changed texts whose words are compared; further ones are shown as replaced.
MOST_CHARACTERS = 400_000

Subtask = Mapping[str, str]
Texts = Mapping[str, str]


class Change(StrEnum):
    SAME = "same"
    ADDED = "added"
    EDITED = "edited"
    MOVED = "moved"
    REMOVED = "removed"


WORDS = {"added": "added", "edited": "reworded", "moved": "moved", "removed": "removed"}
COUNTED = {
    "added": gettext_lazy("{n} added"),
    "reworded": gettext_lazy("{n} reworded"),
    "moved": gettext_lazy("{n} moved"),
    "removed": gettext_lazy("{n} removed"),
}


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
class SubtaskDiff:
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
    rows: tuple[SubtaskDiff, ...]

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many subtasks were added, reworded, moved and removed; each counts once."""
        counts = Counter(row.change for row in self.rows)
        return {word: counts[Change(change)] for change, word in WORDS.items()}

    @property
    def changes(self) -> int:
        return len(self.fields) + sum(self.counts.values())

    @property
    def sentence(self) -> str:
        """2 changes: 1 added, 1 reworded."""
        if not self.changes:
            return gettext("No changes")
        parts = [str(PLAN_FIELDS[each.field]) for each in self.fields]
        parts += [COUNTED[word].format(n=count) for word, count in self.counts.items() if count]
        sentence = ngettext("{n} change: {changes}", "{n} changes: {changes}", self.changes)
        return sentence.format(n=self.changes, changes=", ".join(parts))


class Comparison:
    """One comparison; `left` is how many characters may still be compared word by word."""

    def __init__(self, characters: int) -> None:
        self.left = characters

    def fields(self, old: Texts, new: Texts, names: Sequence[str]) -> tuple[Rewording, ...]:
        """Those of the fields whose text is another one."""
        rewordings: list[Rewording] = []
        for name in names:
            before, after = old[name], new[name]
            if before != after:
                self.left -= len(before) + len(after)
                rewordings.append(Rewording(name, before, after, is_compared=self.left >= 0))
        return tuple(rewordings)

    def rows(
        self, old: Sequence[Subtask], new: Sequence[Subtask], pairs: Mapping[int, int]
    ) -> Iterator[SubtaskDiff]:
        """`pairs` are the new places of subtasks to their old ones."""
        olds = [i for _, i in sorted(pairs.items())]
        staying = {olds[place] for place in longest_increasing(olds)}
        kept = set(olds)
        # What was removed, by the place of the last subtask before it that stayed where it was.
        removed: defaultdict[int | None, list[SubtaskDiff]] = defaultdict(list)
        last: int | None = None
        for i, each in enumerate(old):
            if i in staying:
                last = i
            elif i not in kept:
                key = each["key"]
                removed[last].append(
                    SubtaskDiff(Change.REMOVED, key, key, each, None, i + 1, False, ())
                )
        yield from removed[None]
        for j, each in enumerate(new):
            was = pairs.get(j)
            if was is None:
                yield SubtaskDiff(Change.ADDED, each["key"], "", each, j + 1, None, False, ())
                continue
            fields = self.fields(old[was], each, SUBTASK_TEXT)
            moved = was not in staying
            change = Change.EDITED if fields else Change.MOVED if moved else Change.SAME
            old_key = old[was]["key"]
            yield SubtaskDiff(change, each["key"], old_key, each, j + 1, was + 1, moved, fields)
            yield from removed[was]


def diff(old: PlanText, new: PlanText) -> PlanDiff:
    """From one version's text to another's."""
    comparison = Comparison(MOST_CHARACTERS)
    fields = comparison.fields(texts_of(old), texts_of(new), tuple(PLAN_FIELDS))
    before, after = old["subtasks"], new["subtasks"]
    # New places to old ones: by key, and among the rest by equal words.
    by_key = {subtask["key"]: i for i, subtask in enumerate(before)}
    pairs = {j: by_key[each["key"]] for j, each in enumerate(after) if each["key"] in by_key}
    left: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for i in sorted(set(range(len(before))) - set(pairs.values()), reverse=True):
        left[words_of(before[i])].append(i)
    for j, subtask in enumerate(after):
        if j not in pairs and (same := left.get(words_of(subtask))):
            pairs[j] = same.pop()
    return PlanDiff(fields, tuple(comparison.rows(before, after, pairs)))


def texts_of(plan: PlanText) -> Texts:
    return {
        "title": plan["title"],
        "content": plan["content"],
        "expected_outcome": plan["expected_outcome"],
    }


def words_of(subtask: Subtask) -> tuple[str, ...]:
    return tuple(subtask[field] for field in SUBTASK_TEXT)
