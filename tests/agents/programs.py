"""Programs that speak over pipes and run in this loop: what a command starts instead of a process.

    path = programs.add("small", serve)     # a command may name it, with words behind
    programs.started[-1].exit(-SIGKILL)     # what kill -9 does

What stands in is `asyncio.create_subprocess_exec`, the wire; of the product everything runs, the
end of a program when its lifeline is closed included. Any other command is a process as ever.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any


class Pipe:
    """A program's stdin, as asyncio has it of a process."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self.reader = reader
        self.is_closed = False

    def write(self, data: bytes) -> None:
        if self.is_closed:
            raise BrokenPipeError
        self.reader.feed_data(data)

    async def drain(self) -> None:
        await asyncio.sleep(0)

    def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            self.reader.feed_eof()


class Program:
    """A running one: to the product a process, to what runs in it its surroundings."""

    pid = -1  # there is no such process

    def __init__(self, run: Run, environ: dict[str, str], folder: Path, limit: int) -> None:
        self.environ, self.folder = environ, str(folder)
        self.input = asyncio.StreamReader(limit=2**24)
        self.stdin = Pipe(self.input)
        self.stdout = asyncio.StreamReader(limit=limit)
        self.stderr = asyncio.StreamReader()
        self.returncode: int | None = None
        self.calls_asleep = 0
        self.lifeline = -1
        self.task = asyncio.ensure_future(self.live(run))

    def end_with(self, lifeline: int) -> None:
        """As the supervisor does it: once nobody holds the other end of this pipe any more."""
        self.lifeline = os.dup(lifeline)
        asyncio.get_running_loop().add_reader(self.lifeline, self.exit, -signal.SIGTERM)

    async def live(self, run: Run) -> None:
        self.exit(await run(self) or 0)

    def say(self, text: str | bytes) -> None:
        if self.returncode is None:
            self.stdout.feed_data(text if isinstance(text, bytes) else text.encode())

    def complain(self, text: str) -> None:
        if self.returncode is None:
            self.stderr.feed_data(text.encode())

    def exit(self, code: int) -> None:
        """At once, whatever it is doing."""
        if self.returncode is not None:
            return
        self.returncode = code
        self.task.cancel()
        self.stdout.feed_eof()
        self.stderr.feed_eof()
        if self.lifeline >= 0:
            asyncio.get_running_loop().remove_reader(self.lifeline)
            os.close(self.lifeline)

    # As the SDK wants a server's own two ends.

    async def __aiter__(self) -> AsyncIterator[str]:
        while line := await self.input.readline():
            yield line.decode()

    async def write(self, text: str) -> None:
        self.say(text)

    async def flush(self) -> None:
        await asyncio.sleep(0)


Run = Callable[[Program], Awaitable[int | None]]


class Programs:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.known: dict[str, Run] = {}
        self.started: list[Program] = []
        self.start_process = asyncio.create_subprocess_exec

    def add(self, name: str, run: Run) -> str:
        """The path by which a command starts it."""
        self.folder.mkdir(exist_ok=True)
        path = self.folder / name
        path.touch(mode=0o755)
        self.known[str(path)] = run
        return str(path)

    @property
    def running(self) -> list[Program]:
        return [each for each in self.started if each.returncode is None]

    async def start(self, *command: str, **options: Any) -> object:
        """In the place of asyncio.create_subprocess_exec."""
        run = next((self.known[word] for word in command if word in self.known), None)
        if run is None:
            return await self.start_process(*command, **options)
        program = Program(run, options["env"], options["cwd"], options["limit"])
        for lifeline in options["pass_fds"]:
            program.end_with(lifeline)
        self.started.append(program)
        return program

    def end(self) -> None:
        for program in self.running:
            with suppress(RuntimeError):  # its loop is closed
                program.exit(-signal.SIGKILL)


async def for_ever() -> None:
    await asyncio.Event().wait()


def prints(text: str = "", complaint: str = "", code: int = 0) -> Run:
    """A program that says this and ends."""

    async def run(program: Program) -> int:
        program.say(text)
        program.complain(complaint)
        await asyncio.sleep(0.01)
        return code

    return run


def repeats(text: str) -> Run:
    """A program that never stops saying this."""

    async def run(program: Program) -> None:
        while True:
            program.say(text * 1000)
            await asyncio.sleep(0.01)

    return run


def processes_with(variable: str) -> list[int]:
    """The real processes that were started with it; none where there is no /proc."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if variable.encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found


def running(command: str) -> list[int]:
    """The real processes of that command which are not just waiting to be reaped."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (entry / "cmdline").read_bytes().split(b"\0")[:-1] == command.encode().split():
                found.append(int(entry.name))
    return found
