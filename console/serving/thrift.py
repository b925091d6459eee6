"""Memory that a server need not take."""

from __future__ import annotations

import ctypes
import gc
import sys
from contextlib import suppress

M_ARENA_MAX = -8  # malloc.h


def share_one_heap() -> None:
    """glibc gives each thread a heap of its own and returns little of it: some 10 MB under load.

    Threads of Python take turns anyway, so one heap is enough. Other C libraries know no such call.
    """
    if sys.platform == "linux":
        with suppress(AttributeError):
            ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


def leave_code_alone() -> None:
    """What was loaded by the start stays for good: the collector need not look at it again."""
    gc.collect()
    gc.freeze()
