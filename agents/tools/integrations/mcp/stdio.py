"""An MCP server as a child process that speaks JSON lines.

It runs under the supervisor of the shell's commands, so neither it nor what it has started outlives
us, even if we are killed. The SDK's own client for child processes has no limits;
docs/decisions/0008 says what else it lacks.
"""

from __future__ import annotations

import asyncio
import errno
import os
import shlex
import shutil
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from django.conf import settings
from django.utils.translation import gettext_noop
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from agents import umask
from agents.pools import PROCESSES
from agents.tools import supervisor
from agents.tools.integrations.mcp import Server
from agents.tools.integrations.mcp.failures import (
    MOST_BYTES,
    TOO_LONG,
    ServerFailed,
    fault_of,
    telling_line,
)

MOST_NOISE = 256 * 1024  # bytes of other text between two messages
# Seconds a server has after its stdin was closed, and again after SIGTERM.
GRACE = 0.4
SWEEP = 2.0
KEPT_OF_STDERR = 8000
INHERITED = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
)  # fmt: skip

Incoming = MemoryObjectSendStream[SessionMessage | Exception]
Outgoing = MemoryObjectReceiveStream[SessionMessage]


@asynccontextmanager
async def stdio(server: Server, over: Callable[[], None]) -> AsyncIterator[TransportStreams]:
    """The transport. `over` is called when the server is gone; leaving then says why it went."""
    child = await Child.start(server)
    to_session, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write_stream, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(child.read_messages, to_session, over)
            tasks.start_soon(child.write_messages, from_session)
            tasks.start_soon(child.read_stderr)
            try:
                yield read_stream, write_stream
            finally:
                with anyio.CancelScope(shield=True):
                    await child.end()
                tasks.cancel_scope.cancel()
    except Exception:
        if not child.is_gone:
            raise
    finally:
        for stream in (to_session, read_stream, write_stream, from_session):
            stream.close()
    if child.is_gone:
        raise ServerFailed(child.reason_of_end())


class Child:
    """The process of a server. It is gone when it ended without our asking."""

    def __init__(self, process: Process, lifeline: int) -> None:
        self.process = process
        self.lifeline = lifeline  # closed, it tells the supervisor to end all of it
        self.stderr = b""  # the last of it
        self.is_ending = False
        self.is_gone = False
        self.fault = ""  # why nothing more is read

    @classmethod
    async def start(cls, server: Server) -> Child:
        """With the few variables that every program needs and those that were registered."""
        variables = {name: os.environ[name] for name in INHERITED if name in os.environ}
        variables |= dict(server.headers)
        supervisor.adopt_orphans()
        stop, lifeline = os.pipe()
        with ExitStack() as undo:
            undo.callback(os.close, lifeline)
            try:
                folder = folder_of(server.name)
                name, *arguments = map(os.path.expanduser, shlex.split(server.command))
                process = await asyncio.create_subprocess_exec(
                    *supervisor.PROGRAM,
                    *("--lifeline", str(stop), str(GRACE)),
                    program_path(name, variables.get("PATH", os.defpath), folder),
                    *arguments,
                    stdin=PIPE,
                    stdout=PIPE,
                    stderr=PIPE,
                    env=variables,
                    cwd=folder,
                    limit=MOST_BYTES,
                    pass_fds=(stop,),
                    process_group=0,
                    umask=umask.persons(),
                )
            except OSError as error:
                raise ServerFailed(f"{name} cannot be started: {error.strerror}") from None
            except (ValueError, IndexError, TypeError):
                raise ServerFailed(
                    gettext_noop("its command is not one that a shell would understand")
                ) from None
            finally:
                os.close(stop)
            undo.pop_all()
        return cls(process, lifeline)

    async def read_messages(self, session: Incoming, over: Callable[[], None]) -> None:
        """Pass on each message until there are no more, or what comes is none."""
        async with session:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
                self.fault = await self.pass_on_messages(session)
            if not self.is_ending:
                self.is_gone = True
                await self.has_ended(GRACE / 4)  # mostly at once; then its code is known
                over()

    async def pass_on_messages(self, session: Incoming) -> str:
        """Each line that is a message; some noise between them is skipped. Why it stopped."""
        assert self.process.stdout
        noise = 0
        while True:
            try:
                line = await self.process.stdout.readline()
            except ValueError:  # the reader's own word for it
                return TOO_LONG
            if not line:
                return ""
            if fault := fault_of(line):
                return fault
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                noise += len(line)
                if noise > MOST_NOISE:
                    return gettext_noop("what it prints is not MCP")
                continue
            noise = 0
            mend_schemas(message)
            await session.send(SessionMessage(message))

    async def write_messages(self, session: Outgoing) -> None:
        """A server that reads no more is noticed by the reader, or by a call's limit of time."""
        assert self.process.stdin
        async with session:
            with suppress(OSError):
                async for each in session:
                    text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                    self.process.stdin.write(text.encode() + b"\n")
                    await self.process.stdin.drain()

    async def read_stderr(self) -> None:
        assert self.process.stderr
        while chunk := await self.process.stderr.read(4096):
            self.stderr = (self.stderr + chunk)[-KEPT_OF_STDERR:]

    async def end(self) -> None:
        """Ask it to end; if it does not, the supervisor ends it, with what it has left behind."""
        self.is_ending = True
        assert self.process.stdin
        self.process.stdin.close()
        await self.has_ended(GRACE)
        os.close(self.lifeline)
        await self.has_ended(2 * GRACE)
        if (code := self.process.returncode) is None or code < 0:  # it was killed or halted
            await PROCESSES.run(supervisor.end_adopted, self.process.pid, SWEEP)
        transport = getattr(self.process, "_transport", None)
        if transport:  # a grandchild that escaped may hold the pipes open for ever
            transport.close()

    async def has_ended(self, seconds: float) -> bool:
        """Polls the code: wait() would also wait for whoever else holds the pipes."""
        end = asyncio.get_running_loop().time() + seconds
        while self.process.returncode is None:
            if asyncio.get_running_loop().time() > end:
                return False
            await asyncio.sleep(0.01)
        return True

    def reason_of_end(self) -> str:
        """What was wrong with its messages, or its exit code and what it wrote about it."""
        line = telling_line(self.stderr.decode(errors="replace"))
        code = self.process.returncode
        ending = "it ended" if code is None else f"it ended with exit code {code}"
        return self.fault or ending + (f": {line}" if line else "")


def mend_schemas(message: object) -> None:
    """Some servers do not say that a tool's arguments are an object.

    The SDK refuses the whole list for it.
    """
    result = getattr(message, "result", None)
    tools = result.get("tools") if isinstance(result, dict) else None
    for tool in tools if isinstance(tools, list) else []:
        schema = tool.get("inputSchema") if isinstance(tool, dict) else None
        if isinstance(schema, dict):
            schema.setdefault("type", "object")


def folder_of(name: str) -> Path:
    """Where a server works, and keeps what it keeps: a folder of its own."""
    folder = Path(settings.PLANSIDE_HOME) / "services" / name
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def program_path(name: str, search_path: str, folder: Path) -> str:
    """Its whole path, found as a shell in its folder would. Raises OSError."""
    path = folder / name if "/" in name else Path(shutil.which(name, path=search_path) or name)
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    if not os.access(path, os.X_OK) or path.is_dir():
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return str(path)
