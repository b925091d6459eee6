"""What was kept, deleted and inserted between two texts, word by word."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate

from plans.alignment import aligned

Pair = tuple[int, int]


class Op(StrEnum):
    KEPT = "kept"
    DELETED = "deleted"
    INSERTED = "inserted"


@dataclass(frozen=True)
class TextRun:
    """A piece of text with one fate."""

    op: Op
    text: str


@dataclass
class Piece:
    """Either kept, or deleted and inserted at the same place."""

    kept: str = ""
    deleted: str = ""
    inserted: str = ""


def diff_words(old: str, new: str) -> tuple[TextRun, ...]:
    """From one text to the other: kept and deleted are the old one, kept and inserted the new.

    >>> [run.text for run in reword("Build is green", "Build passes")]
    ['Build ', 'is green', 'passes']
    """
    if old == new:
        return as_runs([Piece(kept=old)])
    return as_runs(folded(pieces(words(old), words(new))))


def replace(old: str, new: str) -> tuple[TextRun, ...]:
    """The same, without comparing their words."""
    return as_runs([Piece(deleted=old, inserted=new) if old != new else Piece(kept=old)])


def as_runs(parts: Iterable[Piece]) -> tuple[TextRun, ...]:
    runs = (
        TextRun(op, text)
        for part in parts
        for op, text in zip(Op, (part.kept, part.deleted, part.inserted), strict=True)
    )
    return tuple(run for run in runs if run.text)


def pieces(old: list[str], new: list[str]) -> Iterator[Piece]:
    """Kept and changed pieces in turn."""
    kept: list[str] = []
    i = j = 0
    for at, to in [*matches(old, new), (len(old), len(new))]:
        if at > i or to > j:
            yield Piece(kept="".join(kept))
            yield Piece(deleted="".join(old[i:at]), inserted="".join(new[j:to]))
            kept = []
        kept += old[at : at + 1]
        i, j = at + 1, to + 1
    yield Piece(kept="".join(kept))


def matches(old: list[str], new: list[str]) -> Iterator[Pair]:
    """Words that stay: those of whole sentences that do, and some of the sentences between."""
    before, after = sentences(old), sentences(new)
    old_starts, new_starts = starts(before), starts(after)
    i = j = 0
    for at, to in [*aligned(before, after), (len(before), len(after))]:
        a, c = old_starts[i], new_starts[j]
        b, d = old_starts[at], new_starts[to]
        yield from ((a + x, c + y) for x, y in aligned(old[a:b], new[c:d]))
        whole = len(before[at]) if at < len(before) else 0
        yield from ((b + offset, d + offset) for offset in range(whole))
        i, j = at + 1, to + 1


def starts(parts: Sequence[Sequence[str]]) -> list[int]:
    """Where each part begins, and where the last one ends."""
    return list(accumulate((len(part) for part in parts), initial=0))


def folded(parts: Iterable[Piece]) -> list[Piece]:
    """A space or a letter that happens to be kept amid changed words is not shown by itself."""
    result: list[Piece] = []
    for part in parts:
        if part.kept or not (part.deleted or part.inserted):
            result.append(part)
        elif len(result) > 1 and is_crumb(result[-2], result[-1].kept, part):
            crumb = result.pop().kept
            result[-1].deleted += crumb + part.deleted
            result[-1].inserted += crumb + part.inserted
        else:
            result.append(part)
    return result


def is_crumb(before: Piece, kept: str, after: Piece) -> bool:
    both = (before.deleted or after.deleted) and (before.inserted or after.inserted)
    return bool(both) and len(kept.strip()) <= 2 and "\n" not in kept


ZWNJ, ZWJ = 0x200C, 0x200D
# A text cut into words, for showing what changed in it.
#
# A word of a script that writes no spaces is one sign with all that belongs to it. Nothing that a
# reader sees as one sign (a grapheme, Unicode annex 29) is ever torn apart; in doubt more stays
# together than has to.

VIRAMA = 9  # the combining class of signs that join consonants
# What belongs to the sign before it without being called a mark.
TIED = {ZWNJ, 0xFF9E, 0xFF9F, 0xE33, 0xEB3, *range(0x1F3FB, 0x1F400), *range(0xE0020, 0xE0080)}
# What belongs to the sign behind it.
LEADING = {
    *range(0x600, 0x606),
    *(0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0xD4E, 0x110BD, 0x110CD, 0x111C2, 0x111C3),
    *(0x1193F, 0x11941, 0x11A3A, *range(0x11A84, 0x11A8A), 0x11D46, 0x11F02),
}
FLAGS = range(0x1F1E6, 0x1F200)
UNSPACED = (
    *(range(0xE00, 0xF00), range(0x1000, 0x10A0), range(0x1780, 0x1800)),  # Thai to Khmer
    *(range(0x3005, 0x3130), range(0x31F0, 0x3200), range(0xFF66, 0xFF9E)),  # kana
    *(range(0x3400, 0xA000), range(0xF900, 0xFB00), range(0x20000, 0x40000)),  # Han
)


class Kinds(dict[int, str]):
    """The kind of each character, one letter, found out when it first occurs."""

    def __missing__(self, code: int) -> str:
        kind = self[code] = kind_of(code, chr(code))
        return kind


def kind_of(code: int, sign: str) -> str:
    """w word, s space, r half a flag, a apostrophe, x tied, j tied on both sides, l leading, o."""
    if code == ZWJ or unicodedata.combining(sign) == VIRAMA:
        return "j"
    if code in TIED or unicodedata.category(sign).startswith("M"):
        return "x"
    if code in LEADING:
        return "l"
    if code in FLAGS:
        return "r"
    if sign.isspace():
        return "s"
    if any(code in script for script in UNSPACED):
        return "o"
    return "a" if sign in "'’" else "w" if sign.isalnum() or sign == "_" else "o"


KINDS = Kinds()
TAIL = "(?:x|j[^s]?)*"
# Over the letters of the kinds, which stand where the characters of the text do.
WORD = re.compile(
    f"l*(?:(?:w{TAIL})+(?:a{TAIL}(?:w{TAIL})+)*|(?:s{TAIL})+|(?:r{TAIL})+|[^l]{TAIL})|l+"
)
SENTENCE_END = re.compile(r"[\n.。．!！?？;；:：]")


def words(text: str) -> list[str]:
    """Words, spaces between them, and every other sign by itself; together they are the text."""
    return [text[found.start() : found.end()] for found in WORD.finditer(text.translate(KINDS))]


def sentences(tokens: Sequence[str]) -> list[tuple[str, ...]]:
    """The words of each sentence or line; where exactly one ends does not matter here."""
    found: list[tuple[str, ...]] = []
    start = 0
    for place, token in enumerate(tokens, 1):
        if SENTENCE_END.search(token) or place == len(tokens):
            found.append(tuple(tokens[start:place]))
            start = place
    return found
