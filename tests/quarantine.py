"""The tests that failed by chance, as tests/quarantine.txt names them."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import NamedTuple

CLASSES = "12345678"
LIST = Path(__file__).with_suffix(".txt")


class Line(NamedTuple):
    test: str  # its file and function
    since: date
    kind: str  # one of the classes that tests/quarantine.txt begins with
    cause: str


def lines(text: str) -> list[Line]:
    """Raises ValueError for a line that leaves something out."""
    found = []
    for each in text.splitlines():
        if each and not each.startswith("#"):
            test, since, kind, cause = each.split(maxsplit=3)
            if kind not in set(CLASSES):
                raise ValueError(f"class {kind} is none of {CLASSES}")
            if len(cause.split()) < 3:
                raise ValueError(f"the cause of {test} is no sentence")
            found.append(Line(test, date.fromisoformat(since), kind, cause))
    return found
