"""Regular expressions of models and people: by RE2, whose time grows with the text alone.

It has no look-ahead, look-behind and references to groups; \\w, \\d and \\b are about ASCII.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import re2

BEYOND = ("invalid perl operator", "invalid escape sequence", "invalid repetition size")
MOST_LINES, MOST_CHARACTERS = 1_000, 100_000  # that are looked at as one text
MOST_STEPS = 400_000_000  # of RE2 in one text: two seconds where it has no faster way
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
    """The places of the lines that match. Raises NotAPattern, and TimeoutError at the deadline, or
    where the next lines would take it by themselves: nothing ends RE2 in the middle of a text.

    A search takes 6 µs whatever it finds, so many lines are looked at as one text first.
    """
    of_line = compiled(pattern)
    most = 1 if any(each in pattern for each in AT_THE_ENDS) else MOST_LINES
    of_many = compiled(f"(?m){pattern}")
    for start, block in blocks(lines, most):
        text = "\n".join(block)
        if time.monotonic() > deadline or len(text) * of_line.programsize > MOST_STEPS:
            raise TimeoutError
        if of_many.search(text):
            yield from (start + n for n, line in enumerate(block) if of_line.search(line))


def blocks(lines: Sequence[str], most: int) -> Iterator[tuple[int, Sequence[str]]]:
    """So many lines at once at most, or one that is long by itself; each with its place."""
    start = size = 0
    for place, line in enumerate(lines):
        if place > start and (place - start == most or size + len(line) > MOST_CHARACTERS):
            yield start, lines[start:place]
            start, size = place, 0
        size += len(line)
    if lines:
        yield start, lines[start:]
