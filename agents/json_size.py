"""How many values a JSON text has, told before it is parsed.

A parser written in C keeps every other thread and task of the process waiting until it is done, and
what it takes grows with the values rather than with the bytes: 4 MB that are one text take
milliseconds, 4 MB of `[],[],` half a second, and many seconds where pydantic validates each value.
"""

from __future__ import annotations

from agents.stored_text import gettext_lazy

# Of what a person sends, or writes into a file: a plan of 500 subtasks has 2,500 of them.
MOST_VALUES = 20_000
TOO_MANY_VALUES = gettext_lazy("it has more than {most:,} values")


def why_too_many(text: str | bytes, most: int = MOST_VALUES) -> str:
    """A clause that says why a JSON text is not read; empty where it may be."""
    if len(text) <= most:
        return ""
    text = text.encode(errors="replace") if isinstance(text, str) else text
    return str(TOO_MANY_VALUES).format(most=most) if has_more_values(text, most) else ""


def has_more_values(text: bytes, most: int) -> bool:
    """Whether there are more values than that: one for each comma and opening bracket.

    Those in strings do not count; strings are only looked for where it depends on them.
    """
    if separators(text) <= most:
        return False
    text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    if text.count(b'"') > 4 * (most + 1):  # a value may have a key, each with two quotation marks
        return True
    return separators(b"".join(text.split(b'"')[::2])) > most


def separators(text: bytes) -> int:
    return text.count(b",") + text.count(b"[") + text.count(b"{")
