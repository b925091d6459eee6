"""Which command a message begins with, and which one it may have been meant to begin with.

Letters and signs are read after NFKC and without those that nobody sees. A command that is typed
otherwise than it is called never acts, nor reaches a model: the person is asked.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import takewhile
from typing import NamedTuple

from django.utils.translation import gettext

from agents.errors import Invalid
from plans.approval_phrases import command_names, folded, is_seen

COMMANDS = ("plan", "clear", "new", "help")
LONGEST = 40  # characters of a name that are looked at
BLANKS = "\u115f\u1160\u2800\u3164\uffa0"  # letters that are drawn as a space
NAME = re.compile(r"(?P<word>[^\W_]*)(?P<behind>.*)", re.DOTALL)


class Command(NamedTuple):
    """`name` is what was typed, or with `is_asked` the command that may have been meant."""

    name: str
    rest: str
    is_asked: bool = False


def command_in(text: str) -> Command | None:
    """None for a message; a path such as /plan/x is one."""
    start = next((at for at, sign in enumerate(text) if is_visible(sign)), len(text))
    if not text[start:] or not is_slash(text[start]):
        return None
    name, *rest = text[start + 1 :].split(maxsplit=1) if text[start + 1 :].strip() else [""]
    typed, behind = folded(name[:LONGEST]), "".join(rest)
    is_typed_so = folded(text[start]) == "/" and not text[start + 1 : start + 2].isspace()
    if is_typed_so and typed in COMMANDS:
        return Command(typed, behind)
    if meant := command_meant(typed):
        return Command(meant, behind, is_asked=True)
    return Command(typed, behind) if is_typed_so and re.fullmatch("[a-z]+", typed) else None


def is_visible(sign: str) -> bool:
    return is_seen(sign) and not sign.isspace() and sign not in BLANKS


def is_slash(sign: str) -> bool:
    """Also what its key types in Chinese, and what looks like it in any script."""
    if sign.isascii():
        return sign == "/"
    name = unicodedata.name(sign, "")
    return sign == "、" or "SLASH" in name or ("SOLIDUS" in name and "REVERSE" not in name)


def command_meant(typed: str) -> str:
    """The one that is called so in another language, has a sign behind it, or is one edit away."""
    found = NAME.match(typed)
    word, behind = found.groups() if found else ("", "")
    if behind.startswith("/") and behind != "/":
        return ""
    for called, name in {**dict(zip(COMMANDS, COMMANDS, strict=True)), **command_names()}.items():
        goes_on = word.startswith(called) and not word.isascii()  # some scripts have no spaces
        if word == called or goes_on:
            return name
    near = (name for name in COMMANDS if not behind and is_one_edit(word, name))
    return next(near, "")


def is_one_edit(a: str, b: str) -> bool:
    """One letter more, less, other, or two that have changed places."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))
    a, b = a[same:], b[same:]
    is_swap = a[:2] == b[:2][::-1] and a[2:] == b[2:]
    return a[1:] == b or a == b[1:] or a[1:] == b[1:] or is_swap


def demand_meant(command: Command) -> None:
    if command.is_asked:
        sentence = gettext(
            "Did you mean /{name}? Nothing was sent. To send this as a message, begin it with a "
            "word."
        )
        raise Invalid(sentence.format(name=command.name))
