"""Which places of two sequences belong together, in the same order in both."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise

Items = Sequence[Hashable]
Pair = tuple[int, int]

# A gap of more pairs in which nothing is unique counts as replaced, and so does what is left when
# the work is used up: texts that are hard to compare are shown coarsely, not late.
MOST_PAIRS = 10_000
MOST_WORK = 200_000


def longest_increasing(numbers: Sequence[int]) -> list[int]:
    """The places of a longest increasing subsequence; no number comes twice."""
    ends: list[int] = []  # the smallest number at which a run of each length ends, and its place
    places: list[int] = []
    before: list[int] = []
    for place, number in enumerate(numbers):
        length = bisect_left(ends, number)
        ends[length : length + 1] = [number]
        places[length : length + 1] = [place]
        before.append(places[length - 1] if length else -1)
    found: list[int] = []
    place = places[-1] if places else -1
    while place >= 0:
        found.append(place)
        place = before[place]
    return found[::-1]


def aligned(old: Items, new: Items) -> list[Pair]:
    """Pairs of places with equal items, found from the ends and from what is unique."""
    pairs: list[Pair] = []
    gaps = [((0, 0), (len(old), len(new)))]
    work = MOST_WORK
    while gaps and work > 0:
        start, end = trim(old, new, *gaps.pop(), pairs)
        before, after = old[start[0] : end[0]], new[start[1] : end[1]]
        work -= len(before) + len(after)
        if not before or not after:
            continue
        anchors = unique_pairs(before, after)
        if not anchors and len(before) * len(after) <= MOST_PAIRS:
            work -= len(before) * len(after)
            anchors = compared(before, after)
            pairs += [(start[0] + i, start[1] + j) for i, j in anchors]
        elif anchors:
            fixed = [(start[0] + i, start[1] + j) for i, j in anchors]
            pairs += fixed
            gaps += between(start, fixed, end)
    return sorted(pairs)


def trim(old: Items, new: Items, start: Pair, end: Pair, pairs: list[Pair]) -> tuple[Pair, Pair]:
    """Pair what is equal at both ends; what is left in the middle."""
    (a, c), (b, d) = start, end
    while a < b and c < d and old[a] == new[c]:
        pairs.append((a, c))
        a, c = a + 1, c + 1
    while a < b and c < d and old[b - 1] == new[d - 1]:
        b, d = b - 1, d - 1
        pairs.append((b, d))
    return (a, c), (b, d)


def unique_pairs(old: Items, new: Items) -> list[Pair]:
    """What occurs once in both, as far as it is in the same order."""
    counts = Counter(new)
    place_of = {item: place for place, item in enumerate(new) if counts[item] == 1}
    counts = Counter(old)
    pairs = [(i, place_of[x]) for i, x in enumerate(old) if counts[x] == 1 and x in place_of]
    return [pairs[place] for place in longest_increasing([j for _, j in pairs])]


def compared(old: Items, new: Items) -> list[Pair]:
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return [(a + offset, b + offset) for a, b, size in blocks for offset in range(size)]


def between(start: Pair, fixed: list[Pair], end: Pair) -> Iterator[tuple[Pair, Pair]]:
    """The gaps that are left around pairs."""
    edges = [(start[0] - 1, start[1] - 1), *fixed, end]
    for (i, j), until in pairwise(edges):
        yield (i + 1, j + 1), until
