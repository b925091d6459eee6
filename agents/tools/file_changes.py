"""What a call puts in a file in place of what: the lines that differ, and those around them.

It is kept before the file is written, so that no crash loses it, and only for people to read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from agents.text.diff import text_of_file, trim

CONTEXT = 3  # lines that stay, before and after those that differ
MOST_KEPT = 100_000  # characters of either side


@dataclass(frozen=True)
class FileChange:
    """From `line` on, `old` gives way to `new`. Sizes are bytes.

    Where that cannot be kept `left_out` says why (binary, too_long, unreadable) and both are empty.
    `path` is the file itself, as agents.tools.paths writes it, whatever links led there.
    """

    is_new: bool = False
    line: int = 1
    old: str = ""
    new: str = ""
    left_out: str = ""
    old_size: int = 0
    new_size: int = 0
    path: str = ""

    @property
    def changes_nothing(self) -> bool:
        return not (self.is_new or self.left_out) and self.old == self.new


def change_of(old: bytes | None, new: bytes) -> FileChange:
    """What differs between two contents of a file; None is that of a file that is not there."""
    old_size, new_size = len(old or b""), len(new)
    before, after = text_of_file(old or b""), text_of_file(new)
    if before is None or after is None:
        return FileChange(old is None, 1, "", "", "binary", old_size, new_size)
    line, before, after = differing(*lines_of(before, after))
    if max(len(before), len(after)) > MOST_KEPT:
        return FileChange(old is None, line, "", "", "too_long", old_size, new_size)
    return FileChange(old is None, line, before, after, "", old_size, new_size)


def lines_of(*texts: str) -> list[list[str]]:
    """Their lines; the end of the last one counts only where one text lacks it."""
    if all(text.endswith("\n") for text in texts if text):
        texts = tuple(text.removesuffix("\n") for text in texts)
    return [text.split("\n") if text else [] for text in texts]


def differing(old: list[str], new: list[str]) -> tuple[int, str, str]:
    """Where the lines that differ begin, from 1, and both sides of them."""
    if old == new:
        return 1, "", ""
    (start, _), (old_end, new_end) = trim(old, new, (0, 0), (len(old), len(new)), [])
    first = max(start - CONTEXT, 0)
    before, after = old[first : old_end + CONTEXT], new[first : new_end + CONTEXT]
    return first + 1, "\n".join(before), "\n".join(after)


Keep = Callable[[FileChange], None]


def keep_nothing(change: FileChange) -> None:
    pass


_keeper: ContextVar[Keep] = ContextVar("keeper", default=keep_nothing)


@contextmanager
def keeping(keep: Keep) -> Iterator[None]:
    """Calls in here have `keep` store what they are about to change, from their own thread."""
    token = _keeper.set(keep)
    try:
        yield
    finally:
        _keeper.reset(token)


def keep_change(change: FileChange) -> None:
    _keeper.get()(change)
