"""A text line by line, and what becomes of it, with the words marked that changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

from django.utils.html import escape
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext

from agents.hidden_characters import count_hidden
from agents.text.diff import NO_END, Alignment, Op, Pair, TextRun, diff_words, file_lines, words
from console.components import component
from console.language import cached, grouped
from console.visible_text import visible_code

CONTEXT = 3  # unchanged lines around a change
MOST_COMPARED = 10_000  # characters of one place that are compared word by word
MOST_PLACES, MOST_MATCHED = 500, 50  # that are compared so: of a change, and lines of a place
LEAST_KEPT = 1 / 3  # of a line in which words are marked; what keeps less is another line
LONGEST = 1_000_000  # characters of two files that are compared
MOST_HIDDEN = 5_000  # each is drawn as a box
# Of one text that is decided about; what is longer cannot be shown whole.
MOST_LINES, MOST_CHARACTERS = 5_000, 200_000
LONG, HEAD = 400, 200  # lines; of more than the first, the second are on the page at first
CHARACTERS_AT_FIRST = 20_000
TEXT_HEAD, TEXT_TAIL = 8, 3  # lines of a text that are shown before "Show all"
MOST_BLANK = 2  # blank lines in a row that are drawn; more are counted


@dataclass(frozen=True)
class Line:
    """One row of the drawing; `of` is how many lines of the text it stands for.

    `runs` are the pieces of a line that stays in part, each with what became of it.
    """

    text: str
    number: str = ""
    old_number: str = ""
    kind: str = ""  # "new", "gone", "same" in a change; "fold" where lines are only counted
    of: int = 1
    runs: Sequence[TextRun] = ()

    @property
    def sign(self) -> str:
        return {"new": "+", "gone": "−"}.get(self.kind, "")

    @cached_property
    def html(self) -> SafeString:
        if self.kind == "fold":
            return escape(self.text)
        line = visible_code(self.text.removesuffix(NO_END))
        if self.runs:
            pieces = [(run.op, visible_code(run.text)) for run in self.runs]
            line = component("changed_words", words=pieces)
        if not self.text.endswith(NO_END):
            return line
        name, label = gettext("No newline at the end of the file"), gettext("no newline")
        return line + component("hidden_character", name=name, label=label)

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
    def counted(self) -> Block:
        """The same where folded lines are not drawn at all."""
        if not self.is_folded:
            return self
        count = len(self.lines)
        words = ngettext("{n} unchanged line", "{n} unchanged lines", count)
        return Block([Line(words.format(n=grouped(count)), kind="fold", of=count)])


@dataclass(frozen=True)
class Diff:
    """A text, or what becomes of it, in lines; without blocks `note` says why.

    `lines` are all, with those that are `cut`, which are not drawn. `hidden` are characters.
    """

    blocks: Sequence[Block] = ()
    lines: int = 0
    added: int = 0
    removed: int = 0
    hidden: int = 0
    cut: int = 0
    note: str = ""

    @property
    def is_change(self) -> bool:
        return bool(self.added or self.removed)

    @property
    def signs(self) -> str:
        return change_signs(self.added, self.removed)

    @property
    def sum(self) -> str:
        """What changed in words."""
        words = ngettext(
            "{n} line added, {removed} removed", "{n} lines added, {removed} removed", self.added
        )
        if not self.removed:
            words = ngettext("{n} line added", "{n} lines added", self.added)
        if not self.added:
            words = ngettext("{removed} line removed", "{removed} lines removed", self.removed)
        return words.format(n=grouped(self.added), removed=grouped(self.removed))

    # What "Show all" shows of it

    @cached_property
    def rows(self) -> list[Line]:
        return [line for block in self.blocks for line in block.lines]

    @property
    def ends(self) -> tuple[int, int]:
        """How many rows are shown before "Show all": the first, and the last."""
        count = len(self.rows)
        if any(line.sign or line.old_number for line in self.rows):
            return (HEAD if count > LONG else count), 0
        return (TEXT_HEAD, TEXT_TAIL) if count > TEXT_HEAD + TEXT_TAIL else (count, 0)

    @property
    def head(self) -> list[Line]:
        return self.rows[: self.ends[0]]

    @property
    def rest(self) -> list[Line]:
        head, tail = self.ends
        return self.rows[head : len(self.rows) - tail]

    @property
    def tail(self) -> list[Line]:
        return self.rows[len(self.rows) - self.ends[1] :]

    @property
    def folded(self) -> int:
        return sum(line.of for line in self.rest)

    # Less of it

    def shortened(self) -> Diff:
        """What a page shows at first."""
        near = sum(len(block.lines) for block in self.blocks if not block.is_folded)
        if near <= LONG and sum(len(line.text) for line in self.rows) <= CHARACTERS_AT_FIRST:
            return self
        first = replace(self, blocks=list(first_blocks(self.blocks)))
        return replace(first, cut=self.lines - sum(line.of for line in first.rows))

    def counted(self) -> Diff:
        """With a number in the place of what is far from any change."""
        return replace(self, blocks=[block.counted for block in self.blocks])

    def or_note(self, unchanged: str) -> Diff:
        """Only why, where there is nothing to be drawn, or too much."""
        if self.hidden > MOST_HIDDEN:
            words = gettext("It holds too many hidden characters to be shown line by line.")
            return Diff(note=words)
        return self if self.is_change else Diff(note=unchanged)


def change_signs(added: int, removed: int) -> str:
    """+42 −3; a side that is zero is left out."""
    return " ".join([*([f"+{added}"] if added else []), *([f"−{removed}"] if removed else [])])


def first_blocks(blocks: Sequence[Block]) -> Iterator[Block]:
    """Those that fit, the last one in part."""
    lines, characters = HEAD, CHARACTERS_AT_FIRST
    for block in blocks:
        fitting = []
        for line in block.lines:
            lines -= not block.is_folded
            if lines < 0 or characters <= 0:
                break
            part = line.text[:characters]
            fitting.append(line if part == line.text else replace(line, text=part, of=0, runs=()))
            characters -= len(line.text)
        is_whole = len(fitting) == len(block.lines)
        if is_whole or (fitting and not block.is_folded):
            yield Block(fitting, block.is_folded)
        if not is_whole:
            return


# Texts


@cached(128)
def text_lines(text: str) -> Diff:
    """A command, a path, any argument of a call."""
    lines, cut = limited(text)
    rows: list[Line] = []
    for is_blank, group in groupby(enumerate(lines, 1), lambda line: not line[1].strip(" \t")):
        run = list(group)
        if is_blank and len(run) > MOST_BLANK:
            words = ngettext("{n} blank line", "{n} blank lines", len(run))
            rows.append(Line(words.format(n=grouped(len(run))), kind="fold", of=len(run)))
        else:
            rows += [Line(line, str(number)) for number, line in run]
    rows = rows if text else [empty()]
    return Diff([Block(rows)], len(lines) + cut, hidden=count_hidden(text), cut=cut)


def empty() -> Line:
    """Drawn where a text has no line."""
    return Line(gettext("(empty)"), kind="fold", of=0)


def limited(text: str) -> tuple[list[str], int]:
    """The lines that can be drawn, and how many are left out."""
    lines = text.split("\n")
    drawn = text[:MOST_CHARACTERS].split("\n")[:MOST_LINES]
    if count_hidden(text) > MOST_HIDDEN:
        drawn = [line[: MOST_HIDDEN // TEXT_HEAD] for line in drawn[:TEXT_HEAD]]
    is_cut = len(drawn) < len(lines) or len(drawn[-1]) < len(lines[len(drawn) - 1])
    return drawn, max(len(lines) - len(drawn), int(is_cut))


# Changes


def diff_of_files(old: str, new: str, same: str) -> Diff:
    """Of whole files; `same` says that no line is another."""
    if len(old) + len(new) > LONGEST:
        words = gettext("Too long to be shown line by line here; the patch has it, up to 20 MB.")
        return Diff(note=words)
    return diff_of_lines(*without_windows_ends(file_lines(old), file_lines(new))).or_note(same)


@cached(128)
def diff_of_pieces(old: str, new: str, first: int = 1, *, is_file: bool = True) -> Diff:
    """Of whole lines; those of a file, which begin with the `first`, show no line ends."""
    before, after = (text.split("\n") if text else [] for text in (old, new))
    if is_file:
        before, after = without_windows_ends(before, after)
    return diff_of_lines(before, after, first)


def without_windows_ends(old: list[str], new: list[str]) -> tuple[list[str], list[str]]:
    """Both without the carriage returns of their line ends, where each has line ends and none of
    another kind. Anywhere else a carriage return is drawn: it is new, or gone, or odd."""
    ended = (*old[:-1], *new[:-1])
    if min(len(old), len(new)) < 2 or not all(line.endswith("\r") for line in ended):
        return old, new
    # Cut out of a file, the last line of each has its carriage return and not what follows.
    last = "\r" if all(lines[-1].endswith(("\r", NO_END)) for lines in (old, new)) else ""
    before, after = (
        [*(line.removesuffix("\r") for line in lines[:-1]), lines[-1].removesuffix(last)]
        for lines in (old, new)
    )
    return before, after


def diff_of_lines(old: list[str], new: list[str], first: int = 1) -> Diff:
    """`first` is the number of the first one."""
    alignment = Alignment(old, new)
    blocks = list(blocks_of(alignment, old, new, first)) or [Block([empty()])]
    lines = sum(line.of for block in blocks for line in block.lines)
    hidden = count_hidden("\n".join(old)) + count_hidden("\n".join(new))
    return Diff(blocks, lines, *alignment.counts, hidden)


def blocks_of(alignment: Alignment, old: list[str], new: list[str], first: int) -> Iterator[Block]:
    """Changes with the lines around them, and what is between, folded."""
    lines: list[Line] = []
    left = MOST_PLACES
    for tag, i, until, j, to in alignment.get_opcodes():
        if tag != "equal":
            is_compared, left = left > 0, left - (tag == "replace")
            lines += changed_lines(old[i:until], new[j:to], first + i, first + j, is_compared)
            continue
        same = [
            Line(line, str(first + j + place), str(first + i + place), "same")
            for place, line in enumerate(new[j:to])
        ]
        start = CONTEXT if lines or i else 0
        end = len(same) - (CONTEXT if until < len(old) or to < len(new) else 0)
        if end - start < 2:
            lines += same
            continue
        if lines:
            yield Block([*lines, *same[:start]])
        yield Block(same[start:end], is_folded=True)
        lines = same[end:]
    if lines:
        yield Block(lines)


def changed_lines(
    gone: list[str], added: list[str], was: int, now: int, is_compared: bool
) -> Iterator[Line]:
    """Those of one place, whose first lines have these numbers."""
    marks: dict[tuple[str, int], list[TextRun]] = {}
    few = sum(map(len, gone)) + sum(map(len, added)) <= MOST_COMPARED
    for one, other in partners(gone, added) if is_compared and few else ():
        runs = diff_words(gone[one].removesuffix(NO_END), added[other].removesuffix(NO_END))
        marks["gone", one] = marked([run for run in runs if run.op != Op.INSERTED])
        marks["new", other] = marked([run for run in runs if run.op != Op.DELETED])
    for place, line in enumerate(gone):
        yield Line(line, "", str(was + place), "gone", runs=marks.get(("gone", place), ()))
    for place, line in enumerate(added):
        yield Line(line, str(now + place), "", "new", runs=marks.get(("new", place), ()))


def partners(gone: list[str], added: list[str]) -> Iterator[Pair]:
    """For each line the one behind the last that shares most words with it, the first such."""
    theirs = [words_of(line) for line in added[:MOST_MATCHED]]
    start = 0
    for place, line in enumerate(gone[:MOST_MATCHED]):
        mine = words_of(line)
        shared = [len(mine & other) for other in theirs[start:]]
        most = max(shared, default=0)
        if most:
            start += shared.index(most)
            yield place, start
            start += 1


def words_of(line: str) -> set[str]:
    return {
        word for word in words(line.removesuffix(NO_END)) if any(sign.isalnum() for sign in word)
    }


def marked(runs: list[TextRun]) -> list[TextRun]:
    """Nothing where too little of the line stays: then it is another line."""
    sizes = [(run.op, len("".join(run.text.split()))) for run in runs]
    kept, whole = sum(size for op, size in sizes if op == Op.KEPT), sum(size for _, size in sizes)
    return [] if kept == whole or kept < whole * LEAST_KEPT else runs
