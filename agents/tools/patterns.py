"""Regular expressions of models and people: by RE2, whose time grows with the text alone.

It has no look-ahead, look-behind and references to groups; \\w, \\d and \\b are about ASCII.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import re2

BEYOND = ("invalid perl operator", "invalid escape sequence", "invalid repetition size")
AT_THE_ENDS = ("\\A", "\\z", "-m")  # of a text, even where each line has its own


class NotAPattern(ValueError):
    """No regular expression at all."""


class BeyondRe2(NotAPattern):
    """A regular expression that only other engines match; `part` is what they would need for it."""

    def __init__(self, part: str) -> None:
        super().__init__(part)
        self.part = part


def compiled(pattern: str) -> Any:
    """Raises NotAPattern."""
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason, _, part = error.args[0].decode(errors="replace").partition(": ")
        raise BeyondRe2(part) if reason in BEYOND else NotAPattern(reason) from None


def matching_lines(pattern: str, lines: Sequence[str], deadline: float) -> Iterator[int]:
    """The places of the lines that match. Raises NotAPattern, and TimeoutError at the deadline.

    A search takes 6 µs whatever it finds, so many lines are looked at as one text first.
    """
    of_line = compiled(pattern)
    most = 1 if any(each in pattern for each in AT_THE_ENDS) else 1_000
    of_many = compiled(f"(?m){pattern}")
    for start in range(0, len(lines), most):
        if time.monotonic() > deadline:
            raise TimeoutError
        block = lines[start : start + most]
        if of_many.search("\n".join(block)):
            yield from (start + n for n, line in enumerate(block) if of_line.search(line))
