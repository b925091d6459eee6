"""How far a plan is: the one place that counts, and the words for it that every place shows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from django.utils.translation import gettext
from pydantic import BaseModel

from agents.sentences import commas
from plans.models import Plan, State, Subtask


class ProgressSnapshot(BaseModel, extra="forbid"):
    """`done` is checked, by_word and regressed together; `looked` counts those of the checked that
    a person has looked at."""

    done: int
    checked: int
    by_word: int
    regressed: int
    looked: int
    abandoned: int
    total: int
    percent: int

    @property
    def settled(self) -> int:
        """Done and abandoned ones both count."""
        return self.done + self.abandoned

    @property
    def parts(self) -> str:
        """4 checked, 2 by word, 1 no longer true, 1 abandoned: what is zero is left out."""
        return done_words(
            self.checked, self.by_word, self.regressed, self.abandoned, looked=self.looked
        )

    @property
    def checked_words(self) -> str:
        """4 of 7 checked"""
        return checked_words(self.checked, self.total)

    @property
    def unchecked_parts(self) -> str:
        """1 by word, 1 abandoned."""
        return done_words(0, self.by_word, self.regressed, self.abandoned)

    @property
    def words(self) -> str:
        """7 of 7 · 4 checked, 2 by word, 1 no longer true, 1 abandoned; nothing for a document."""
        if not self.total:
            return ""
        if not (parts := self.parts):
            return gettext("{settled} of {total}").format(settled=self.settled, total=self.total)
        sentence = gettext("{settled} of {total} · {parts}")
        return sentence.format(settled=self.settled, total=self.total, parts=parts)

    @property
    def runs(self) -> list[tuple[str, int, int]]:
        """What is settled, sorted by how: a mark's name, where it begins, and how many are so."""
        counts = {
            "done": self.checked,
            "by_word": self.by_word,
            "regressed": self.regressed,
            "abandoned": self.abandoned,
        }
        ends = accumulate(counts.values())
        runs = zip(counts.items(), ends, strict=True)
        return [(name, end - count, count) for (name, count), end in runs if count]


def progress(plan: Plan, subtasks: Sequence[Subtask]) -> ProgressSnapshot:
    """A text alone is done with its plan."""
    done = [each for each in subtasks if each.state == State.DONE]
    checked = [each for each in done if each.verified]
    regressed = sum(each.verified is False for each in done)
    abandoned = sum(each.state == State.ABANDONED for each in subtasks)
    alone = 100 if plan.state == State.DONE else 0
    total = len(subtasks)
    return ProgressSnapshot.model_construct(
        done=len(done),
        checked=len(checked),
        by_word=len(done) - len(checked) - regressed,
        regressed=regressed,
        looked=sum(bool(each.looked_by) for each in checked),
        abandoned=abandoned,
        total=total,
        percent=round(100 * (len(done) + abandoned) / total) if total else alone,
    )


def done_words(
    checked: int, by_word: int, regressed: int, abandoned: int = 0, looked: int = 0
) -> str:
    """4 checked, 2 by word, 1 no longer true: what is zero is left out."""
    of_checked = gettext("{n} checked")
    if looked:
        of_checked = gettext("{n} checked, {looked} of them by you")
    parts = (
        (checked, of_checked),
        (by_word, gettext("{n} by word")),
        (regressed, gettext("{n} no longer true")),
        (abandoned, gettext("{n} abandoned")),
    )
    return commas([words.format(n=n, looked=looked) for n, words in parts if n])


def checked_words(checked: int, total: int) -> str:
    """The system's own line about a plan: 4 of 7 checked"""
    return gettext("{checked} of {total} checked").format(checked=checked, total=total)
