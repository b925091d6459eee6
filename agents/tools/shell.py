"""The tool that runs a command in the workspace.

A command has the rights of the server's user. What it inherits is limited here (no variable and
no open file of the server), how long it may run, and how much of its output is kept.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Self, cast

from pydantic import BaseModel, Field

from agents import umask
from agents.pools import PROCESSES
from agents.tools import supervisor
from agents.tools.base import Tool, ToolFailed, ToolResult, typed_tool

DEFAULT_SECONDS = 120
MOST_SECONDS = 600
LONGEST_COMMAND = 100_000  # bytes; Linux takes no single argument over 128 KiB
LONGEST_STOP = supervisor.GRACE + supervisor.PATIENCE + 2.0  # seconds
DRAIN = 1.0  # seconds for output that is still in the pipe
SWEEP = 2.0  # seconds
ELSEWHERE = " On this system, processes that leave the command's process group are not ended."


class Shell(BaseModel):
    """Run a command with the shell, in the workspace's folder, and get what it prints.

    There is no input and no terminal. Each call begins anew in the workspace, and everything it
    started ends with it, background processes too.
    """

    command: str = Field(description="As typed at a prompt, such as: ls -l docs | head.")
    timeout_s: int = Field(
        default=DEFAULT_SECONDS, ge=1, le=MOST_SECONDS, description="Seconds it may take."
    )


def shell_tools(root: Path) -> list[Tool]:
    """The one tool, whose commands begin in the folder `root`."""

    async def run(args: Shell) -> ToolResult:
        return await run_command(root, args.command, args.timeout_s)

    tool = typed_tool("shell", Shell, run)
    if not supervisor.IS_LINUX:
        tool = replace(tool, description=tool.description + ELSEWHERE)
    return [tool]


async def run_command(root: Path, command: str, seconds: int) -> ToolResult:
    """What the command printed, and its exit code."""
    check_runnable(command)
    scratch = Path(tempfile.mkdtemp(prefix="planside-"))  # its home, and for temporary files
    try:
        call = await start(root, command, scratch)
        try:
            is_in_time = await within(seconds, call.ended)
        finally:
            await to_the_end(call.stop())
    finally:
        await to_the_end(PROCESSES.run(remove, scratch))
    text, code = call.output.text(), call.exit_code
    if not is_in_time:
        output = f"Its output so far:\n{text}" if text else "It had printed nothing."
        sentence = f"The command was ended after {seconds} s, its time limit. {output}"
        raise ToolFailed(sentence, {"timed_out": True})
    shown = text or "[no output]"
    if code is None:
        shown = f"{text}\n[ended by killing or halting the process that watched over it]".lstrip()
    elif code:
        shown = f"{text}\n[exit code {code}]".lstrip("\n")
    return ToolResult(shown, body=text, facts={"exit_code": -1 if code is None else code})


def check_runnable(command: str) -> None:
    try:
        size = len(command.encode())
    except UnicodeEncodeError:
        raise ToolFailed("The command holds half a character, which no shell takes.") from None
    if "\0" in command:
        raise ToolFailed("The command holds a NUL character, which no shell takes.")
    if not command.strip():
        raise ToolFailed("The command is empty.")
    if size > LONGEST_COMMAND:
        raise ToolFailed(
            f"The command is too long: up to {LONGEST_COMMAND:,} bytes are run. "
            "Write it to a file and run that."
        )


async def start(root: Path, command: str, scratch: Path) -> Supervised:
    variables = environment(scratch)
    shell = shutil.which("bash", path=variables["PATH"]) or "/bin/sh"
    try:
        await PROCESSES.run(root.mkdir, parents=True, exist_ok=True)
        return await Supervised.start([shell, "-c", "--", command], root, variables)
    except OSError as error:
        reason = os.strerror(error.errno or 0).lower()
        raise ToolFailed(f"The command could not be started in the workspace: {reason}.") from None


def environment(scratch: Path) -> dict[str, str]:
    """All the variables of a command: nothing else of the server's gets there.

    The path leads to the person's own programs, without those of the server's environment.
    """
    folders = [Path(each) for each in os.get_exec_path()]
    own = Path(sys.prefix) if sys.prefix != sys.base_prefix else None
    kept = [str(each) for each in folders if each.is_absolute() and each.parent != own]
    return {
        "HOME": str(scratch),
        "LANG": "C.UTF-8",
        "PATH": os.pathsep.join(kept) or os.defpath,
        "TERM": "dumb",
        "TMPDIR": str(scratch),
    }


def remove(folder: Path) -> None:
    """With the folders that a command has closed, as some package managers do."""
    with suppress(OSError):
        folder.chmod(0o700)
    for inside, names, _ in os.walk(folder):
        for path in (Path(inside, name) for name in names):
            if not path.is_symlink():
                with suppress(OSError):  # another user's
                    path.chmod(0o700)  # before the walk goes into it
    shutil.rmtree(folder, ignore_errors=True)


# A command under the supervisor, as the server sees it: start, end, what is kept of its output.


class Supervised(asyncio.SubprocessProtocol):
    """One command."""

    def __init__(self) -> None:
        self.output = Output()
        self.ended = asyncio.Event()
        self.silent = asyncio.Event()

    @classmethod
    async def start(cls, arguments: list[str], folder: Path, environment: dict[str, str]) -> Self:
        """Raises OSError."""
        supervisor.adopt_orphans()
        _, call = await asyncio.get_running_loop().subprocess_exec(
            cls,
            *supervisor.PROGRAM,
            *arguments,
            cwd=folder,
            env=environment,
            stderr=asyncio.subprocess.STDOUT,
            process_group=0,  # and our session: no command gets in there
            umask=umask.persons(),
        )
        return call

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.SubprocessTransport, transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.output.add(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            self.silent.set()

    def process_exited(self) -> None:
        self.ended.set()

    @property
    def exit_code(self) -> int | None:
        """None where the supervisor was killed and cannot tell."""
        code = self.transport.get_returncode()
        return None if code is None or code < 0 else code

    async def stop(self) -> None:
        """Nothing of the command is left afterwards, whether it had ended or not."""
        standard_input = self.transport.get_pipe_transport(0)
        if standard_input:
            standard_input.close()
        pid = self.transport.get_pid()
        if not self.ended.is_set():
            with suppress(OSError):
                os.kill(pid, signal.SIGCONT)  # its command may have halted it
        await within(LONGEST_STOP, self.ended)
        if self.exit_code is None:
            await PROCESSES.run(supervisor.end_adopted, pid, SWEEP)
            await within(DRAIN, self.ended)
        await within(DRAIN, self.silent)
        self.transport.close()


async def within(seconds: float, event: asyncio.Event) -> bool:
    """Whether the condition came true in time."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


