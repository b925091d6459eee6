"""What changed between two versions of a plan's text: what, where to, and which words."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from agents.sentences import commas
from agents.stored_text import gettext, gettext_lazy, ngettext
from agents.text.diff import TextRun, diff_words, longest_increasing, replace
from plans.check_text import CheckJson, wording
from plans.models import SUBTASK_TEXT, PlanText

PLAN_FIELDS = {
    "title": gettext_lazy("the title"),
    "content": gettext_lazy("the description"),
    "expected_outcome": gettext_lazy("the expected outcome"),
}
# Characters of changed texts whose words are compared; further ones are shown as replaced.
MOST_CHARACTERS = 400_000

Subtask = Mapping[str, Any]
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
class CheckDiff:
    """A check that was added, removed, or is another one than it was under its key."""

    change: Change
    key: str
    old: CheckJson | None
    new: CheckJson | None

    @property
    def words(self) -> str:
        if self.change == Change.ADDED:
            return gettext("Check added")
        if self.change == Change.REMOVED:
            return gettext("Check removed")
        return gettext("Check weakened") if self.is_weaker else gettext("Check changed")

    @property
    def asks_less(self) -> bool:
        """Whether it is gone or weaker, which a person is to see first."""
        return self.change == Change.REMOVED or (self.change == Change.EDITED and self.is_weaker)

    @property
    def is_weaker(self) -> bool:
        """It asks for a part of what it asked for."""
        old, new = dict(self.old or {}), dict(self.new or {})
        if old.get("kind") != new.get("kind"):
            return False
        if new.get("kind") == "http":
            return "contains" in old and new == {k: v for k, v in old.items() if k != "contains"}
        asked_more = {"contains", "matches"} & old.keys()
        return bool(asked_more and new.get("exists") and old["path"] == new["path"])


def diff_checks(old: Sequence[CheckJson], new: Sequence[CheckJson]) -> tuple[CheckDiff, ...]:
    """What was taken away or changed first: that is what a yes has to be asked for."""
    before, after = ({each["key"]: each for each in checks} for checks in (old, new))
    removed = [CheckDiff(Change.REMOVED, key, was, None) for key, was in before.items()]
    changed = [CheckDiff(Change.EDITED, key, before.get(key), now) for key, now in after.items()]
    added = [CheckDiff(Change.ADDED, key, None, now) for key, now in after.items()]
    return (
        *(each for each in removed if each.key not in after),
        *(
            each
            for each in changed
            if each.old and each.new and wording(each.old) != wording(each.new)
        ),
        *(each for each in added if each.key not in before),
    )


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
    checks: tuple[CheckDiff, ...] = ()

    @property
    def name(self) -> str:
        return str(self.text["name"])

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

    @cached_property
    def lost_checks(self) -> tuple[int, int]:
        """How many checks of subtasks that stay are gone, and how many are weaker."""
        checks = (check for row in self.rows for check in row.checks)
        kinds = Counter(check.change for check in checks if check.asks_less)
        return kinds[Change.REMOVED], kinds[Change.EDITED]

    @property
    def sentence(self) -> str:
        """2 changes: 1 added, 1 reworded."""
        if not self.changes:
            return gettext("No changes")
        parts = [str(PLAN_FIELDS[each.field]) for each in self.fields]
        parts += [COUNTED[word].format(n=count) for word, count in self.counts.items() if count]
        parts += less_words(*self.lost_checks)
        sentence = ngettext("{n} change: {changes}", "{n} changes: {changes}", self.changes)
        return sentence.format(n=self.changes, changes=commas(parts))


def less_words(removed: int, weakened: int) -> list[str]:
    """2 checks removed, 1 check weakened; nothing of what is zero."""
    parts = []
    if removed:
        words = ngettext("{n} check removed", "{n} checks removed", removed)
        parts.append(words.format(n=removed))
    if weakened:
        words = ngettext("{n} check weakened", "{n} checks weakened", weakened)
        parts.append(words.format(n=weakened))
    return parts


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
            checks: tuple[CheckDiff, ...] = ()
            if (old_key := old[was]["key"]) == each["key"]:  # else they are the same, by new keys
                checks = diff_checks(old[was].get("checks") or [], each.get("checks") or [])
            moved = was not in staying
            is_edited = bool(fields or checks)
            change = Change.EDITED if is_edited else Change.MOVED if moved else Change.SAME
            place = (j + 1, was + 1, moved)
            yield SubtaskDiff(change, each["key"], old_key, each, *place, fields, checks)
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
    checks = map(wording, subtask.get("checks") or [])
    return (*(subtask[field] for field in SUBTASK_TEXT), *checks)
