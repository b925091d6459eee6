"""How far a plan is: the one place that counts, and the words for it that every place shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate

from django.db.models import F
from pydantic import BaseModel

from agents.sentences import commas
from agents.stored_text import gettext, ngettext
from plans.models import OPEN, Plan, PlanVersion, State, Subtask
from plans.status import mark_of_done
from plans.verification import Verification, Word


class ProgressSnapshot(BaseModel, extra="forbid"):
    """`done` is all that follow but `abandoned` together, each of them counted once."""

    done: int
    checked: int
    looked: int
    own_check: int
    by_word: int
    undone: int
    regressed: int
    abandoned: int
    total: int
    percent: int

    @property
    def settled(self) -> int:
        """Done and abandoned ones both count."""
        return self.done + self.abandoned

    @property
    def by_verification(self) -> dict[str, int]:
        return {word: getattr(self, word) for word in Word}

    @property
    def parts(self) -> str:
        """4 checked, 2 by word, 1 no longer true, 1 abandoned: what is zero is left out."""
        return done_words(self.by_verification, self.abandoned)

    @property
    def checked_words(self) -> str:
        """4 of 7 checked"""
        return checked_words(self.checked, self.total)

    @property
    def unchecked_parts(self) -> str:
        """1 by word, 1 abandoned."""
        return done_words({**self.by_verification, Word.CHECKED: 0}, self.abandoned)

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
        counts = {mark_of_done(word): getattr(self, word) for word in reversed(Word)}
        counts["abandoned"] = self.abandoned
        ends = accumulate(counts.values())
        runs = zip(counts.items(), ends, strict=True)
        return [(name, end - count, count) for (name, count), end in runs if count]


def approved_keys(plans: Collection[int]) -> dict[int, list[str]]:
    """Of open plans whose present version waits for a yes: the subtasks of the one that has it,
    which are counted until then."""
    rows = PlanVersion.objects.filter(plan__in=plans, plan__state__in=OPEN)
    rows = rows.filter(version=F("plan__approved_version")).exclude(version=F("plan__version"))
    texts = rows.values_list("plan", "snapshot__subtasks")
    return {plan: [each["key"] for each in subtasks] for plan, subtasks in texts if subtasks}


def progress(
    plan: Plan,
    subtasks: Sequence[Subtask],
    known: Mapping[int, Verification],
    counted: Collection[str] | None = None,
) -> ProgressSnapshot:
    """`known` is how those that are done are; a text alone is done with its plan. `counted` are
    the keys that count, where that is not all of them."""
    total = len(subtasks if counted is None else counted)
    subtasks = [each for each in subtasks if counted is None or each.key in counted]
    words = Counter(known[each.pk].word for each in subtasks if each.pk in known)
    done = sum(each.state == State.DONE for each in subtasks)
    abandoned = sum(each.state == State.ABANDONED for each in subtasks)
    alone = 100 if plan.state == State.DONE else 0
    counts = {"done": done, **{word.value: words[word] for word in Word}, "abandoned": abandoned}
    percent = round(100 * (done + abandoned) / total) if total else alone
    return ProgressSnapshot.model_construct(None, **counts, total=total, percent=percent)


def done_words(words: Mapping[str, int], abandoned: int = 0) -> str:
    """4 checked, 2 by word, 1 no longer true: what is zero is left out."""
    own = words.get(Word.OWN_CHECK, 0)
    by_own = ngettext("{n} checked by its own check", "{n} checked by their own checks", own)
    parts = (
        (words.get(Word.CHECKED, 0), gettext("{n} checked")),
        (words.get(Word.LOOKED, 0), gettext("{n} looked at by you")),
        (own, by_own),
        (words.get(Word.BY_WORD, 0), gettext("{n} by word")),
        (words.get(Word.UNDONE, 0), gettext("{n} undone by you")),
        (words.get(Word.REGRESSED, 0), gettext("{n} no longer true")),
        (abandoned, gettext("{n} abandoned")),
    )
    return commas([text.format(n=n) for n, text in parts if n])


def checked_words(checked: int, total: int) -> str:
    """The system's own line about a plan: 4 of 7 checked"""
    return gettext("{checked} of {total} checked").format(checked=checked, total=total)