async def to_the_end(work: Coroutine[object, object, None]) -> None:
    """A second cancel ends the waiting, not the work."""
    await asyncio.shield(asyncio.ensure_future(work))


# What a command prints: its beginning and its end are kept, however much there is between.

# Together with the notes it stays below what is kept of any tool's result.
MOST_CHARACTERS = 59_000
HALF = MOST_CHARACTERS // 2
WIDEST = 4  # bytes of one character in UTF-8
ROOM = (HALF + 1) * WIDEST  # bytes that surely hold half of the characters
MOST_UNREADABLE = 0.1  # of the characters; above it the output is no text
STRAY = re.compile("[\ud800-\udfff]")  # what stands for a byte that is not UTF-8


class Output:
    """A pipe's bytes in constant memory."""

    def __init__(self) -> None:
        self.size = 0
        self.head = bytearray()
        self.tail = bytearray()
        self.has_nul = False

    def add(self, chunk: bytes) -> None:
        self.size += len(chunk)
        self.has_nul = self.has_nul or b"\0" in chunk
        room = ROOM - len(self.head)
        self.head += chunk[:room]
        self.tail += chunk[room:] if room > 0 else chunk
        if len(self.tail) > ROOM:
            del self.tail[:-ROOM]

    def text(self) -> str:
        """The output for a reader, with a note where something is missing."""
        is_whole = self.size == len(self.head) + len(self.tail)
        pieces = [self.head + self.tail] if is_whole else [self.head, self.tail]
        parts = [piece.decode(errors="surrogateescape") for piece in pieces]
        length = sum(map(len, parts))
        stray = length - sum(len(STRAY.sub("", part)) for part in parts)
        if self.has_nul or stray > MOST_UNREADABLE * length:
            return f"[binary output, {self.size:,} bytes]"
        if len(parts) == 1 and len(parts[0]) <= MOST_CHARACTERS:
            return plain(parts[0]).rstrip("\n")
        head, tail = parts[0][:HALF], parts[-1][-HALF:]
        cut = self.size - len(raw(head)) - len(raw(tail))
        return f"{plain(head)}\n[… {cut:,} bytes are left out here …]\n{plain(tail)}".rstrip("\n")


def raw(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def plain(text: str) -> str:
    return raw(text).decode(errors="replace")
