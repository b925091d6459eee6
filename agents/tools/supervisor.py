"""Runs one command and lets nothing that it started outlive it. A program, not a module of ours.

    python supervisor.py [--lifeline DESCRIPTOR SECONDS] PROGRAM ARGUMENT…

It adopts every process of the command that loses its parent (PR_SET_CHILD_SUBREAPER), so whatever
forks away ends up as its direct child, whatever its session, name or environment: those it may
signal without a race, because a child's number is not given away again before its parent has asked
for it. The end of its standard input means stop, so nothing runs on when the server is killed.

A command has the same user, so it can kill who watches over it. Three do, each adopting what the
one below leaves behind: the inner process, the outer one, the server (`end_adopted`). Where the
server runs with no_new_privs, Linux 6.12 also keeps a command from signalling or tracing any of
them (Landlock), so that it cannot kill all three at once; their limits it can still set (prlimit).
Elsewhere that would take from it what it may do: sudo. Where there is no adoption (other systems
than Linux), what leaves the command's process group is not found.
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
CALM = 3  # looks in a row at which the server has nothing to end

IS_LINUX = sys.platform == "linux"
PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
PR_GET_NO_NEW_PRIVS = 39
# Of Landlock, with the same numbers on every machine.
CREATE_RULESET, RESTRICT_SELF = 444, 446
SCOPE_SIGNAL = 2
HAS_SCOPES = 6  # its first version with them, of Linux 6.12


def main() -> None:
    """With --lifeline the command keeps the standard input, and that one's end means stop."""
    arguments, lifeline, grace = sys.argv[1:], 0, GRACE
    if arguments[0] == "--lifeline":
        lifeline, grace, arguments = int(arguments[1]), float(arguments[2]), arguments[3:]
    adopt_orphans()
    prctl(PR_SET_DUMPABLE, 0)  # no debugger of the same user may halt it
    outer = os.getpid()
    inner = os.fork()
    if inner:
        watch_over(inner, lifeline)
    adopt_orphans()
    # And be woken, as by the end of a child, when the outer process is killed.
    prctl(PR_SET_PDEATHSIG, signal.SIGCHLD)
    command = Command(lifeline, outer)
    command.pid = start(arguments, lifeline)
    release_pipes(lifeline)
    command.wait()
    command.signal_all(signal.SIGTERM, grace)
    command.signal_all(signal.SIGKILL, PATIENCE)
    # As a shell counts: 128 and the number of the signal that ended it.
    code = 1 if command.status is None else os.waitstatus_to_exitcode(command.status)
    os._exit(code if code >= 0 else 128 - code)


def watch_over(inner: int, lifeline: int) -> None:
    """What the outer process does: report, and end everything if the inner one cannot."""
    release_pipes(lifeline)
    status = os.waitpid(inner, os.WUNTRACED)[1]
    if os.WIFSTOPPED(status):
        os.kill(inner, signal.SIGKILL)
        status = os.waitpid(inner, 0)[1]
    if os.WIFSIGNALED(status):  # by a signal only if somebody killed it
        Command(lifeline, 0).signal_all(signal.SIGKILL, PATIENCE)
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(os.waitstatus_to_exitcode(status))


class Command:
    """The command's process, and with it all that descends from it."""

    pid = 0  # of the first one

    def __init__(self, lifeline: int, outer: int) -> None:
        self.lifeline, self.outer = lifeline, outer
        # A pipe to wait at, since select() alone does not notice the end of a child.
        self.alert, bell = os.pipe()
        os.set_blocking(bell, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(bell, warn_on_full_buffer=False)
        self.status: int | None = None

    def wait(self) -> None:
        """Until the command has ended, the server wants it to, or the outer process is gone."""
        while self.reap() and self.status is None and os.getppid() == self.outer:
            if self.lifeline in self.pause((self.lifeline, self.alert)):
                return

    def signal_all(self, sign: signal.Signals, seconds: float) -> None:
        """Each time a process dies its children become ours, and get theirs at the next check."""
        signalled: set[int] = set()
        deadline = time.monotonic() + seconds
        if not IS_LINUX and self.pid:
            signal_group(self.pid, sign)
        while self.reap() and time.monotonic() < deadline:
            for pid, *_ in children():
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
            if confines():
                confine()
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


def children() -> Iterator[tuple[int, int, int]]:
    """Our direct children, each with its group and session; none where there is no /proc.

    The youngest first: one that forks and exits for ever must be caught.
    """
    if not IS_LINUX:
        return
    own_pid = os.getpid()
    with os.scandir("/proc") as entries:
        pids = [int(entry.name) for entry in entries if entry.name.isdecimal()]
    for pid in sorted(pids, reverse=True):
        with suppress(OSError, IndexError):  # it may be gone
            handle = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
            try:
                # The name comes before these, in parentheses, and may hold anything.
                fields = os.read(handle, 4096).rpartition(b")")[2].split()
            finally:
                os.close(handle)
            parent, group, session = map(int, fields[1:4])
            if parent == own_pid:
                yield pid, group, session


# What the server calls: the first before it starts a supervisor in a process group of its own, the
# second once that was killed or does not end.


def adopt_orphans() -> None:
    """Become the parent of every process below that loses its own."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def end_adopted(group: int, seconds: float) -> None:
    """End what is left of the supervisor in that group, and what came to us through its end.

    The processes that we start stay in our session, which no command can join.
    """
    deadline, own_session, calm = time.monotonic() + seconds, os.getsid(0), 0
    while calm < CALM and time.monotonic() < deadline:
        found = [pid for pid, its, session in children() if its == group or session != own_session]
        calm = 0 if found else calm + 1
        for pid in found:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                if pid != group:  # whoever started that one asks for its code
                    os.waitpid(pid, os.WNOHANG)
        time.sleep(INTERVAL)


def confines() -> bool:
    """Whether a command is kept from signalling others: its kernel can, and it could not sudo."""
    return prctl(PR_GET_NO_NEW_PRIVS) == 1 and system_call(CREATE_RULESET, None, 0, 1) >= HAS_SCOPES


def confine() -> None:
    """From now on neither this process nor what it starts can signal or trace any other."""
    scopes = bytes(16) + SCOPE_SIGNAL.to_bytes(8, sys.byteorder)  # no rule on files or network
    system_call(RESTRICT_SELF, system_call(CREATE_RULESET, scopes, len(scopes), 0), 0)


def prctl(option: int, value: int = 0) -> int:
    return int(ctypes.CDLL(None).prctl(option, value, 0, 0, 0)) if IS_LINUX else -1


def system_call(number: int, *arguments: bytes | int | None) -> int:
    """Below 0 where it failed."""
    words = (ctypes.c_long(each) if isinstance(each, int) else each for each in arguments)
    return int(ctypes.CDLL(None).syscall(ctypes.c_long(number), *words))


if __name__ == "__main__":
    try:
        main()
    finally:  # it ends by itself; who comes here has failed, and the one above takes over
        os.kill(os.getpid(), signal.SIGKILL)
