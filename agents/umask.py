"""Who may read the files that are made here.

Planside's own are for its user alone. In a folder of the person's own, files get the mode that the
person's programs would give them: a checkout stays as readable as it was.
"""

from __future__ import annotations

import os

PRIVATE = 0o077

_before = 0o022


def keep_private() -> None:
    """From now on for the whole process; called once, before anything is made."""
    global _before
    _before = os.umask(PRIVATE)


def persons() -> int:
    """The umask that Planside was started with."""
    return _before
