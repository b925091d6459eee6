"""The words of a text as search knows them, on either database.

Letter case and accents do not count. Where a script puts no spaces between words, each two signs
that stand side by side are a word, and the last one is a word of its own: so each sign begins
exactly one.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from agents.normalization import normalized

LONGEST_WORD = 64  # characters; what is longer is found by its beginning
MOST_BYTES = 400_000  # of the words of one text; PostgreSQL takes a megabyte
MOST_CHARACTERS = 400_000  # of one text that are read; one sign may stand for eighteen
MOST_SIGNS = 20_000  # remembered; few languages use more
LONGEST_QUESTION = 500  # characters
MOST_WANTED = 12  # words of a question

# Chinese, Japanese, Thai, Lao, Burmese, Khmer.
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff]+"
)
ACCENTS = re.compile("[\u0300-\u036f]")


class Signs(dict[int, str]):
    """For `str.translate`: what is no part of a word becomes a space, what cannot be seen goes."""

    def __missing__(self, code: int) -> str:
        sign = chr(code)
        category = unicodedata.category(sign)
        kept = sign if category[0] in "LMN" else " "
        kept = "" if category == "Cf" else kept
        if len(self) < MOST_SIGNS:
            self[code] = kept
        return kept


SIGNS = Signs()


def folded(text: str) -> str:
    """Without letter case, accents and signs that only look different."""
    if text.isascii():
        return text.lower()
    plain = normalized(text[:MOST_CHARACTERS], "NFKC")[:MOST_CHARACTERS].casefold()
    return normalized(ACCENTS.sub("", normalized(plain, "NFD")), "NFC")


def words_of(text: str) -> list[str]:
    """Each word once, in the order in which they come."""
    found: dict[str, None] = {}
    room = MOST_BYTES
    for run in folded(text).translate(SIGNS).split():
        for word in parts_of(run):
            if word in found:
                continue
            room -= len(word.encode()) + 1
            if room < 0:
                return list(found)
            found[word] = None
    return list(found)


def parts_of(run: str) -> list[str]:
    """The words of what stands between two spaces."""
    if run.isascii() or not UNSPACED.search(run):
        return [run[:LONGEST_WORD]]
    parts = []
    at = 0
    for unspaced in UNSPACED.finditer(run):
        parts.append(run[at : unspaced.start()][:LONGEST_WORD])
        signs = unspaced.group()
        parts += [signs[i : i + 2] for i in range(len(signs))]
        at = unspaced.end()
    return [*filter(None, parts), *filter(None, [run[at:][:LONGEST_WORD]])]


@dataclass(frozen=True)
class Question:
    """What is looked for: `parts` as they stand in a text, `words` as the index has them, each with
    whether the word there may go on."""

    parts: tuple[str, ...]
    words: tuple[tuple[str, bool], ...]


def question_of(text: str) -> Question:
    """Whatever is typed is plain text; at most MOST_WANTED words of it count."""
    parts: list[str] = []
    for run in folded(text[:LONGEST_QUESTION]).translate(SIGNS).split():
        at = 0
        for unspaced in UNSPACED.finditer(run):
            parts += [run[at : unspaced.start()], unspaced.group()]
            at = unspaced.end()
        parts.append(run[at:])
    parts = list(dict.fromkeys(filter(None, parts)))[:MOST_WANTED]
    return Question(tuple(parts), tuple(word for part in parts for word in wanted_words(part)))


def wanted_words(part: str) -> list[tuple[str, bool]]:
    """Of signs without spaces each two side by side; a single one begins a word of the index."""
    if not UNSPACED.match(part):
        return [(part[:LONGEST_WORD], True)]
    if len(part) == 1:
        return [(part, True)]
    return [(part[i : i + 2], False) for i in range(min(len(part) - 1, MOST_WANTED))]
