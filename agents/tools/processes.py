"""A command under the supervisor, as the server sees it: start, end, what is kept of its output."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
import time
from collections.abc import Coroutine, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Self, cast

from agents import umask
from agents.tools import supervisor

# Isolated, without site-packages: it starts in a few milliseconds and reads no variable.
PROGRAM = (sys.executable, "-I", "-S", supervisor.__file__)
LONGEST_STOP = supervisor.GRACE + supervisor.PATIENCE + 2.0  # seconds
LAST_WORDS = 1.0  # seconds for output that is still in the pipe
SWEEP = 2.0  # seconds


class Supervised(asyncio.SubprocessProtocol):
    """One command. Its processes are known by the value of TMPDIR, a folder of this call alone."""

    def __init__(self, scratch: Path) -> None:
        self.output = Output()
        self.ended = asyncio.Event()
        self.silent = asyncio.Event()
        self.mark = f"TMPDIR={scratch}".encode()

    @classmethod
    async def start(
        cls, arguments: list[str], folder: Path, environment: dict[str, str], scratch: Path
    ) -> Self:
        """Raises OSError."""
        _, call = await asyncio.get_running_loop().subprocess_exec(
            lambda: cls(scratch),
            *PROGRAM,
            *arguments,
            cwd=folder,
            env=environment,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
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
        await within(LONGEST_STOP, self.ended)
        if self.exit_code is None:
            await asyncio.to_thread(sweep, self.mark)
            await within(LAST_WORDS, self.ended)
        await within(LAST_WORDS, self.silent)
        self.transport.close()


async def within(seconds: float, event: asyncio.Event) -> bool:
    """Whether it came to pass in time."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


async def to_the_end(work: Coroutine[object, object, None]) -> None:
    """A second cancel ends the waiting, not the work."""
    await asyncio.shield(asyncio.ensure_future(work))


def sweep(mark: bytes) -> None:
    """Kill what still carries the mark: a command can kill or halt the one who watches over it."""
    deadline = time.monotonic() + SWEEP
    while time.monotonic() < deadline and (found := list(marked(mark))):
        for pid in found:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def marked(mark: bytes) -> Iterator[int]:
    """The processes that were started with this variable; none where there is no /proc."""
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                yield int(entry.name)


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
        parts = [readable(piece) for piece in pieces]
        if self.has_nul or unreadable(parts) > MOST_UNREADABLE:
            return f"[binary output, {self.size:,} bytes]"
        if len(parts) == 1 and len(parts[0]) <= MOST_CHARACTERS:
            return plain(parts[0]).rstrip("\n")
        head, tail = parts[0][:HALF], parts[-1][-HALF:]
        cut = self.size - len(raw(head)) - len(raw(tail))
        return f"{plain(head)}\n[… {cut:,} bytes are left out here …]\n{plain(tail)}".rstrip("\n")


def readable(piece: bytearray) -> str:
    """The text, in which what is not UTF-8 can still be told apart."""
    return piece.decode(errors="surrogateescape")


def raw(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def plain(text: str) -> str:
    return raw(text).decode(errors="replace")


def unreadable(parts: list[str]) -> float:
    """Which part of the text is not text."""
    length = sum(map(len, parts))
    left = sum(len(STRAY.sub("", part)) for part in parts)
    return (length - left) / max(length, 1)
