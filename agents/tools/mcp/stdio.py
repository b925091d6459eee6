"""An MCP server as a child process that speaks JSON lines.

Not the SDK's own: its reader has no limit, and its end may take longer than ours has.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from agents.tools.mcp.failures import ServerFailed, one_line
from agents.tools.mcp.server import Server

LONGEST_LINE = 16 * 1024 * 1024
MOST_NOISE = 256 * 1024  # bytes of other text between two messages
# Seconds a server has after its stdin was closed, and again after SIGTERM.
GRACE = 0.4
KEPT_OF_STDERR = 2000
INHERITED = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ")

Incoming = MemoryObjectSendStream[SessionMessage | Exception]
Outgoing = MemoryObjectReceiveStream[SessionMessage]


class Child:
    """The process, and the last it wrote to stderr. It is gone when it ended without our asking."""

    def __init__(self, process: Process) -> None:
        self.process = process
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
    child = Child(await started(server))
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
                    await ended(child.process)
                tasks.cancel_scope.cancel()
    except Exception:
        if not child.is_gone:
            raise
    finally:
        for stream in (to_session, read_stream, write_stream, from_session):
            stream.close()
    if child.is_gone:
        raise ServerFailed(child.last_words())


async def started(server: Server) -> Process:
    """A child in a process group of its own, so that its children can be ended with it."""
    try:
        command = shlex.split(server.command)
        return await asyncio.create_subprocess_exec(
            *command,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=environment(server),
            cwd=Path.home(),
            limit=LONGEST_LINE,
            start_new_session=True,
        )
    except OSError as error:
        raise ServerFailed(f"{command[0]} cannot be started: {error.strerror}") from None
    except (ValueError, IndexError, TypeError):
        raise ServerFailed("its command is not one that a shell would understand") from None


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
            message = message_in(line)
            noise = 0 if message else noise + len(line)
            if message:
                await session.send(message)
            elif noise > MOST_NOISE:
                child.verdict = "what it prints is not MCP"
                return
    except ValueError:  # the reader's own word for it
        child.verdict = "it sent more than 16 MB in one line"


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


async def ended(process: Process) -> None:
    """Ask it to end, then its whole group, then make it end."""
    assert process.stdin
    process.stdin.close()
    if not await has_ended(process, GRACE):
        signal_group(process, signal.SIGTERM)
        await has_ended(process, GRACE)
    signal_group(process, signal.SIGKILL)  # also what it has left behind
    await has_ended(process, GRACE)
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


def signal_group(process: Process, what: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, what)
