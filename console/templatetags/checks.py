"""The checks of subtasks: how they are drawn, and what came of them."""

from __future__ import annotations

from django import template
from django.utils.translation import ngettext

from agents.sentences import commas
from console import check_display, endings, finish_blocks
from console.status_labels import Snapshot
from plans import progress
from plans.check_permission import tool_of
from plans.progress import progress_parts

register = template.Library()

register.filter(check_display.typed_fields)
register.filter(check_display.kind_word)
register.filter(check_display.drawn_check)
register.filter(check_display.checks_of_row)
register.filter(check_display.check_not_run)
register.filter(endings.checked_at)
register.filter(endings.untrue_since)
register.filter(endings.last_checked)


@register.filter
def asks_first(check: Snapshot, asks: frozenset[str] | str) -> bool:
    """Whether it waits for a word first; nobody asks about one of another version."""
    return bool(asks) and tool_of(check) in asks


@register.filter
def checked_words(plan: Snapshot) -> str:
    """4 of 7 checked"""
    return progress.checked_words(plan["progress"])


@register.filter
def done_by_word(plan: Snapshot) -> list[Snapshot]:
    rows: list[Snapshot] = plan["subtasks"]
    return [row for row in rows if row["state"] == "done" and row["verified"] is None]


@register.filter
def runnable_checks(plan: Snapshot) -> int:
    """How many checks of what is done can be run again."""
    return sum(len(row["checks"]) for row in plan["subtasks"] if row["state"] == "done")


@register.filter
def not_run_words(plan: Snapshot) -> str:
    """1 check could not be run, of what is done; nothing where all of them could."""
    done = [row for row in plan["subtasks"] if row["state"] == "done"]
    results = [each["result"] for row in done for each in row["checks"] if each["result"]]
    n = sum(result["passed"] is None for result in results)
    words = ngettext("{n} check could not be run", "{n} checks could not be run", n)
    return words.format(n=n) if n else ""


register.filter(finish_blocks.last_row)


@register.filter
def with_checks(plan: Snapshot) -> int:
    """How many subtasks have a check."""
    return sum(bool(row["checks"]) for row in plan["subtasks"])


@register.filter
def and_checks(plan: Snapshot) -> str:
    """What follows the number of subtasks: , 6 checks."""
    count = sum(len(row["checks"]) for row in plan["subtasks"])
    return ngettext(", {n} check", ", {n} checks", count).format(n=count) if count else ""


@register.filter
def unchecked_parts(plan: Snapshot) -> str:
    """1 by word, 1 abandoned."""
    return commas(progress_parts({**plan["progress"], "checked": 0}))  # type: ignore[typeddict-item]
