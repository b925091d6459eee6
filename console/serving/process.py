"""What the server asks of its own process: little memory, and none that others can read.

A module of its own without imports of ours: a test runs it as another user.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from contextlib import suppress

M_ARENA_MAX = -8  # malloc.h
PR_SET_DUMPABLE = 4  # prctl.h


def use_one_malloc_arena() -> None:
    """glibc gives each thread a heap of its own and returns little of it: some 10 MB under load.

    Threads of Python take turns anyway, so one heap is enough. Other C libraries know no such call.
    """
    if sys.platform == "linux":
        with suppress(AttributeError):
            ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


def freeze_loaded_code() -> None:
    """What was loaded by the start stays for good: the collector need not look at it again.

    What comes and goes with a request is looked at every 10,000 objects instead of every 700.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)


def make_undumpable() -> None:
    """Keep memory and first environment from other processes of the same user, where Linux does.

    A command that an agent runs has the rights of the server's user. Without this it could read the
    server's environment, and with it the keys, out of /proc. It ends core dumps of the process, and
    debuggers need root. A root's command may still read everything.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
