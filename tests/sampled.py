"""Some cases of a long table in `make test`, all of them at night.

`@pytest.mark.sampled(5)` runs five of a function's cases, always the same: such that each value of
each parameter is tried, if five are enough, and in another function others come first. `make nightly`
tries all, as does CASES=all.
"""

from collections import Counter, defaultdict
from zlib import crc32

import pytest


def left_for_the_night(items: list[pytest.Item]) -> set[pytest.Item]:
    """The cases that are not in their function's sample."""
    tables = defaultdict(list)
    for item in items:
        if mark := item.get_closest_marker("sampled"):
            tables[item.nodeid.partition("[")[0], *mark.args].append(item)
    left_out: set[pytest.Item] = set()
    for (name, most), cases in tables.items():
        first = crc32(name.encode()) % len(cases)
        left_out |= {*cases} - {*sample(cases[first:] + cases[:first], most)}
    return left_out


def sample(cases: list[pytest.Item], most: int) -> list[pytest.Item]:
    """As many, each with the values that were taken least before it."""
    taken: Counter[tuple[str, int]] = Counter()
    chosen: list[pytest.Item] = []
    left = list(cases)
    while left and len(chosen) < most:
        chosen.append(min(left, key=lambda case: sum(taken[value] for value in values(case))))
        left.remove(chosen[-1])
        taken.update(values(chosen[-1]))
    return chosen


def values(case: pytest.Item) -> set[tuple[str, int]]:
    return {(name, id(value)) for name, value in case.callspec.params.items()}
