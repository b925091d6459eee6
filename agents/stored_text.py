"""Sentences that are stored as text and arguments, and put into the reader's language when read.

What `gettext` of this module gives is a text like any other. A `StoredTextField` keeps it by its
English template and its arguments, so that whoever reads the row reads it in their own language.
Sentences within sentences and in a row keep that; an f-string or a slice of one is plain text.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from django.utils import translation
from django.utils.functional import lazy

from agents.sanitize import sanitize

if TYPE_CHECKING:
    from django.utils.translation import gettext_lazy as gettext_lazy

# Signs that bring the room behind them along. The quotation mark is that of English too.
FULL_WIDTH = "[。！？；：，、）』」]”?"
MARK = "\x1e"  # before what is stored of a sentence; no other text begins with it
Stored = list[Any]  # plain texts, and [text, plural or null, number, arguments]


class StoredText(str):
    """A text in the language of now, and what it is made of."""

    parts: Stored

    def __new__(cls, text: str, parts: Stored | None = None) -> StoredText:
        made = super().__new__(cls, text)
        made.parts = [text] if parts is None else parts
        return made

    def __str__(self) -> str:  # str() of it, or of an exception, would be a plain text
        return self

    def format(self, *args: object, **arguments: object) -> StoredText:
        """A sentence with its arguments, which go by name."""
        text = super().format(*args, **arguments)
        if args or len(self.parts) != 1 or isinstance(self.parts[0], str):
            return StoredText(text)
        [[template, plural, n, _]] = self.parts
        kept = {name: kept_argument(value) for name, value in arguments.items()}
        return StoredText(text, [[template, plural, n, kept]])


def kept_argument(value: object) -> object:
    """As JSON has it: a sentence by its parts, a number as it is, anything else as its text."""
    if isinstance(value, int | float | None):
        return value
    text = str(value)
    return text.parts if isinstance(text, StoredText) else text


def parts_of(text: str) -> Stored:
    return text.parts if isinstance(text, StoredText) else [text]


def gettext(text: str) -> str:
    return StoredText(translation.gettext(text), [[text, None, 0, {}]])


def ngettext(text: str, plural: str, n: int) -> str:
    return StoredText(translation.ngettext(text, plural, n), [[text, plural, n, {}]])


def ngettext_noop(text: str, plural: str) -> tuple[str, str]:
    """Both, for a `ngettext` elsewhere."""
    return text, plural


def untranslated(text: str) -> str:
    """What holds sentences together."""
    return StoredText(text, [[text, None, 0, {}]])


if not TYPE_CHECKING:
    gettext_lazy = lazy(gettext, StoredText)


def sentences(*parts: object) -> str:
    """One behind the other, without those that are empty, and with a space where one belongs."""
    shown = list(filter(None, map(str, parts)))
    text = ""
    for part in shown:
        text += f"{gap_behind(text)}{part}"
    if not any(isinstance(each, StoredText) for each in shown):
        return text
    return StoredText(text, [part for each in shown for part in parts_of(each)])


def lines(*parts: object) -> str:
    """One below the other."""
    given = {f"line{n}": each for n, each in enumerate(parts)}
    return untranslated("\n".join(f"{{{name}}}" for name in given)).format(**given)


def beginning(text: str, most: int) -> str:
    """Of so many characters at most; what is no longer stays as it is."""
    return text if len(text) <= most else text[:most]


def gap_behind(text: str) -> str:
    return "" if not text or re.search(f"{FULL_WIDTH}$", text) else " "


def text_of(parts: Stored) -> str:
    """What was stored, in the reader's language. Raises LookupError, TypeError or ValueError."""
    return sentences(*(each if isinstance(each, str) else sentence_of(*each) for each in parts))


def sentence_of(text: str, plural: str | None, n: int, kept: dict[str, object]) -> str:
    sentence = gettext(text) if plural is None else ngettext(text, plural, n)
    given = {name: text_of(each) if isinstance(each, list) else each for name, each in kept.items()}
    return sentence.format(**given) if given else sentence


def to_column(text: str) -> str:
    """As a column has it."""
    if isinstance(text, StoredText):
        return MARK + json.dumps(sanitize(text.parts), ensure_ascii=False)
    return text.lstrip(MARK)


def from_column(stored: str) -> str:
    if not stored.startswith(MARK):
        return stored
    try:
        return text_of(json.loads(stored[1:]))
    except (AttributeError, LookupError, TypeError, ValueError):
        return stored[1:]
