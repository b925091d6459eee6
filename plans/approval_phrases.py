"""What a message says to a plan: a yes, a no, or almost one of them.

A yes and a cancelling count only as the whole message. Where it is almost one, the person is asked
for a clear word, and nothing starts. The phrases lie in approval_phrases.toml.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal

from agents.normalization import Form, normalized

Meaning = Literal["approve", "cancel", "nearly_yes", "nearly_no", ""]
Words = tuple[str, ...]
LONGEST = 80  # characters of a message that says no more than this
MOST_WORDS = 16  # in a row that are looked for as one piece
ASKS = re.compile("QUESTION|INTERROBANG")  # in the name of a sign
# Many people leave accents out. Such a word decides nothing: ابدأ is "begin", أبدا "never".
ALIKE: Form = "NFKD"
SKIN_TONES = range(0x1F3FB, 0x1F400)
SPACELESS = "\u3040-\u30ff\u3400-\u9fff"  # scripts that put no space between words
TOKEN = re.compile(rf"(?P<word>[{SPACELESS}]|[^\W{SPACELESS}]+)|\S")


def meaning_of(text: str) -> Meaning:
    """Whether the whole text is a yes or a no; nothing where it asks, or where a word is none."""
    if len(text) > LONGEST or any(map(asks, text)):
        return ""
    decisive, pieces = phrases()
    words, is_plain = words_of(text)
    if is_plain and words in decisive:
        return decisive[words]
    words = words if text.isascii() else words_of(text, ALIKE)[0]
    kinds, at = set(), 0
    while at < len(words):
        ends = range(min(at + MOST_WORDS, len(words)), at, -1)
        end = next((end for end in ends if words[at:end] in pieces), None)
        if end is None:
            return ""
        kinds.add(pieces[words[at:end]])
        at = end
    return "nearly_no" if "no" in kinds else "nearly_yes" if "yes" in kinds else ""


def asks(sign: str) -> bool:
    if sign.isascii():
        return sign == "?"
    return bool(ASKS.search(unicodedata.name(sign, "")))


def words_of(text: str, form: Form = "NFKC") -> tuple[Words, bool]:
    """Its words and pictures, and whether nothing but pauses stands beside them.

    Quotation marks and brackets are no pauses: what is quoted or smiles may mean something else.
    """
    words, is_plain = [], True
    for found in TOKEN.finditer(folded(text, form)):
        if found["word"] or unicodedata.category(found[0])[0] == "S":
            words.append(found[0])
        else:
            is_plain &= is_pause(found[0])
    return tuple(words), is_plain


def folded(text: str, form: Form = "NFKC") -> str:
    """Without capitals, apostrophes, loose marks and what nobody sees; widths are made one."""
    folded = re.sub(r"(?<=\w)['’](?=\w)", "", normalized(text, form).casefold())
    return folded if folded.isascii() else "".join(filter(is_seen, folded))


def is_seen(sign: str) -> bool:
    """Not a loose mark, what draws an Arabic word longer, or the colour of a hand; but a mark that
    strikes words out."""
    is_mark = unicodedata.category(sign) in ("Mn", "Cf") or sign == "ـ"
    is_mark = is_mark and "OVERLAY" not in unicodedata.name(sign, "")
    return not is_mark and ord(sign) not in SKIN_TONES


def is_pause(sign: str) -> bool:
    """Of ASCII's signs some mean more than that."""
    kinds = ("Pd",) if sign.isascii() else ("Pd", "Po")
    return sign in "!,.:;" or unicodedata.category(sign) in kinds


@cache
def phrases() -> tuple[dict[Words, Meaning], dict[Words, str]]:
    """Those that decide as a whole message, and the pieces of what almost does."""
    decisive: dict[Words, Meaning] = dict.fromkeys(of_kind("approve"), "approve")
    decisive |= dict.fromkeys(of_kind("cancel"), "cancel")
    pieces: dict[Words, str] = {}
    for kind, means in (
        ("with", ""),
        ("yes", "yes"),
        ("approve", "yes"),
        ("no", "no"),
        ("cancel", "no"),
    ):
        pieces |= dict.fromkeys(of_kind(kind, ALIKE), means)
    return decisive, pieces


def of_kind(kind: str, form: Form = "NFKC") -> Iterator[Words]:
    for language in in_languages():
        yield from (words_of(phrase, form)[0] for phrase in language[kind].split("·"))


@cache
def command_names() -> dict[str, str]:
    """What a command is called in any language, and its own name."""
    return {
        folded(other.strip()): name
        for language in in_languages()
        for name, others in language.get("command", {}).items()
        for other in others.split("·")
    }


@cache
def in_languages() -> list[dict[str, Any]]:
    return list(tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).values())
