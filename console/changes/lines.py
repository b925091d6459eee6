"""The lines of a text as a person reads them, and from one text to another, with the words that
changed marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from django.utils.html import escape
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext

from agents.text.diff import Op, Pair, TextRun, aligned, diff_words, words
from console.components import component
from console.language import grouped
from console.visible_text import visible_code

CONTEXT = 3  # unchanged lines around a change
MOST_COMPARED = 10_000  # characters of one place that are compared word by word
MOST_PLACES, MOST_LINES = 500, 50  # that are compared so: of a change, and lines of a place
LEAST_KEPT = 1 / 3  # of a line in which words are marked; what keeps less is another line

Words = tuple[tuple[Op, SafeString], ...]


@dataclass(frozen=True)
class Line:
    """One row of the drawing; `of` is how many lines of the text it stands for.

    `words` are the pieces of a line that stays in part, each with what became of it.
    """

    html: SafeString
    number: str = ""
    old_number: str = ""
    kind: str = ""  # "new", "gone", "same" in a change; "fold" where lines are only counted
    of: int = 1
    words: Words = ()

    @property
    def sign(self) -> str:
        return {"new": "+", "gone": "−"}.get(self.kind, "")

    @property
    def drawn(self) -> SafeString:
        return component("changed_words", words=self.words) if self.words else self.html

    @property
    def spoken(self) -> str:
        """What a screen reader says before the line."""
        return {"new": gettext("Added: "), "gone": gettext("Removed: ")}.get(self.kind, "")


@dataclass(frozen=True)
class Block:
    """Lines that stand together; those far from any change are folded."""

    lines: Sequence[Line]
    is_folded: bool = False

    @property
    def counted(self) -> Sequence[Line]:
        """The same where folded lines are not drawn at all."""
        if not self.is_folded:
            return self.lines
        count = len(self.lines)
        words = ngettext("{n} unchanged line", "{n} unchanged lines", count)
        return [Line(escape(words.format(n=grouped(count))), kind="fold", of=count)]


def without_windows_ends(old: str, new: str) -> tuple[str, str]:
    """Both without the carriage returns of their line ends, where each has line ends and none of
    another kind. Anywhere else a carriage return is drawn: it is new, or gone, or odd."""
    before, after = old.split("\n"), new.split("\n")
    ended = (*before[:-1], *after[:-1])
    if min(len(before), len(after)) == 1 or not all(line.endswith("\r") for line in ended):
        return old, new
    # Cut out of a file, the last line of each has its carriage return and not what follows.
    if not before[-1].endswith("\r") or not after[-1].endswith("\r"):
        return old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    before, after = ([line.removesuffix("\r") for line in lines] for lines in (before, after))
    return "\n".join(before), "\n".join(after)


def changed_lines(old: list[str], new: list[str], first: int = 1) -> Iterator[Line]:
    """Each line of both; `first` is the number of the first one."""
    i = j = 0
    left = MOST_PLACES
    for at, to in [*aligned(old, new), (len(old), len(new))]:
        gone, added = old[i:at], new[j:to]
        marks: dict[Pair, tuple[Words, Words]] = {}
        if gone and added and left:
            marks, left = changed_words(gone, added), left - 1
        of_gone = {one: both[0] for (one, _), both in marks.items()}
        of_added = {other: both[1] for (_, other), both in marks.items()}
        for place, line in enumerate(gone):
            number = str(first + i + place)
            yield Line(visible_code(line), "", number, "gone", words=of_gone.get(place, ()))
        for place, line in enumerate(added):
            number = str(first + j + place)
            yield Line(visible_code(line), number, "", "new", words=of_added.get(place, ()))
        if at < len(old):
            yield Line(visible_code(new[to]), str(first + to), str(first + at), "same")
        i, j = at + 1, to + 1


def changed_words(gone: list[str], added: list[str]) -> dict[Pair, tuple[Words, Words]]:
    """The pieces of two lines of which one has become the other, by the places of both."""
    if sum(map(len, gone)) + sum(map(len, added)) > MOST_COMPARED:
        return {}
    found = {}
    for one, other in partners(gone, added):
        runs = diff_words(gone[one], added[other])
        before = drawn_words([run for run in runs if run.op != Op.INSERTED])
        after = drawn_words([run for run in runs if run.op != Op.DELETED])
        found[one, other] = before, after
    return found


def partners(gone: list[str], added: list[str]) -> Iterator[Pair]:
    """For each line the one behind the last that shares most words with it, the first such."""
    theirs = [words_of(line) for line in added[:MOST_LINES]]
    start = 0
    for place, line in enumerate(gone[:MOST_LINES]):
        mine = words_of(line)
        shared = [len(mine & other) for other in theirs[start:]]
        most = max(shared, default=0)
        if most:
            start += shared.index(most)
            yield place, start
            start += 1


def words_of(line: str) -> set[str]:
    return {word for word in words(line) if any(sign.isalnum() for sign in word)}


def drawn_words(runs: list[TextRun]) -> Words:
    """Nothing where too little of the line stays: then it is another line."""
    sizes = [(run.op, len("".join(run.text.split()))) for run in runs]
    kept, whole = sum(size for op, size in sizes if op == Op.KEPT), sum(size for _, size in sizes)
    if kept == whole or kept < whole * LEAST_KEPT:
        return ()
    return tuple((run.op, visible_code(run.text)) for run in runs)


def near_changes(rows: list[Line]) -> Iterator[Block]:
    """Changes with the lines around them, and what is between, folded."""
    near: set[int] = set()
    for place, row in enumerate(rows):
        if row.kind != "same":
            near.update(range(place - CONTEXT, place + CONTEXT + 1))
    for is_near, places in groupby(range(len(rows)), key=near.__contains__):
        lines = [rows[place] for place in places]
        yield Block(lines, is_folded=not is_near and len(lines) > 1)
