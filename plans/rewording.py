"""What was kept, deleted and inserted between two texts, word by word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate

from plans.alignment import aligned
from plans.tokens import sentences, words

Pair = tuple[int, int]


class Op(StrEnum):
    KEPT = "kept"
    DELETED = "deleted"
    INSERTED = "inserted"


@dataclass(frozen=True)
class Run:
    """A piece of text with one fate."""

    op: Op
    text: str


@dataclass
class Piece:
    """Either kept, or deleted and inserted at the same place."""

    kept: str = ""
    deleted: str = ""
    inserted: str = ""


def reword(old: str, new: str) -> tuple[Run, ...]:
    """From one text to the other: kept and deleted are the old one, kept and inserted the new.

    >>> [run.text for run in reword("Build is green", "Build passes")]
    ['Build ', 'is green', 'passes']
    """
    if old == new:
        return as_runs([Piece(kept=old)])
    return as_runs(folded(pieces(words(old), words(new))))


def replace(old: str, new: str) -> tuple[Run, ...]:
    """The same, without comparing their words."""
    return as_runs([Piece(deleted=old, inserted=new) if old != new else Piece(kept=old)])


def as_runs(parts: Iterable[Piece]) -> tuple[Run, ...]:
    runs = (
        Run(op, text)
        for part in parts
        for op, text in zip(Op, (part.kept, part.deleted, part.inserted), strict=True)
    )
    return tuple(run for run in runs if run.text)


def pieces(old: list[str], new: list[str]) -> Iterator[Piece]:
    """Kept and changed pieces in turn."""
    kept: list[str] = []
    i = j = 0
    for at, to in [*matches(old, new), (len(old), len(new))]:
        if at > i or to > j:
            yield Piece(kept="".join(kept))
            yield Piece(deleted="".join(old[i:at]), inserted="".join(new[j:to]))
            kept = []
        kept += old[at : at + 1]
        i, j = at + 1, to + 1
    yield Piece(kept="".join(kept))


def matches(old: list[str], new: list[str]) -> Iterator[Pair]:
    """Words that stay: those of whole sentences that do, and some of the sentences between."""
    before, after = sentences(old), sentences(new)
    old_starts, new_starts = starts(before), starts(after)
    i = j = 0
    for at, to in [*aligned(before, after), (len(before), len(after))]:
        a, c = old_starts[i], new_starts[j]
        b, d = old_starts[at], new_starts[to]
        yield from ((a + x, c + y) for x, y in aligned(old[a:b], new[c:d]))
        whole = len(before[at]) if at < len(before) else 0
        yield from ((b + offset, d + offset) for offset in range(whole))
        i, j = at + 1, to + 1


def starts(parts: Sequence[Sequence[str]]) -> list[int]:
    """Where each part begins, and where the last one ends."""
    return list(accumulate((len(part) for part in parts), initial=0))


def folded(parts: Iterable[Piece]) -> list[Piece]:
    """A space or a letter that happens to be kept amid changed words is not shown by itself."""
    result: list[Piece] = []
    for part in parts:
        if part.kept or not (part.deleted or part.inserted):
            result.append(part)
        elif len(result) > 1 and is_crumb(result[-2], result[-1].kept, part):
            crumb = result.pop().kept
            result[-1].deleted += crumb + part.deleted
            result[-1].inserted += crumb + part.inserted
        else:
            result.append(part)
    return result


def is_crumb(before: Piece, kept: str, after: Piece) -> bool:
    both = (before.deleted or after.deleted) and (before.inserted or after.inserted)
    return bool(both) and len(kept.strip()) <= 2 and "\n" not in kept
