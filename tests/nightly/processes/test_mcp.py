"""MCP servers that are processes, and what becomes of them; their answers: tests/agents."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the package mcp is not installed")

from agents.errors import Invalid
from tests.agents.test_mcp import COMMAND, SCRIPT, alive, call_tool, failing, of, written
from tests.console.serving import ROOT
from tests.inner import (
    Connection,
    Server,
    ToolFailed,
    aclose_all,
    forget,
    list_tools,
)
from tests.patience import at_most, until, until_connected


@pytest.fixture
async def small(tmp_path):
    """The server over stdio."""
    yield Server(
        "small", command=COMMAND, headers=(("CANCELLED", str(tmp_path / "cancelled")),), seconds=10
    )
    await aclose_all()


def children():
    found = subprocess.run(["pgrep", "-P", str(os.getpid())], capture_output=True, text=True)
    return {int(pid) for pid in found.stdout.split()}


def the_process():
    """Of the children of this test run, the one that runs the script."""
    (pid,) = [pid for pid in children() if str(SCRIPT) in Path(f"/proc/{pid}/cmdline").read_text()]
    return pid


async def pid_of(server):
    told = await call_tool(server, "environment", {})
    assert told
    return the_process()


async def test_listing_leaves_no_process_behind(small):
    before = children()
    await list_tools(small)
    assert children() == before


async def test_the_process_sees_no_secret_of_ours_and_what_it_was_given(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "our-own-secret")
    monkeypatch.setenv("DATABASE_URL", "postgres://secret")
    server = Server("small", command=COMMAND, headers=(("TOKEN", "theirs"),))
    told = await call_tool(server, "environment", {})
    await aclose_all()
    assert "TOKEN=theirs" in told and "PATH=" in told
    assert "secret" not in told and "PLANSIDE_HOME" not in told


async def test_a_server_that_dies_in_mid_call_is_one_sentence_at_once_and_is_there_again(small):
    assert await call_tool(small, "count", {}) == "1"
    began = time.monotonic()
    told = await failing(small, "die")
    assert time.monotonic() - began < small.seconds * 0.8
    assert (
        told
        == "The MCP server small went away during die: it ended with exit code 3: no more power."
    )
    assert await call_tool(small, "count", {}) == "1"


async def test_a_server_killed_in_mid_call_ends_every_call_and_is_started_again(small):
    pid = await pid_of(small)
    calls = [asyncio.ensure_future(call_tool(small, "sleep", {"seconds": 9})) for _ in range(3)]
    await asyncio.sleep(0.3)
    os.kill(pid, signal.SIGKILL)
    done = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 8)
    assert all(
        isinstance(each, ToolFailed) and "went away during sleep" in str(each) for each in done
    )
    assert await call_tool(small, "echo", {"text": "back"}) == "back"


async def test_a_server_killed_between_two_calls_is_not_noticed(small):
    os.kill(await pid_of(small), signal.SIGKILL)
    await asyncio.sleep(0.5)
    assert await call_tool(small, "echo", {"text": "back"}) == "back"


async def test_a_cancelled_call_is_cancelled_on_the_wire_and_the_line_stays_open(small, tmp_path):
    await call_tool(small, "count", {})
    call = asyncio.ensure_future(call_tool(small, "sleep", {"seconds": 9}))
    await asyncio.sleep(0.3)
    began = time.monotonic()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert time.monotonic() - began < 6
    assert await call_tool(small, "count", {}) == "2"
    assert await asyncio.to_thread(until, lambda: written(tmp_path / "cancelled")) == "yes"


async def test_a_call_cancelled_while_the_server_starts_leaves_the_line_usable(small):
    call = asyncio.ensure_future(call_tool(small, "echo", {"text": "x"}))
    await asyncio.sleep(0.1)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await call_tool(small, "echo", {"text": "y"}) == "y"


async def test_a_server_works_in_a_folder_of_its_own(small, settings):
    folder = Path(settings.PLANSIDE_HOME, "services", "small")
    assert await call_tool(small, "folder", {}) == str(folder)
    assert await asyncio.to_thread(lambda: folder.stat().st_mode & 0o777) == 0o700


async def test_a_line_beyond_every_measure_ends_the_server_not_us(small):
    told = await failing(small, "long", characters=20_000_000)
    assert (
        told == "The MCP server small went away during long: it sent more than 2 MB in one message."
    )


async def test_a_little_noise_on_stdout_is_passed_over_and_much_of_it_is_not():
    command = "sh -c 'yes | head -c {}; exec " + COMMAND + "'"
    assert await call_tool(Server("a", command=command.format(5000)), "echo", {"text": "x"}) == "x"
    assert "what it prints is not MCP" in await failing(
        Server("b", command=command.format(500_000)), "echo", text="x"
    )
    await aclose_all()


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("/no/such/program", "cannot be started: No such file"),
        ('sh -c "exit 7"', "exit code 7"),
        ("sh -c \"echo 'bad key' >&2; exit 1\"", "exit code 1: bad key"),
        ("yes", "not MCP"),
        ("cat /dev/zero", "2 MB in one message"),
        ("'unclosed", "shell would understand"),
        ("'' x", "cannot be started"),
    ],
)
async def test_what_is_no_server_is_one_sentence(command, word):
    before = children()
    with pytest.raises(Invalid) as refusal:
        await list_tools(Server("broken", command=command, seconds=5))
    assert word in str(refusal.value) and str(refusal.value).endswith(".")
    assert children() <= before


async def test_closing_ends_the_process_and_what_it_has_started(tmp_path):
    command = f"sh -c 'sleep 77 & {COMMAND}; true'"
    server = Server("nested", command=command, headers=(("MARK", str(tmp_path)),))
    assert await call_tool(server, "echo", {"text": "x"}) == "x"
    assert len(of(tmp_path)) >= 3
    began = time.monotonic()
    await aclose_all()
    assert time.monotonic() - began < at_most(1.6)
    await asyncio.sleep(0.2)
    assert of(tmp_path) == []


ASLEEP = """
import asyncio, os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
import django
django.setup()
from agents.tools.integrations.mcp import RemoteTool, Server, call_tool
server = Server("asleep", command=sys.argv[2], headers=(("MARK", sys.argv[1]),), seconds=60)
asyncio.run(call_tool(server, RemoteTool("echo"), {}))
"""


@pytest.mark.parametrize(
    "command",
    [
        "sleep 600",
        "sh -c 'trap \"\" TERM HUP; sleep 600 & sleep 600'",  # hears no signal but the last
        "sh -c 'setsid sh -c \"sleep 600 & sleep 600\" & exec sleep 600'",  # in another session
    ],
)
def test_no_server_outlives_a_killed_planside(tmp_path, command):
    process = subprocess.Popen([sys.executable, "-c", ASLEEP, str(tmp_path), command], cwd=ROOT)
    try:
        wanted = command.count("sleep")
        until(lambda: len(of(tmp_path)) >= wanted)
    finally:
        process.kill()
        process.wait()
    until(lambda: of(tmp_path) == [])


async def test_a_server_whose_supervisor_is_killed_is_gone_and_is_started_again(tmp_path):
    server = Server("small", command=COMMAND, headers=(("MARK", str(tmp_path)),), seconds=10)
    before = children()
    assert await call_tool(server, "count", {}) == "1"
    (supervisor,) = children() - before
    os.kill(supervisor, signal.SIGKILL)
    await asyncio.to_thread(until, lambda: of(tmp_path) == [])
    assert await call_tool(server, "count", {}) == "1"
    await aclose_all()


async def test_a_server_whose_supervisors_are_both_killed_ends_with_its_connection(tmp_path):
    server = Server("small", command=COMMAND, headers=(("MARK", str(tmp_path)),), seconds=10)
    before = children()
    assert await call_tool(server, "count", {}) == "1"
    (supervisor,) = children() - before
    os.killpg(supervisor, signal.SIGKILL)
    await aclose_all()
    assert of(tmp_path) == []


async def test_a_server_that_is_no_longer_registered_is_closed(small):
    pid = await pid_of(small)
    await asyncio.to_thread(forget, "small")
    await asyncio.to_thread(until, lambda: not alive(pid))


async def test_an_idle_connection_is_closed_and_that_is_no_failure(small):
    connection = Connection(small, idle=0.3)
    await connection.ask(lambda client: client.call_tool("count", {}))
    pid = the_process()
    await asyncio.wait_for(connection.task, 60)
    assert not alive(pid) and not connection.is_open
    assert not connection.was_lost and connection.failure is None


class Remote:
    """The server over streamable HTTP, to be killed and started again at the same address."""

    def __init__(self, folder):
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.server = Server("remote", url=f"http://127.0.0.1:{self.port}/mcp", seconds=10)

    def start(self, *transport):
        environment = {**os.environ, "CANCELLED": str(self.folder / "cancelled")}
        command = [sys.executable, "-W", "ignore", str(SCRIPT), str(self.port), *transport]
        self.process = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        until_connected(self.port)

    def kill(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
async def remote(tmp_path):
    remote = Remote(tmp_path)
    remote.start()
    yield remote
    await aclose_all()
    remote.kill()


async def test_a_server_over_http_is_listed_and_called(remote):
    assert "echo" in {tool["name"] for tool in await list_tools(remote.server)}
    assert await call_tool(remote.server, "echo", {"text": "Grüße"}) == "Grüße"
    assert "this is what went wrong" in await failing(remote.server, "fail")


async def test_an_http_server_killed_in_mid_call_is_one_sentence_and_is_there_again(remote):
    assert await call_tool(remote.server, "count", {}) == "1"
    call = asyncio.ensure_future(call_tool(remote.server, "sleep", {"seconds": 9}))
    await asyncio.sleep(0.4)
    remote.kill()
    with pytest.raises(ToolFailed, match="remote"):
        await asyncio.wait_for(call, 8)
    remote.start()
    await asyncio.sleep(1)
    assert await call_tool(remote.server, "count", {}) == "1"


async def test_an_http_server_restarted_between_two_calls_is_not_noticed(remote):
    assert await call_tool(remote.server, "count", {}) == "1"
    remote.kill()
    remote.start()
    assert await call_tool(remote.server, "count", {}) == "1"


async def test_a_cancelled_call_over_http_is_cancelled_there(remote):
    await call_tool(remote.server, "count", {})
    call = asyncio.ensure_future(call_tool(remote.server, "sleep", {"seconds": 9}))
    await asyncio.sleep(0.4)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await asyncio.to_thread(until, lambda: written(remote.folder / "cancelled")) == "yes"
    assert await call_tool(remote.server, "count", {}) == "2"


async def test_a_server_of_the_time_before_streamable_http_is_spoken_to(tmp_path):
    old = Remote(tmp_path)
    old.start("sse")
    server = Server("old", url=f"http://127.0.0.1:{old.port}/sse", seconds=10)
    assert "echo" in {tool["name"] for tool in await list_tools(server)}
    assert await call_tool(server, "echo", {"text": "Grüße"}) == "Grüße"
    assert await call_tool(server, "count", {}) == "1"
    await aclose_all()
    old.kill()
