"""What a text costs that is ten times as long: about ten times as much, and not a hundred times."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

MOST = 30  # times as much
UNFELT = 0.25  # seconds of processor time


def demand_proportion(work: Callable[[T], object], short: T, long: T) -> None:
    """Fail where the text of ten times the length costs over thirty times the processor time, and
    enough to be felt. Both are measured now, so a slow machine changes nothing."""
    few, many = (min(seconds(work, text) for _ in range(3)) for text in (short, long))
    assert many < MOST * few + UNFELT, f"{few:.4f} s, and {many:.4f} s for ten times as much"


def seconds(work: Callable[[T], object], text: T) -> float:
    began = time.process_time()
    work(text)
    return time.process_time() - began
