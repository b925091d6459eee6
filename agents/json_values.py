"""JSON that others send: how much it holds, found out before it is parsed, and when two are equal.

A parser written in C keeps every other thread and task of the process waiting until it is done, and
what it takes grows with the values rather than with the bytes: 4 MB that are one text take
milliseconds, 4 MB of `[],[],` half a second, and many seconds where pydantic validates each of
them.
"""

from __future__ import annotations


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


# Whether two JSON values are the same: Python's own == takes 1, 1.0 and true for one another.


def same_json(one: object, other: object) -> bool:
    """Equal by type and value at every depth; the order of an object's keys does not count."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_json(one[k], other[k]) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(same_json(a, b) for a, b in pairs)
    return type(one) is type(other) and one == other
