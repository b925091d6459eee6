"""A text cut into words, for showing what changed in it.

A word of a script that writes no spaces is one sign with all that belongs to it. Nothing that a
reader sees as one sign (a grapheme, Unicode annex 29) is ever torn apart; in doubt more stays
together than has to.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

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
