"""Characters of a text that nobody sees, and which of them matter where.

Control, bidirectional, zero-width and other invisible characters can hide a part of a command or
turn it round (CVE-2021-42574, "Trojan Source"). A page draws them as boxes, so they are counted
before a text is kept that somebody will have to read whole.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import NamedTuple

MOST_MARKS = 3  # accents on one letter; a pile of them covers the lines above
MOST_SPACES = 64  # in a row; more push what follows out of sight
# Boxes in a text, and in all texts of a plan: nobody reads more.
MOST_BOXES = 500

# Invisible although Unicode counts them among letters, marks and symbols.
BLANK = {0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, 0xFFFC, 0x1D159}
BLANK |= {*range(0x180B, 0x1810), *range(0xFE00, 0xFE0E), *range(0xE0100, 0xE01F0)}


class Kinds(dict[int, str]):
    """The kind of each character, one letter, found out when it first occurs."""

    def __init__(self, kind_of: Callable[[int, str], str]) -> None:
        self.kind_of = kind_of

    def __missing__(self, code: int) -> str:
        kind = self[code] = self.kind_of(code, chr(code))
        return kind


def kind_of(code: int, sign: str) -> str:
    """h hidden, j joiner, v emoji style, s odd space, w space, m mark, r right to left, o, p."""
    category = unicodedata.category(sign)
    if sign in "\n\t ":
        return "n" if sign == "\n" else "w"
    if code in (0x200C, 0x200D):
        return "j"
    if code in (0xFE0E, 0xFE0F):
        return "v"
    if category == "Zs":
        return "s"
    if category in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") or code in BLANK:
        return "h"
    if category in ("Mn", "Me"):
        return "m"
    if unicodedata.bidirectional(sign) in ("R", "AL"):
        return "r"
    return "o" if code >= 0x590 and category[0] in "LS" else "p"


KINDS = Kinds(kind_of)
# Over the letters of the kinds, which stand where the characters of the text do.
MARKS = f"(?<=m{{{MOST_MARKS}}})m"
CODE = re.compile(
    f"(?P<hidden>[hjvs]|{MARKS})|(?P<spaces>(?<!w)w{{{MOST_SPACES + 1},}})|(?P<rtl>r[rm]*)"
)
# In prose a joiner may stand between letters of scripts that need it and within an emoji, a style
# behind a sign; odd spaces are spaces.
PROSE = re.compile(
    f"(?P<hidden>h|{MARKS}|(?<![ormv])j|j(?![or])|(?<![opm])v)"
    f"|(?P<spaces>(?<!w)w{{{MOST_SPACES + 1},}})|(?P<rtl>(?!))"
)


class Piece(NamedTuple):
    """`kind` says what has to be done about it: "hidden", "spaces", "rtl", "rest" or nothing."""

    kind: str
    text: str


def pieces(text: str, pattern: re.Pattern[str], most: int) -> Iterator[Piece]:
    """The text cut up; the same hidden character many times in a row is one piece.

    After `most` hidden ones the rest comes uncut, to be counted and not drawn.
    """
    end = boxes = 0
    run = None  # where the same hidden character began
    for match in pattern.finditer(text.translate(KINDS)):
        start, kind = match.start(), match.lastgroup or ""
        if run is not None and (start > end or kind != "hidden" or text[start] != text[run]):
            yield Piece("hidden", text[run:end])
            run = None
        if start > end:
            yield Piece("", text[end:start])
        end = match.end()
        if kind != "hidden":
            yield Piece(kind, text[start:end])
        elif run is None:
            boxes, run = boxes + 1, start
            if boxes > most:
                yield Piece("rest", text[start:])
                return
    if run is not None:
        yield Piece("hidden", text[run:end])
    if end < len(text):
        yield Piece("", text[end:])


def revealed(text: str, written: Callable[[str], str]) -> str:
    """All of a text, however long, with what is hidden in it as `written` has it."""
    if text.isascii() and text.isprintable():
        return text
    kinds = zip(text, text.translate(KINDS), strict=True)
    return "".join(written(sign) if kind == "h" else sign for sign, kind in kinds)


def revealed_in_json(text: str) -> str:
    """The same document, with what is hidden in its strings written as \\uXXXX."""
    return revealed(text, lambda sign: json.dumps(sign)[1:-1])


def count_hidden(text: str) -> int:
    """How many characters of a command or code are hidden."""
    return sum(match.lastgroup == "hidden" for match in CODE.finditer(text.translate(KINDS)))


def count_boxes(text: str) -> int:
    """As how many boxes the hidden characters of prose are drawn; at most one above MOST_BOXES."""
    kinds = [kind for kind, _ in pieces(text, PROSE, MOST_BOXES)]
    return kinds.count("hidden") + kinds.count("rest")
