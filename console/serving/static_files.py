"""Style sheets and scripts, compressed once instead of at every request."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from filelock import FileLock


def collect() -> None:
    """Copy what is new into the home, each file beside its compressed twin.

    Servers that share a home do it one after the other; who finds all copied is done at once.
    """
    with FileLock(Path(settings.PLANSIDE_HOME) / ".static.lock"):
        call_command("collectstatic", interactive=False, verbosity=0)
