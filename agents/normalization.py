"""Unicode's normal forms of any text, in linear time.

Python puts the combining marks of a letter in order by moving each past the others: 64,000 of them
in one request take half a minute, in which no other thread of the process runs. So no letter keeps
more marks here than in Unicode's stream-safe text format (UAX #15, section 13), and no other module
calls `unicodedata.normalize`, or what calls it: `urlsplit`, `urljoin`, `slugify`, `truncatechars`.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal
from urllib.parse import SplitResult, urljoin, urlsplit

from django.utils.text import slugify

MOST_MARKS = 30  # in a row
MOST_SIGNS = 20_000  # remembered; few languages use more

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]


class Kinds(dict[int, str]):
    """For `str.translate`: m for a mark that goes with the letter before it, and o."""

    def __missing__(self, code: int) -> str:
        parts = unicodedata.normalize("NFKD", chr(code))
        kind = "m" if all(map(unicodedata.combining, parts)) else "o"
        if len(self) < MOST_SIGNS:
            self[code] = kind
        return kind


KINDS = Kinds()
# Over the letters of the kinds, which stand where the characters of the text do.
TOO_MANY = re.compile(f"(?<=m{{{MOST_MARKS}}})m+")


def normalized(text: str, form: Form) -> str:
    """Of marks in a row only the first MOST_MARKS are kept."""
    return text if text.isascii() else unicodedata.normalize(form, with_few_marks(text))


def with_few_marks(text: str) -> str:
    if text.isascii():
        return text
    kept, at = [], 0
    for pile in TOO_MANY.finditer(text.translate(KINDS)):
        kept.append(text[at : pile.start()])
        at = pile.end()
    return "".join([*kept, text[at:]])


def split_url(url: str) -> SplitResult:
    """ValueError where it is none."""
    demand_few_marks(url)
    return urlsplit(url)


def joined_url(base: str, url: str) -> str:
    """ValueError where one of them is none."""
    demand_few_marks(base)
    demand_few_marks(url)
    return urljoin(base, url)


def demand_few_marks(url: str) -> None:
    if with_few_marks(url) != url:
        raise ValueError("no address has so many marks on one letter")


def slug(text: str) -> str:
    """ASCII letters, digits, - and _; nothing where the text has none."""
    return slugify(with_few_marks(text))
