"""The tool that runs a command in the workspace.

A command has the rights of the server's user. What it inherits is limited here (no variable and
no open file of the server), how long it may run, and how much of its output is kept.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path

from pydantic import BaseModel, Field

from agents.tools import supervisor
from agents.tools.base import Tool, ToolFailed, ToolResult, typed_tool
from agents.tools.processes import Supervised, to_the_end, within

DEFAULT_SECONDS = 120
MOST_SECONDS = 600
LONGEST_COMMAND = 100_000  # bytes; Linux takes no single argument over 128 KiB
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

    async def run(asked: Shell) -> ToolResult:
        return await run_command(root, asked.command, asked.timeout_s)

    tool = typed_tool("shell", Shell, run)
    if not supervisor.IS_LINUX:
        tool = replace(tool, description=tool.description + ELSEWHERE)
    return [tool]


async def run_command(root: Path, command: str, seconds: int) -> ToolResult:
    """What the command printed, and its exit code."""
    must_be_runnable(command)
    async with scratch_folder() as scratch:
        call = await started(root, command, scratch)
        try:
            is_in_time = await within(seconds, call.ended)
        finally:
            await to_the_end(call.stop())
    if not is_in_time:
        raise ToolFailed(overdue(call, seconds))
    return ToolResult(said(call), body=call.output.text(), facts={"exit_code": exit_code(call)})


def must_be_runnable(command: str) -> None:
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


async def started(root: Path, command: str, scratch: Path) -> Supervised:
    with starting():
        make_folder(root)
        arguments = [a_shell(), "-c", "--", command]
        return await Supervised.start(arguments, root, environment(scratch), scratch)


def make_folder(root: Path) -> None:
    root.mkdir(parents=True, exist_ok=True)


@contextmanager
def starting() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno or 0).lower()
        raise ToolFailed(f"The command could not be started in the workspace: {reason}.") from None


def said(call: Supervised) -> str:
    text = call.output.text()
    if call.exit_code is None:
        return f"{text}\n[ended by killing the process that watched over it]".lstrip()
    if call.exit_code:
        return f"{text}\n[exit code {call.exit_code}]".lstrip("\n")
    return text or "[no output]"


def exit_code(call: Supervised) -> int:
    """-1 where nobody knows it."""
    return -1 if call.exit_code is None else call.exit_code


def overdue(call: Supervised, seconds: int) -> str:
    text = call.output.text()
    output = f"Its output so far:\n{text}" if text else "It had printed nothing."
    return f"The command was ended after {seconds} s, its time limit. {output}"


@asynccontextmanager
async def scratch_folder() -> AsyncIterator[Path]:
    """A folder for this call alone: its home and its place for temporary files."""
    folder = Path(tempfile.mkdtemp(prefix="planside-"))
    try:
        yield folder
    finally:
        await to_the_end(asyncio.to_thread(remove, folder))


def remove(folder: Path) -> None:
    """With the folders that a command has made read-only, as some package managers do."""
    for inside, _, _ in os.walk(folder):
        Path(inside).chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


def environment(scratch: Path) -> dict[str, str]:
    """All the variables of a command: nothing else of the server's gets there."""
    return {
        "HOME": str(scratch),
        "LANG": "C.UTF-8",
        "PATH": search_path(),
        "TERM": "dumb",
        "TMPDIR": str(scratch),
    }


def search_path() -> str:
    """Where the person's own programs are found, without those of the server's environment."""
    folders = [Path(each) for each in os.get_exec_path()]
    mine = Path(sys.prefix) if sys.prefix != sys.base_prefix else None
    kept = [each for each in folders if each.is_absolute() and each.parent != mine]
    return os.pathsep.join(map(str, kept)) or os.defpath


def a_shell() -> str:
    return shutil.which("bash", path=search_path()) or "/bin/sh"
