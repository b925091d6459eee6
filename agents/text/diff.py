"""What was kept, deleted and inserted between two texts: word by word, or line by line.

difflib alone compares long texts ten to a hundred times slower than what is done here, and texts
made to be slow for minutes; with its junk heuristic it loses what is kept of a text without spaces.
It is used for the gaps that have nothing unique in them. Figures: docs/decisions/0008.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from difflib import Match, SequenceMatcher
from enum import StrEnum
from itertools import accumulate, groupby, pairwise

from agents.hidden_characters import Kinds

Items = Sequence[Hashable]
Pair = tuple[int, int]

# A gap of more pairs in which nothing is unique counts as replaced, and so does what is left when
# the work is used up: texts that are hard to compare are shown coarsely, not late.
MOST_PAIRS = 10_000
MOST_WORK = 200_000
NO_END = "\n\\ No newline at end of file"  # behind a line in a diff


class Op(StrEnum):
    KEPT = "kept"
    DELETED = "deleted"
    INSERTED = "inserted"


@dataclass(frozen=True)
class TextRun:
    """A piece of text with one fate."""

    op: Op
    text: str


class Alignment(SequenceMatcher[Hashable]):
    """difflib's opcodes and hunks, over pairs that are found sooner."""

    def __init__(self, old: Items, new: Items, pairs: Sequence[Pair] | None = None) -> None:
        self.a, self.b, self.opcodes = old, new, None
        self.pairs = aligned(old, new) if pairs is None else pairs

    def get_matching_blocks(self) -> list[Match]:
        """Pairs side by side are one; an empty one ends the list."""
        blocks = []
        steps = groupby(
            enumerate(self.pairs), lambda each: (each[1][0] - each[0], each[1][1] - each[0])
        )
        for _, run in steps:
            pairs = [pair for _, pair in run]
            blocks.append(Match(*pairs[0], len(pairs)))
        return [*blocks, Match(len(self.a), len(self.b), 0)]

    @property
    def counts(self) -> tuple[int, int]:
        """How many items were added and removed."""
        return len(self.b) - len(self.pairs), len(self.a) - len(self.pairs)


# Lines


def text_of_file(content: bytes) -> str | None:
    """None where it is no text."""
    if b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def file_lines(text: str) -> list[str]:
    """Without their ends, as git tells them apart: a last one that has none is marked, since it is
    another than the same with an end."""
    *lines, rest = text.split("\n")
    return [*lines, rest + NO_END] if rest else lines


# Words


def diff_words(old: str, new: str) -> tuple[TextRun, ...]:
    """From one text to the other: kept and deleted are the old one, kept and inserted the new.

    >>> [run.text for run in diff_words("Build is green", "Build passes")]
    ['Build ', 'is green', 'passes']
    """
    if old == new:
        return replace(old, new)
    before, after = words(old), words(new)
    pieces = [("", "", "")]  # kept, and what was deleted and inserted behind it
    for tag, i, until, j, to in Alignment(before, after, matches(before, after)).get_opcodes():
        deleted, inserted = "".join(before[i:until]), "".join(after[j:to])
        if tag == "equal":
            pieces.append((deleted, "", ""))
        else:
            pieces[-1] = (pieces[-1][0], deleted, inserted)
    return as_runs(folded(pieces))


def replace(old: str, new: str) -> tuple[TextRun, ...]:
    """The same, without comparing their words."""
    return as_runs([("", old, new) if old != new else (old, "", "")])


def as_runs(pieces: Iterable[tuple[str, str, str]]) -> tuple[TextRun, ...]:
    runs = (TextRun(op, text) for each in pieces for op, text in zip(Op, each, strict=True))
    return tuple(run for run in runs if run.text)


