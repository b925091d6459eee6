"""A text in one line around what was looked for, with the found words marked."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from agents.words import MOST_SIGNS, SIGNS, UNSPACED, Question, folded

BEFORE = 28  # characters before the first found word: it stands in the middle third of the line
AFTER = 130
MOST_READ = 50_000  # characters of a text in which the words are looked for
# Fences, what begins a heading, quotation or entry of a list, and what stands around words.
MARKS = re.compile(
    r"^[ \t]*(?:(?:#{1,6}|>|[-*+])[ \t]+|(?:`{3,}|~{3,}))|`+"
    r"|(?<![^\s(])(?:\*{1,3}|_{2})(?=[^\s*])|(?<=[^\s*])(?:\*{1,3}+|_{2})(?!\w)",
    re.MULTILINE,
)
CONTEXT = 200  # of the text around them that are drawn at most


class Piece(NamedTuple):
    text: str
    is_found: bool


def marked(text: str, question: Question) -> list[Piece]:
    """The whole text, such as a title."""
    return cut(text, spans_of(text, question))


def snippet(text: str, question: Question) -> list[Piece]:
    """What stands around the first place; the beginning of the text where there is none."""
    spans = spans_of(text[:MOST_READ], question)
    first = best_of(spans)
    start = start_of(text, first)
    end = min(len(text), first + AFTER)
    shown = plain(text[start:end])
    pieces = [Piece(spaced(p.text), p.is_found) for p in cut(shown, spans_of(shown, question))]
    before = [Piece("… ", False)] if start else []
    return [*before, *pieces, *([Piece("…", False)] if end < len(text) else [])]


def best_of(spans: list[tuple[int, int]]) -> int:
    """Where most of the found words stand near each other."""
    starts = [start for start, _ in spans]
    near = {at: sum(at <= other < at + AFTER for other in starts) for at in starts[:100]}
    return max(near, key=lambda at: (near[at], -at)) if near else 0


def start_of(text: str, first: int) -> int:
    """At the beginning of a word, or of the line if that is near."""
    start = max(0, first - BEFORE)
    while start and start < first and not text[start - 1].isspace():
        start += 1
        if start >= first:  # one long word, or a script without spaces
            return max(0, first - BEFORE)
    return start


def plain(text: str) -> str:
    """Without the marks of Markdown: words are what is looked for."""
    return MARKS.sub("", text)


def spaced(text: str) -> str:
    """Line breaks and indentation are one space each."""
    return re.sub(r"\s+", " ", text)


def cut(text: str, spans: list[tuple[int, int]]) -> list[Piece]:
    pieces, at = [], 0
    for start, end in spans:
        pieces += [Piece(text[at:start], False), Piece(text[start:end], True)]
        at = end
    return [piece for piece in (*pieces, Piece(text[at:], False)) if piece.text]


def spans_of(text: str, question: Question) -> list[tuple[int, int]]:
    """Where the words of the question begin a word of the text, in order, none over another."""
    pattern = pattern_of(question)
    if pattern is None:
        return []
    signs, places = signs_of(text)
    return [(places[m.start()], places[m.end() - 1] + 1) for m in pattern.finditer(signs)]


@lru_cache(MOST_SIGNS)
def sign_of(sign: str) -> str:
    return folded(sign).translate(SIGNS)


def signs_of(text: str) -> tuple[str, range | list[int]]:
    """The text as the index reads it, and where each sign of that stands in the text."""
    if text.isascii():
        return text.lower().translate(SIGNS), range(len(text))
    each = [sign_of(sign) for sign in text]
    places = [place for place, signs in enumerate(each) for _ in signs]
    return "".join(each), places


def pattern_of(question: Question) -> re.Pattern[str] | None:
    """The longest part first: 数据库 is marked whole, and by its pairs only where it is not."""
    wanted = {*question.parts, *(word for word, _ in question.words)}
    if not wanted:
        return None
    unspaced = UNSPACED.pattern.removesuffix("+")[1:-1]
    ways = [
        re.escape(word) if UNSPACED.match(word) else f"(?<![^ {unspaced}]){re.escape(word)}"
        for word in sorted(wanted, key=len, reverse=True)
    ]
    return re.compile("|".join(ways))
