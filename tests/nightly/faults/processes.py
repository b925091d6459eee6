"""Which processes there are, as Linux tells."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple


class Running(NamedTuple):
    """A process. Its number may be given away again, but not with the same start."""

    pid: int
    parent: int
    began: int
    command: str


def running() -> list[Running]:
    found = [
        running_process(int(each.name)) for each in Path("/proc").iterdir() if each.name.isdecimal()
    ]
    return [each for each in found if each is not None]


def running_process(pid: int) -> Running | None:
    """None when it is over, or dead and only not yet asked for."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        words = (
            Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        )
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return (
        None if fields[0] == "Z" else Running(pid, int(fields[1]), int(fields[19]), words.strip())
    )


def below(pid: int) -> list[Running]:
    """All that a process has started, and what these have started."""
    everyone, found, level = running(), [], {pid}
    while level:
        children = [each for each in everyone if each.parent in level]
        found += children
        level = {each.pid for each in children}
    return found


def left_of(processes: list[Running], seconds: float) -> list[str]:
    """The commands of those that are still there after so long."""
    known = {(each.pid, each.began) for each in processes}
    end = time.monotonic() + seconds
    while True:
        left = [each.command for each in running() if (each.pid, each.began) in known]
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.02)


def megabytes(pid: int) -> float:
    """Resident memory."""
    status = Path(f"/proc/{pid}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024