def folded(pieces: Iterable[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """A space or a letter that happens to be kept amid changed words is not shown by itself."""
    result: list[tuple[str, str, str]] = []
    for kept, deleted, inserted in pieces:
        before, gone, added = result[-1] if result else ("", "", "")
        is_amid = (gone or added) and (deleted or inserted)
        both = (gone or deleted) and (added or inserted)
        if is_amid and both and len(kept.strip()) <= 2 and "\n" not in kept:
            result[-1] = (before, gone + kept + deleted, added + kept + inserted)
        else:
            result.append((kept, deleted, inserted))
    return result


def matches(old: list[str], new: list[str]) -> list[Pair]:
    """Words that stay: those of whole sentences that do, and some of the sentences between."""
    before, after = sentences(old), sentences(new)
    # Where each sentence begins, and where the last one ends.
    old_starts = list(accumulate(map(len, before), initial=0))
    new_starts = list(accumulate(map(len, after), initial=0))
    pairs = []
    i = j = 0
    for at, to in [*aligned(before, after), (len(before), len(after))]:
        a, c = old_starts[i], new_starts[j]
        b, d = old_starts[at], new_starts[to]
        pairs += [(a + x, c + y) for x, y in aligned(old[a:b], new[c:d])]
        whole = len(before[at]) if at < len(before) else 0
        pairs += [(b + offset, d + offset) for offset in range(whole)]
        i, j = at + 1, to + 1
    return pairs


# Which places of two sequences belong together, in the same order in both


def aligned(old: Items, new: Items) -> list[Pair]:
    """Pairs of places with equal items, found from the ends and from what is unique."""
    pairs: list[Pair] = []
    gaps = [((0, 0), (len(old), len(new)))]
    work = MOST_WORK
    while gaps and work > 0:
        (a, c), (b, d) = trim(old, new, *gaps.pop(), pairs)
        before, after = old[a:b], new[c:d]
        work -= len(before) + len(after)
        if not before or not after:
            continue
        # What occurs once in both, as far as it is in the same order.
        olds, news = Counter(before), Counter(after)
        place_of = {item: place for place, item in enumerate(after) if news[item] == 1}
        once = [(i, place_of[x]) for i, x in enumerate(before) if olds[x] == 1 and x in place_of]
        if anchors := [once[place] for place in longest_increasing([j for _, j in once])]:
            fixed = [(a + i, c + j) for i, j in anchors]
            pairs += fixed
            edges = pairwise([(a - 1, c - 1), *fixed, (b, d)])
            gaps += [((i + 1, j + 1), until) for (i, j), until in edges]
        elif len(before) * len(after) <= MOST_PAIRS:
            work -= len(before) * len(after)
            blocks = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
            pairs += [(a + i + n, c + j + n) for i, j, size in blocks for n in range(size)]
    return sorted(pairs)


def trim(old: Items, new: Items, start: Pair, end: Pair, pairs: list[Pair]) -> tuple[Pair, Pair]:
    """Pair what is equal at both ends; what is left in the middle."""
    (a, c), (b, d) = start, end
    while a < b and c < d and old[a] == new[c]:
        pairs.append((a, c))
        a, c = a + 1, c + 1
    while a < b and c < d and old[b - 1] == new[d - 1]:
        b, d = b - 1, d - 1
        pairs.append((b, d))
    return (a, c), (b, d)


def longest_increasing(numbers: Sequence[int]) -> list[int]:
    """The places of a longest increasing subsequence; no number comes twice."""
    ends: list[int] = []  # the smallest number at which a run of each length ends, and its place
    places: list[int] = []
    before: list[int] = []
    for place, number in enumerate(numbers):
        length = bisect_left(ends, number)
        ends[length : length + 1] = [number]
        places[length : length + 1] = [place]
        before.append(places[length - 1] if length else -1)
    longest: list[int] = []
    place = places[-1] if places else -1
    while place >= 0:
        longest.append(place)
        place = before[place]
    return longest[::-1]


# A text cut into words
#
# A word of a script that writes no spaces is one sign with all that belongs to it. Nothing that a
# reader sees as one sign (a grapheme, Unicode annex 29) is ever torn apart; in doubt more stays
# together than has to.

ZWNJ, ZWJ = 0x200C, 0x200D
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


KINDS = Kinds(kind_of)
TAIL = "(?:x|j[^s]?)*"
# Over the letters of the kinds, which stand where the characters of the text do.
WORD = re.compile(
    f"l*(?:(?:w{TAIL})+(?:a{TAIL}(?:w{TAIL})+)*|(?:s{TAIL})+|(?:r{TAIL})+|[^l]{TAIL})|l+"
)
SENTENCE_END = re.compile(r"[\n.。．!！?？;；:：]")


def words(text: str) -> list[str]:
    """Words, spaces between them, and every other sign by itself; together they are the text."""
    return [text[match.start() : match.end()] for match in WORD.finditer(text.translate(KINDS))]


def sentences(tokens: Sequence[str]) -> list[tuple[str, ...]]:
    """The words of each sentence or line; where exactly one ends does not matter here."""
    parts: list[tuple[str, ...]] = []
    start = 0
    for place, token in enumerate(tokens, 1):
        if SENTENCE_END.search(token) or place == len(tokens):
            parts.append(tuple(tokens[start:place]))
            start = place
    return parts
