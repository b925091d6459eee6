"""The two ways to an MCP server, each with limits: a child process, and a URL.

The SDK's own client for child processes has none; docs/decisions/0008 says what else it lacks.
"""

from __future__ import annotations

import asyncio
import errno
import os
import shlex
import shutil
import zlib
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import httpx
import httpx2
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from agents import umask
from agents.http_bodies import PLAIN, unpacked, unpacker
from agents.json_size import has_more_values
from agents.tools import supervisor
from agents.tools.integrations.mcp import Server

# Validating one message holds up the whole process, by about 10 µs for each value. A result is cut
# at 60,000 characters anyway; the bytes leave room for the picture of a screen.
MOST_BYTES = 2 * 1024 * 1024
MOST_VALUES = 20_000

TOO_LONG = f"it sent more than {MOST_BYTES // 1024**2} MB in one message"
TOO_MANY = f"it sent more than {MOST_VALUES:,} JSON values in one message"
NOT_MCP = "what it answered is not MCP"


class ServerFailed(Exception):
    """Why the server cannot be talked to: the end of a sentence."""


def fault_of(message: bytes) -> str:
    """Why a message is not parsed, or nothing."""
    if len(message) > MOST_BYTES:
        return TOO_LONG
    return TOO_MANY if has_more_values(message, MOST_VALUES) else ""


def one_line(text: str) -> str:
    return " ".join(text.split())[:300].rstrip(".")


# A server as a child process that speaks JSON lines. It runs under the supervisor of the shell's
# commands, so neither it nor what it has started outlives us, even if we are killed.

MOST_NOISE = 256 * 1024  # bytes of other text between two messages
# Seconds a server has after its stdin was closed, and again after SIGTERM.
GRACE = 0.4
KEPT_OF_STDERR = 2000
INHERITED = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ")

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
        stop, lifeline = os.pipe()
        with ExitStack() as undo:
            undo.callback(os.close, lifeline)
            try:
                name, *arguments = shlex.split(server.command)
                process = await asyncio.create_subprocess_exec(
                    *supervisor.PROGRAM,
                    *("--lifeline", str(stop), str(GRACE)),
                    program_path(name, variables.get("PATH", os.defpath)),
                    *arguments,
                    stdin=PIPE,
                    stdout=PIPE,
                    stderr=PIPE,
                    env=variables,
                    cwd=Path.home(),
                    limit=MOST_BYTES,
                    pass_fds=(stop,),
                    start_new_session=True,
                    umask=umask.persons(),
                )
            except OSError as error:
                raise ServerFailed(f"{name} cannot be started: {error.strerror}") from None
            except (ValueError, IndexError, TypeError):
                raise ServerFailed("its command is not one that a shell would understand") from None
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
                    return "what it prints is not MCP"
                continue
            noise = 0
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
        """What was wrong with its messages, or its exit code and the last line it wrote."""
        lines = self.stderr.decode(errors="replace").strip().splitlines()
        code = self.process.returncode
        ending = "it ended" if code is None else f"it ended with exit code {code}"
        return self.fault or ending + (f": {one_line(lines[-1])}" if lines else "")


def program_path(name: str, search_path: str) -> str:
    """Its whole path, found as a shell would. Raises OSError."""
    in_home = str(Path.home() / name)
    path = Path(in_home if "/" in name else shutil.which(name, path=search_path) or name)
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    if not os.access(path, os.X_OK) or path.is_dir():
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return str(path)


# A server at a URL: the SDK's streamable HTTP, with a limit on what one answer may hold.

CONNECT_SECONDS = 10.0
SESSION = "mcp-session-id"
EVENT_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")


@asynccontextmanager
async def streamable_http(server: Server) -> AsyncIterator[TransportStreams]:
    timeout = httpx2.Timeout(server.seconds + 5, connect=CONNECT_SECONDS)
    headers = {**PLAIN, **dict(server.headers)}
    async with (
        BoundedClient(headers=headers, timeout=timeout) as client,
        streamable_http_client(server.url, http_client=client, max_sse_event_size=None) as streams,
    ):
        yield streams


class BoundedClient(httpx2.AsyncClient):
    async def send(
        self, request: httpx2.Request, *, stream: bool = False, **options: Any
    ) -> httpx2.Response:
        response = await super().send(request, stream=True, **options)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        kind = response.headers.get("content-type", "").strip().lower()
        packed = response.headers.pop("content-encoding", "").strip().lower()
        is_events = kind.startswith("text/event-stream")
        response.stream = Bounded(response.stream, is_events, packed)
        response.encoding = "utf-8"  # as JSON and event streams are, whatever the server says
        # Of a session they do not know, as after a restart, many servers say 400 instead of 404.
        if response.status_code == 400 and SESSION in request.headers:
            response.status_code = 404
        if not stream:
            await response.aread()
        return response


class Unusable(httpx2.SSEError, httpx2.StreamError):
    """The errors for which the SDK ends the waiting call: in an event stream, and in a body."""


class Bounded(httpx2.AsyncByteStream):
    """A stream that breaks off at a message too large to be parsed while others wait.

    A message is one event of an event stream, or the whole of another body. It is given on when
    it is complete, and counted as it is after unpacking.
    """

    def __init__(self, stream: httpx2.AsyncByteStream, is_events: bool, packed: str) -> None:
        self.stream, self.is_events, self.packed = stream, is_events, packed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        message = bytearray()
        async for piece in self.pieces():
            message += piece
            if self.is_events:
                fresh = max(0, len(message) - len(piece) - 3)  # an end may lie across two pieces
                ends = [(message.rfind(mark, fresh), len(mark)) for mark in EVENT_ENDS]
                end = max(at + length if at >= 0 else 0 for at, length in ends)
                if end:
                    yield checked(bytes(message[:end]))
                    del message[:end]
            if len(message) > MOST_BYTES:
                raise Unusable(TOO_LONG)
        yield checked(bytes(message))

    async def pieces(self) -> AsyncIterator[bytes]:
        try:
            unpack = unpacker(self.packed)
            async for chunk in self.stream:
                for piece in unpacked(unpack, chunk) if unpack else (chunk,):
                    yield piece
        except (zlib.error, httpx.DecodingError):
            raise Unusable(NOT_MCP) from None

    async def aclose(self) -> None:
        await self.stream.aclose()


def checked(message: bytes) -> bytes:
    if fault := fault_of(message):
        raise Unusable(fault)
    return message
