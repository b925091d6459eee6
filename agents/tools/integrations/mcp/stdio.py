"""An MCP server as a child process that speaks JSON lines.

Not the SDK's own: its reader has no limit, and its end may take longer than ours has. It runs under
the supervisor of the shell's commands, so neither it nor what it has started outlives us, even if
we are killed.
"""

from __future__ import annotations

import asyncio
import errno
import os
import shlex
import shutil
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from agents import umask
from agents.tools.integrations.mcp.errors import (
    MOST_BYTES,
    TOO_LONG,
    ServerFailed,
    fault_of,
    one_line,
)
from agents.tools.integrations.mcp.server import Server
from agents.tools.supervisor import PROGRAM

MOST_NOISE = 256 * 1024  # bytes of other text between two messages
# Seconds a server has after its stdin was closed, and again after SIGTERM.
GRACE = 0.4
KEPT_OF_STDERR = 2000
INHERITED = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ")

Incoming = MemoryObjectSendStream[SessionMessage | Exception]
Outgoing = MemoryObjectReceiveStream[SessionMessage]


class Child:
    """The process, and the last it wrote to stderr. It is gone when it ended without our asking."""

    def __init__(self, process: Process, lifeline: int) -> None:
        self.process = process
        self.lifeline = lifeline  # closed, it tells the supervisor to end all of it
        self.complaint = b""
        self.is_ending = False
        self.is_gone = False
        self.verdict = ""  # why it is listened to no longer

    def last_words(self) -> str:
        """Its exit code and last line, for a sentence about its end."""
        if self.verdict:
            return self.verdict
        lines = self.complaint.decode(errors="replace").strip().splitlines()
        code = self.process.returncode
        told = "" if code is None else f" with exit code {code}"
        return f"it ended{told}" + (f": {one_line(lines[-1])}" if lines else "")


@asynccontextmanager
async def stdio(server: Server, over: Callable[[], None]) -> AsyncIterator[TransportStreams]:
    """The transport. `over` is called when the server is gone; leaving then says why it went."""
    child = await started(server)
    to_session, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write_stream, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read_messages, child, to_session, over)
            tasks.start_soon(write_messages, child, from_session)
            tasks.start_soon(listen_to_complaints, child)
            try:
                yield read_stream, write_stream
            finally:
                child.is_ending = True
                with anyio.CancelScope(shield=True):
                    await ended(child)
                tasks.cancel_scope.cancel()
    except Exception:
        if not child.is_gone:
            raise
    finally:
        for stream in (to_session, read_stream, write_stream, from_session):
            stream.close()
    if child.is_gone:
        raise ServerFailed(child.last_words())


async def started(server: Server) -> Child:
    """The server under a supervisor, which ends it with all its children."""
    surroundings = environment(server)
    try:
        name, *arguments = shlex.split(server.command)
        program = found_program(name, surroundings)
        return await supervised([program, *arguments], surroundings)
    except OSError as error:
        raise ServerFailed(f"{name} cannot be started: {error.strerror}") from None
    except (ValueError, IndexError, TypeError):
        raise ServerFailed("its command is not one that a shell would understand") from None


async def supervised(command: list[str], surroundings: dict[str, str]) -> Child:
    told, lifeline = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *PROGRAM,
            *("--lifeline", str(told), str(GRACE)),
            *command,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=surroundings,
            cwd=Path.home(),
            limit=MOST_BYTES,
            pass_fds=(told,),
            start_new_session=True,
            umask=umask.persons(),
        )
    except BaseException:
        os.close(lifeline)
        raise
    finally:
        os.close(told)
    return Child(process, lifeline)


def found_program(name: str, surroundings: Mapping[str, str]) -> str:
    """Its whole path, looked for as a shell would. Raises OSError."""
    if "/" in name:
        path = str(Path.home() / name)
    else:
        path = shutil.which(name, path=surroundings.get("PATH", os.defpath)) or name
    if not Path(path).exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    if not os.access(path, os.X_OK) or Path(path).is_dir():
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return path


def environment(server: Server) -> dict[str, str]:
    """The few variables that every program needs, and those that were registered."""
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    return inherited | dict(server.headers)


async def read_messages(child: Child, session: Incoming, over: Callable[[], None]) -> None:
    """Pass on each message until there are no more, or what comes is none."""
    async with session:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            await pass_on_messages(child, session)
        if not child.is_ending:
            child.is_gone = True
            await has_ended(child.process, GRACE / 4)  # mostly at once; then its code is known
            over()


async def pass_on_messages(child: Child, session: Incoming) -> None:
    """Each line that is a message; some noise between them is passed over."""
    assert child.process.stdout
    noise = 0
    try:
        while line := await child.process.stdout.readline():
            if fault := fault_of(line):
                child.verdict = fault
                return
            message = message_in(line)
            noise = 0 if message else noise + len(line)
            if message:
                await session.send(message)
            elif noise > MOST_NOISE:
                child.verdict = "what it prints is not MCP"
                return
    except ValueError:  # the reader's own word for it
        child.verdict = TOO_LONG


def message_in(line: bytes) -> SessionMessage | None:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        return None


async def write_messages(child: Child, session: Outgoing) -> None:
    """A server that reads no more is noticed by the reader, or by a call's limit of time."""
    assert child.process.stdin
    async with session:
        with suppress(OSError):
            async for each in session:
                text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                child.process.stdin.write(text.encode() + b"\n")
                await child.process.stdin.drain()


async def listen_to_complaints(child: Child) -> None:
    assert child.process.stderr
    while chunk := await child.process.stderr.read(4096):
        child.complaint = (child.complaint + chunk)[-KEPT_OF_STDERR:]


async def ended(child: Child) -> None:
    """Ask it to end; if it does not, the supervisor makes it end, with what it has left behind."""
    process = child.process
    assert process.stdin
    process.stdin.close()
    await has_ended(process, GRACE)
    os.close(child.lifeline)
    await has_ended(process, 2 * GRACE)
    transport = getattr(process, "_transport", None)
    if transport:  # a grandchild that escaped may hold the pipes open for ever
        transport.close()


async def has_ended(process: Process, seconds: float) -> bool:
    """Looks at the code: wait() would also wait for whoever else holds the pipes."""
    end = asyncio.get_running_loop().time() + seconds
    while process.returncode is None:
        if asyncio.get_running_loop().time() > end:
            return False
        await asyncio.sleep(0.01)
    return True
