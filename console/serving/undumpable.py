"""Keeps a process's memory and first environment from others of the same user, where Linux does.

A command that an agent runs has the rights of the server's user. Without this it could read the
server's environment, and with it the keys, out of /proc. It ends core dumps of this process, and
debuggers need root. A root's command may still read everything.
"""

from __future__ import annotations

import ctypes
import sys

PR_SET_DUMPABLE = 4


def hide_memory() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
