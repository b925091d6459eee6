"""Runs one command and lets nothing that it started outlive it. A program, not a module of ours.

    python supervisor.py [--lifeline DESCRIPTOR SECONDS] PROGRAM ARGUMENT…

It adopts every process of the command that loses its parent (PR_SET_CHILD_SUBREAPER), so whatever
forks away ends up as its direct child: those it may signal without a race, because a child's
number is not given away again before its parent has asked for it. The end of its standard input
means stop, so nothing runs on when the server is killed. Where there is no such adoption (other
systems than Linux), what leaves the command's process group is not found.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

# Isolated, without site-packages: it starts in a few milliseconds and reads no variable.
PROGRAM = (sys.executable, "-I", "-S", __file__)
GRACE = 1.0  # seconds between asking to end and ending by force
PATIENCE = 5.0  # seconds of ending by force; what another user owns does not die of it
INTERVAL = 0.01  # seconds between two checks

IS_LINUX = sys.platform == "linux"
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    """The outer process only reports: were it killed, the inner one would end the command.

    With --lifeline the command keeps the standard input, and the end of that descriptor means stop.
    """
    arguments, lifeline, grace = sys.argv[1:], 0, GRACE
    if arguments[0] == "--lifeline":
        lifeline, grace, arguments = int(arguments[1]), float(arguments[2]), arguments[3:]
    outer = os.getpid()
    inner = os.fork()
    if inner:
        release_pipes(lifeline)
        status = os.waitpid(inner, 0)[1]
        if os.WIFSIGNALED(status):  # by a signal only if somebody killed the inner one
            os.kill(os.getpid(), signal.SIGKILL)
        os._exit(os.waitstatus_to_exitcode(status))
    if IS_LINUX:  # and be woken, as by the end of a child, when the outer process is killed
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGCHLD, 0, 0, 0)
    command = Command(arguments, lifeline, outer)
    release_pipes(lifeline)
    command.wait()
    command.signal_all(signal.SIGTERM, grace)
    command.signal_all(signal.SIGKILL, PATIENCE)
    # As a shell counts: 128 and the number of the signal that ended it.
    code = 1 if command.status is None else os.waitstatus_to_exitcode(command.status)
    os._exit(code if code >= 0 else 128 - code)


class Command:
    """The command's process, and with it all that descends from it."""

    def __init__(self, arguments: list[str], lifeline: int, outer: int) -> None:
        self.lifeline, self.outer = lifeline, outer
        # A pipe to wait at, since select() alone does not notice the end of a child.
        self.alert, bell = os.pipe()
        os.set_blocking(bell, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(bell, warn_on_full_buffer=False)
        self.status: int | None = None
        self.pid = start(arguments, lifeline)

    def wait(self) -> None:
        """Until the command has ended, the server wants it to, or the outer process is gone."""
        while self.reap() and self.status is None and os.getppid() == self.outer:
            if self.lifeline in self.pause((self.lifeline, self.alert)):
                return

    def signal_all(self, sign: signal.Signals, seconds: float) -> None:
        """Each time a process dies its children become ours, and get theirs at the next check."""
        signalled: set[int] = set()
        deadline = time.monotonic() + seconds
        if not IS_LINUX:
            signal_group(self.pid, sign)
        while self.reap() and time.monotonic() < deadline:
            for pid in children() if IS_LINUX else ():
                if sign is signal.SIGTERM and pid in signalled:
                    continue
                signalled.add(pid)
                # To its group first: a group gets it at once, so none can fork out of it between.
                with suppress(OSError):
                    group = os.getpgid(pid)
                    if group != os.getpgrp():
                        signal_group(group, sign)
                    os.kill(pid, sign)
            self.pause((self.alert,), INTERVAL)

    def reap(self) -> bool:
        """Collect every child that has ended; whether there are others."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if not pid:
                return True
            if pid == self.pid:
                self.status = status

    def pause(self, sources: tuple[int, ...], seconds: float | None = None) -> list[int]:
        """Until a child ends or the input does."""
        ready: list[int] = select.select(sources, (), (), seconds)[0]
        if self.alert in ready:
            os.read(self.alert, 4096)
        return ready


def release_pipes(lifeline: int) -> None:
    """What the command has for itself: else its end, or its closing of them, would go unseen."""
    if lifeline:
        nothing = os.open(os.devnull, os.O_RDWR)
        for pipe in (0, 1, 2):
            os.dup2(nothing, pipe)


def start(arguments: list[str], lifeline: int) -> int:
    """The command in a session of its own, its signals as the system has them.

    Without input, unless a lifeline tells when to stop.
    """
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        if lifeline:
            os.close(lifeline)
        else:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(ignored, signal.SIG_DFL)
        os.execv(arguments[0], arguments)
    except OSError as error:
        os.write(2, f"{arguments[0]} cannot be started: {os.strerror(error.errno or 0)}\n".encode())
    finally:
        os._exit(127)


def signal_group(group: int, sign: signal.Signals) -> None:
    with suppress(OSError):
        os.killpg(group, sign)


def children() -> Iterator[int]:
    """Our direct children, the youngest first: one that forks and exits for ever must be caught."""
    own_pid = os.getpid()
    with os.scandir("/proc") as entries:
        pids = [int(entry.name) for entry in entries if entry.name.isdecimal()]
    for pid in sorted(pids, reverse=True):
        parent = 0
        with suppress(OSError, IndexError):  # it may be gone
            handle = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
            try:
                # The name comes before the parent, in parentheses, and may hold anything.
                parent = int(os.read(handle, 4096).rpartition(b")")[2].split()[1])
            finally:
                os.close(handle)
        if parent == own_pid:
            yield pid


if __name__ == "__main__":
    main()
