"""Parts of sentences, put together as the reader's language does it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from django.utils.translation import pgettext

from agents.stored_text import gettext

CHINESE = "[\u3400-\u9fff\uf900-\ufaff]"


def commas(parts: Sequence[str]) -> str:
    """a, b, c."""
    return pgettext("between the parts of a list", ", ").join(parts)


def listed(parts: Sequence[str]) -> str:
    """a, b and c."""
    if len(parts) < 2:
        return "".join(parts)
    first, last = commas(parts[:-1]), parts[-1]
    return beside(gettext("{first} and {last}").format(first=first, last=last), first, last)


def detailed(words: object, detail: object) -> str:
    """Words, and behind them what they are about, if anything."""
    if not detail:
        return str(words)
    return gettext("{words}: {detail}").format(words=words, detail=detail)


def first_line(text: str) -> str:
    """What stands before a list, without its colon."""
    return text.partition("\n")[0].rstrip(":：")


def beside(text: str, *names: object) -> str:
    """The text without a space between Chinese signs and a name that begins or ends with one."""
    for name in map(str, names):
        if re.match(CHINESE, name):
            text = re.sub(f"(?<={CHINESE}) {re.escape(name)}", lambda found: found[0][1:], text)
        if re.search(f"{CHINESE}$", name):
            text = re.sub(f"{re.escape(name)} (?={CHINESE})", lambda found: found[0][:-1], text)
    return text
