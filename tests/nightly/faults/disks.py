"""A disk of a few megabytes that a test can fill to the last byte."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


class SmallDisk:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.filler = folder / "filler"

    def fill(self, leave: int = 0) -> None:
        """Until the system itself says that there is no room for a single byte; then `leave` bytes."""
        handle = os.open(self.filler, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        with suppress(OSError):
            while True:
                os.write(handle, b"x" * 4096)
        os.truncate(handle, os.fstat(handle).st_size - leave)
        os.close(handle)

    def make_room(self) -> None:
        self.filler.unlink()


@contextmanager
def small_disk(folder: Path, megabytes: int = 16) -> Iterator[SmallDisk]:
    """Held in memory; only root may mount one."""
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    if subprocess.run(["mount", *options], capture_output=True).returncode:
        pytest.skip("a small disk can be mounted by root only")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
