"""A text line by line, with numbers and nothing hidden, as a decision about it needs it.

A long one is folded by the page's script: without one all of it is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, groupby

from django.utils.safestring import SafeString, mark_safe

from console.visible_text import count_hidden, visible_code
from plans.alignment import aligned

HEAD, TAIL = 8, 3  # lines of a long text that are shown before "Show all"
LONG_CHANGE, CHANGE_HEAD = 400, 200  # the same for lines of a change
CONTEXT = 3  # unchanged lines around a change
MOST_BLANK = 2  # blank lines in a row that are drawn; more are counted
MOST_LINES = 5_000  # of one text; what is longer cannot be shown whole
MOST_CHARACTERS = 200_000
MOST_HIDDEN = 5_000
SHORT_LINES, SHORT_CHARACTERS = 400, 20_000  # the same for what is decided already


@dataclass(frozen=True)
class Line:
    """One row of the drawing; `of` is how many lines of the text it stands for."""

    html: SafeString
    number: str = ""
    old_number: str = ""
    kind: str = ""  # "new", "gone", "same" in a change; "fold" where lines are only counted
    of: int = 1

    @property
    def sign(self) -> str:
        return {"new": "+", "gone": "−"}.get(self.kind, "")


EMPTY = Line(mark_safe("(empty)"), kind="fold", of=0)  # drawn where a text has no line


@dataclass(frozen=True)
class WholeText:
    """The rows of one text, and those of them that "Show all" brings."""

    head: Sequence[Line]
    rest: Sequence[Line]
    tail: Sequence[Line]
    lines: int
    hidden: int
    left_out: int = 0  # lines that are not drawn at all, as there are too many
    is_change: bool = False

    @property
    def not_shown(self) -> int:
        return sum(line.of for line in self.rest)

    @property
    def is_whole(self) -> bool:
        return not self.left_out

    @property
    def added(self) -> int:
        return sum(line.kind == "new" for line in self.rows)

    @property
    def removed(self) -> int:
        return sum(line.kind == "gone" for line in self.rows)

    @property
    def rows(self) -> Iterator[Line]:
        return chain(self.head, self.rest, self.tail)


@lru_cache(maxsize=128)
def whole_text(text: str, *, is_short: bool = False) -> WholeText:
    """A command, a path, any argument of a call."""
    lines, left_out = within_limits(text, is_short)
    rows = list(with_counted_blanks(lines)) if text else [EMPTY]
    head, tail = (HEAD, TAIL) if len(rows) > HEAD + TAIL else (len(rows), 0)
    return folded(rows, head, tail, len(lines) + left_out, count_hidden(text), left_out)


def folded(
    rows: list[Line], head: int, tail: int, lines: int, hidden: int, left_out: int = 0
) -> WholeText:
    end = len(rows) - tail
    is_change = any(row.kind in ("new", "gone") for row in rows)
    return WholeText(rows[:head], rows[head:end], rows[end:], lines, hidden, left_out, is_change)


def within_limits(text: str, is_short: bool) -> tuple[list[str], int]:
    """The lines that can be drawn, and how many are left out."""
    lines = text.split("\n")
    drawn = text[: SHORT_CHARACTERS if is_short else MOST_CHARACTERS].split("\n")
    drawn = drawn[: SHORT_LINES if is_short else MOST_LINES]
    if count_hidden(text) > MOST_HIDDEN:
        drawn = drawn[:HEAD]
        drawn = [line[:MOST_HIDDEN] for line in drawn]
    is_cut = len(drawn) < len(lines) or len(drawn[-1]) < len(lines[len(drawn) - 1])
    return drawn, max(len(lines) - len(drawn), int(is_cut))


def with_counted_blanks(lines: Iterable[str]) -> Iterator[Line]:
    for is_blank, numbered in groupby(enumerate(lines, 1), lambda line: not line[1].strip(" \t")):
        group = list(numbered)
        if is_blank and len(group) > MOST_BLANK:
            yield Line(mark_safe(f"{len(group):,} blank lines"), kind="fold", of=len(group))
        else:
            yield from (Line(visible_code(line), str(number)) for number, line in group)


@lru_cache(maxsize=128)
def whole_change(old: str, new: str, *, is_short: bool = False) -> WholeText:
    """From one text to the other, line by line; `is_short` counts what is far from any change."""
    before, left_out_before = within_limits(old, is_short) if old else ([], 0)
    after, left_out_after = within_limits(new, is_short) if new else ([], 0)
    rows = list(changed_lines(before, after))
    if is_short:
        rows = list(near_changes(rows))
    rows = rows or [EMPTY]
    head = CHANGE_HEAD if len(rows) > LONG_CHANGE else len(rows)
    left_out = left_out_before + left_out_after
    lines = sum(row.of for row in rows) + left_out
    return folded(rows, head, 0, lines, count_hidden(old) + count_hidden(new), left_out)


def changed_lines(old: list[str], new: list[str]) -> Iterator[Line]:
    i = j = 0
    for at, to in [*aligned(old, new), (len(old), len(new))]:
        for place in range(i, at):
            yield Line(visible_code(old[place]), "", str(place + 1), "gone")
        for place in range(j, to):
            yield Line(visible_code(new[place]), str(place + 1), "", "new")
        if at < len(old):
            yield Line(visible_code(new[to]), str(to + 1), str(at + 1), "same")
        i, j = at + 1, to + 1


def near_changes(rows: list[Line]) -> Iterator[Line]:
    near: set[int] = set()
    for place, row in enumerate(rows):
        if row.kind != "same":
            near.update(range(place - CONTEXT, place + CONTEXT + 1))
    for is_near, places in groupby(range(len(rows)), key=near.__contains__):
        group = [rows[place] for place in places]
        if is_near or len(group) == 1:
            yield from group
        else:
            yield Line(mark_safe(f"{len(group):,} unchanged lines"), kind="fold", of=len(group))
