"""Text that a person decides about, with nothing in it that cannot be seen.

Characters that can hide a part of a command or turn it round (agents/hidden_characters.py) are
drawn as boxes with their code point, and letters written from right to left are isolated, so that
what stands around them keeps its order.

<bdi> is written here: 20,000 characters of Hebrew take 57 ms, with a template a word 356 ms.
"""

from __future__ import annotations

import re
import unicodedata

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, ngettext, pgettext_lazy

from agents.hidden_characters import CODE, MOST_BOXES, PROSE, pieces
from console.components import component
from console.language import cached, grouped

CACHED_LENGTH = 2_000  # characters of a text whose drawing is remembered
MOST_BOXES_OF_CODE = 5_000
MOST_IN_ATTRIBUTE = 20

CONTROLS = {
    0x00: pgettext_lazy("name of a character", "Null"),
    0x07: pgettext_lazy("name of a character", "Bell"),
    0x08: pgettext_lazy("name of a character", "Backspace"),
    0x0B: pgettext_lazy("name of a character", "Line tabulation"),
    0x0C: pgettext_lazy("name of a character", "Form feed"),
    0x0D: pgettext_lazy("name of a character", "Carriage return"),
    0x1B: pgettext_lazy("name of a character", "Escape"),
    0x7F: pgettext_lazy("name of a character", "Delete"),
    0x85: pgettext_lazy("name of a character", "Next line"),
}


def visible(text: object, most: int = MOST_BOXES) -> SafeString:
    """Prose as HTML: names, titles, descriptions. What nobody decides about may have fewer boxes
    than `most` are by themselves: a page holds many of these."""
    return drawn(str(text).replace("\r\n", "\n"), PROSE, most)


def visible_code(text: str, most: int = MOST_BOXES_OF_CODE) -> SafeString:
    """A command, a path or code as HTML: every character that is not what it seems is a box."""
    return drawn(text, CODE, most)


def visible_plain(text: object, most: int = MOST_IN_ATTRIBUTE) -> str:
    """Prose for a place that holds no HTML, such as an attribute or a terminal: [U+202E]."""
    found = pieces(str(text).replace("\r\n", "\n"), PROSE, most)
    return "".join(
        f"[{rest_label(piece) if kind == 'rest' else box_label(piece)}]" if kind else piece
        for kind, piece in found
    )


def drawn(text: str, pattern: re.Pattern[str], most: int) -> SafeString:
    if text.isascii() and text.isprintable() and "  " not in text:
        return escape(text)
    return (_remembered if len(text) <= CACHED_LENGTH else _drawn)(text, pattern, most)


def _drawn(text: str, pattern: re.Pattern[str], most: int) -> SafeString:
    html: list[str] = []
    for kind, piece in pieces(text, pattern, most):
        if kind == "rtl":
            html.append(format_html("<bdi>{}</bdi>", piece))
        elif kind == "spaces":
            html.append(component("folded_spaces", label=box_label(piece)))
        elif kind == "rest":
            html.append(component("hidden_rest", words=rest_label(piece)))
        else:
            html.append(hidden_box(piece[0], len(piece)) if kind else escape(piece))
    return mark_safe("".join(html))


_remembered = cached(2048)(_drawn)


@cached(512)
def hidden_box(sign: str, count: int) -> SafeString:
    """The box of one character, or of the same one many times: its code point, and its name as
    people write it (Right-to-left override, Zero-width space, Escape)."""
    name = CONTROLS.get(ord(sign), "") or unicodedata.name(sign, "")
    name = name.replace("ZERO WIDTH", "ZERO-WIDTH").capitalize()
    if not name:
        is_control = unicodedata.category(sign) == "Cc"
        name = gettext("Control character") if is_control else gettext("Unassigned character")
    return component("hidden_character", name=name, label=box_label(sign * count))


def box_label(piece: str) -> str:
    if piece.isspace() and len(piece) > 1 and set(piece) <= {" ", "\t"}:
        return ngettext("{n} space", "{n} spaces", len(piece)).format(n=len(piece))
    code = f"U+{ord(piece[0]):04X}"
    return code if len(piece) == 1 else f"{grouped(len(piece))} × {code}"


def rest_label(rest: str) -> str:
    words = ngettext(
        "{n} more character, not shown: too many of these cannot be seen.",
        "{n} more characters, not shown: too many of these cannot be seen.",
        len(rest),
    )
    return words.format(n=grouped(len(rest)))
