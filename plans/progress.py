"""How far a plan is: the one place that counts, and the words for it that every place shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

from django.utils.translation import gettext

from agents.sentences import commas
from plans.models import Plan, State, Subtask


class Progress(TypedDict):
    """`done` is checked, by word and regressed together; `looked` are those of the checked that a
    person has looked at in place of a check."""

    done: int
    checked: int
    by_word: int
    regressed: int
    looked: int
    abandoned: int
    total: int
    percent: int


def progress(plan: Plan, subtasks: Iterable[Subtask]) -> Progress:
    """A text alone is done with its plan."""
    rows = list(subtasks)
    done = [each for each in rows if each.state == State.DONE]
    checked = [each for each in done if each.verified]
    regressed = sum(each.verified is False for each in done)
    abandoned = sum(each.state == State.ABANDONED for each in rows)
    alone = 100 if plan.state == State.DONE else 0
    return {
        "done": len(done),
        "checked": len(checked),
        "by_word": len(done) - len(checked) - regressed,
        "regressed": regressed,
        "looked": sum(bool(each.looked_by) for each in checked),
        "abandoned": abandoned,
        "total": len(rows),
        "percent": round(100 * (len(done) + abandoned) / len(rows)) if rows else alone,
    }


def progress_parts(so_far: Progress) -> list[str]:
    """4 checked, 2 by word, 1 no longer true, 1 abandoned: what is zero is left out."""
    checked = gettext("{n} checked")
    if so_far["looked"]:
        checked = gettext("{n} checked, {looked} of them by you")
    parts = {
        "checked": checked,
        "by_word": gettext("{n} by word"),
        "regressed": gettext("{n} no longer true"),
        "abandoned": gettext("{n} abandoned"),
    }
    counts: dict[str, int] = {**so_far}  # type: ignore[dict-item]
    looked = so_far["looked"]
    return [
        words.format(n=counts[name], looked=looked) for name, words in parts.items() if counts[name]
    ]


def done_words(checked: int, by_word: int, regressed: int) -> str:
    """4 checked, 2 by word, 1 no longer true"""
    counts: Progress = {
        "checked": checked,
        "by_word": by_word,
        "regressed": regressed,
        **dict.fromkeys(("done", "looked", "abandoned", "total", "percent"), 0),  # type: ignore[typeddict-item]
    }
    return commas(progress_parts(counts))


def progress_words(so_far: Progress) -> str:
    """7 of 7 · 4 checked, 2 by word, 1 no longer true, 1 abandoned"""
    parts = progress_parts(so_far)
    settled = so_far["done"] + so_far["abandoned"]
    if not parts:
        return gettext("{settled} of {total}").format(settled=settled, total=so_far["total"])
    sentence = gettext("{settled} of {total} · {parts}")
    return sentence.format(settled=settled, total=so_far["total"], parts=commas(parts))


def checked_words(so_far: Mapping[str, Any]) -> str:
    """The system's own line about a plan: 4 of 7 checked"""
    sentence = gettext("{checked} of {total} checked")
    return sentence.format(checked=so_far["checked"], total=so_far["total"])
