"""Whose change it is, as far as times and tools tell.

The kernel notes when a file was changed last. What a file tool wrote, its call says; anything may
have been written by a command, or a service, while it ran; and what changed at another time, the
turn did not change.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

CLOCK = 50_000_000  # by how much a file's time may lie behind ours, nanoseconds

Window = tuple[int, int]  # from and until, nanoseconds since 1970


class Origin(StrEnum):
    OWN = "own"
    OUTSIDE = "outside"  # by a person, another turn or another program
    UNSURE = "unsure"  # more than one wrote there, or may have


@dataclass
class Windows:
    """When calls of a turn may have written: `files` those that name theirs, `wide` all others.

    `began` is when the folder was recorded before.
    """

    began: int
    wide: list[Window] = field(default_factory=list)
    files: dict[bytes, list[Window]] = field(default_factory=dict)
    others_wide: list[Window] = field(default_factory=list)
    others_files: dict[bytes, list[Window]] = field(default_factory=dict)

    def origin(self, path: bytes, changed: int) -> Origin:
        """Of a file that was `changed` last at that moment."""
        others = is_within(changed, self.others_files.get(path, ()))
        if is_within(changed, self.files.get(path, ())):
            return Origin.UNSURE if others else Origin.OWN
        if not others and is_within(changed, self.wide):
            return Origin.UNSURE if is_within(changed, self.others_wide) else Origin.OWN
        return Origin.UNSURE if path in self.files else Origin.OUTSIDE  # written over since

    def origin_of_gone(self, path: bytes, changed: int) -> Origin:
        """Of a file that is not there, whose folder was changed last at that moment: it went then,
        or before, as far as a command ran before. Where a file tool has written at that moment,
        nobody else need have been there."""
        origin = self.origin(path, changed)
        if origin != Origin.OUTSIDE or not has_begun(self.wide, changed):
            return origin
        named = (*self.files.values(), *self.others_files.values())
        is_told = any(is_within(changed, each) for each in named)
        is_ours = is_told and not has_begun(self.others_wide, changed)
        return Origin.OWN if is_ours else Origin.UNSURE

    def was_there(self, changed: int) -> bool:
        """Whether it is as it was before the turn, although no recording has it."""
        return changed < self.began - CLOCK


def is_within(moment: int, windows: list[Window] | tuple[()]) -> bool:
    return any(begin - CLOCK <= moment <= end for begin, end in windows)


def has_begun(windows: list[Window], moment: int) -> bool:
    return any(begin - CLOCK <= moment for begin, _ in windows)
