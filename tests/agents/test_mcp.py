import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the package mcp is not installed")

from agents.errors import Invalid
from agents.tools.base import ToolFailed
from agents.tools.integrations import mcp
from agents.tools.integrations.mcp import Server, aclose_all, forget, list_tools
from agents.tools.shell import marked

SCRIPT = Path(__file__).with_name("mcp_server.py")
COMMAND = f"{sys.executable} -W ignore {SCRIPT}"


async def call_tool(server, name, arguments):
    """The text that a model reads."""
    return (await mcp.call_tool(server, name, arguments)).text


@pytest.fixture
async def small(tmp_path):
    """The server over stdio."""
    yield Server(
        "small", command=COMMAND, headers=(("CANCELLED", str(tmp_path / "cancelled")),), seconds=10
    )
    await aclose_all()


async def failing(server, name, **arguments):
    with pytest.raises(ToolFailed) as failure:
        await call_tool(server, name, arguments)
    told = str(failure.value)
    assert "\n" not in told
    return told


def children():
    found = subprocess.run(["pgrep", "-P", str(os.getpid())], capture_output=True, text=True)
    return {int(pid) for pid in found.stdout.split()}


def alive(pid):
    """It may end between two looks at it."""
    with suppress(ProcessLookupError, FileNotFoundError):
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    return False


def the_process():
    """Of the children of this test run, the one that runs the script."""
    (pid,) = [pid for pid in children() if str(SCRIPT) in Path(f"/proc/{pid}/cmdline").read_text()]
    return pid


def of(name):
    """The processes of the server that was given this name as a variable."""
    return [pid for pid in marked(f"MARK={name}".encode()) if alive(pid)]


async def pid_of(server):
    told = await call_tool(server, "environment", {})
    assert told
    return the_process()


async def test_what_a_server_offers_is_kept_with_its_hints_and_plain_schemas(small):
    tools = {tool["name"]: tool for tool in await list_tools(small, 58)}
    echo = tools["echo"]
    assert (echo["read_only"], echo["idempotent"]) == (True, True)
    assert (tools["count"]["read_only"], tools["count"]["idempotent"]) == (False, True)
    assert (tools["fail"]["read_only"], tools["fail"]["idempotent"]) == (False, False)
    assert echo["parameters"]["properties"]["text"]["type"] == "string"
    assert echo["parameters"]["required"] == ["text"]
    assert tools["picture"]["parameters"] == {"type": "object", "properties": {}}


async def test_listing_leaves_no_process_behind(small):
    before = children()
    await list_tools(small, 58)
    assert children() == before


async def test_a_call_goes_over_one_process_that_stays(small):
    assert await call_tool(small, "echo", {"text": "Grüße"}) == "Grüße"
    assert [await call_tool(small, "count", {}) for _ in range(3)] == ["1", "2", "3"]


async def test_calls_run_beside_each_other(small):
    await call_tool(small, "count", {})
    began = time.monotonic()
    await asyncio.gather(*(call_tool(small, "sleep", {"seconds": 0.5}) for _ in range(5)))
    assert time.monotonic() - began < 2


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
    assert time.monotonic() - began < 2
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
    done = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 3)
    assert all(
        isinstance(each, ToolFailed) and "went away during sleep" in str(each) for each in done
    )
    assert await call_tool(small, "echo", {"text": "back"}) == "back"


async def test_a_server_killed_between_two_calls_is_not_noticed(small):
    os.kill(await pid_of(small), signal.SIGKILL)
    await asyncio.sleep(0.5)
    assert await call_tool(small, "echo", {"text": "back"}) == "back"


async def test_a_server_that_dies_again_and_again_is_left_alone_for_a_while(small):
    await failing(small, "die")
    await failing(small, "die")
    told = await failing(small, "echo", text="x")
    assert "failed 2 times in a row; it is tried again in" in told
    await asyncio.sleep(1.1)
    assert await call_tool(small, "echo", {"text": "x"}) == "x"


async def test_a_cancelled_call_is_cancelled_on_the_wire_and_the_line_stays_open(small, tmp_path):
    await call_tool(small, "count", {})
    call = asyncio.ensure_future(call_tool(small, "sleep", {"seconds": 9}))
    await asyncio.sleep(0.3)
    began = time.monotonic()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert time.monotonic() - began < 1
    assert await call_tool(small, "count", {}) == "2"
    for _ in range(50):
        if (tmp_path / "cancelled").exists():
            break
        await asyncio.sleep(0.05)
    assert (tmp_path / "cancelled").read_text() == "yes"


async def test_a_call_cancelled_while_the_server_starts_leaves_the_line_usable(small):
    call = asyncio.ensure_future(call_tool(small, "echo", {"text": "x"}))
    await asyncio.sleep(0.1)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await call_tool(small, "echo", {"text": "y"}) == "y"


async def test_a_call_that_takes_too_long_is_given_up_after_the_sources_own_limit():
    slow = Server("slow", command=COMMAND, headers=(("CANCELLED", "/dev/null"),), seconds=3)
    assert await call_tool(slow, "echo", {"text": "x"}) == "x"
    assert (
        await failing(slow, "sleep", seconds=30) == "sleep of slow did not answer within 3 seconds."
    )
    assert await call_tool(slow, "echo", {"text": "x"}) == "x"
    await aclose_all()


async def test_an_error_of_the_tool_is_a_failure_in_its_own_words(small):
    assert "this is what went wrong" in await failing(small, "fail")
    assert await failing(small, "nothing")


async def test_a_long_result_is_cut_and_an_image_is_named(small):
    told = await call_tool(small, "long", {"characters": 200_000})
    assert len(told) < 60_100 and told.endswith("[cut: 200,000 characters in all]")
    picture = await mcp.call_tool(small, "picture", {})
    assert picture.text == "Look:\n[image: image/png, 70 bytes]"
    assert [(each.media_type, len(each.data)) for each in picture.images] == [("image/png", 70)]


async def test_a_file_in_a_result_is_text_and_a_link_is_named(small):
    """As GitHub's get_file_contents gives it: the content is an embedded resource."""
    assert await call_tool(small, "file", {}) == (
        "successfully downloaded text file\n"
        "[resource: repo://acme/tool/README.md, text/markdown]\n# Tool\nIt works."
    )
    assert await call_tool(small, "link", {}) == "[resource: doc://manual (manual; text/plain)]"


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
        await list_tools(Server("broken", command=command, seconds=5), 58)
    assert word in str(refusal.value) and str(refusal.value).endswith(".")
    assert children() <= before


async def test_five_hundred_tools_are_listed_under_safe_names():
    server = Server("big", command=COMMAND, headers=(("MANY", "500"),))
    tools = [tool for tool in await list_tools(server, 58) if tool["remote"].startswith("many")]
    assert len(tools) == 500
    assert tools[7]["name"] == "many_7" and tools[7]["remote"] == "many.7"
    assert await call_tool(server, "many.7", {}) == "7"
    await aclose_all()


async def test_closing_ends_the_process_and_what_it_has_started(tmp_path):
    command = f"sh -c 'sleep 77 & {COMMAND}; true'"
    server = Server("nested", command=command, headers=(("MARK", str(tmp_path)),))
    assert await call_tool(server, "echo", {"text": "x"}) == "x"
    assert len(of(tmp_path)) >= 3
    began = time.monotonic()
    await aclose_all()
    assert time.monotonic() - began < 1.6
    await asyncio.sleep(0.2)
    assert of(tmp_path) == []


ASLEEP = """
import asyncio, os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
import django
django.setup()
from agents.tools.integrations.mcp import Server, call_tool
server = Server("asleep", command=sys.argv[2], headers=(("MARK", sys.argv[1]),), seconds=60)
asyncio.run(call_tool(server, "echo", {}))
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
    process = subprocess.Popen(
        [sys.executable, "-c", ASLEEP, str(tmp_path), command], cwd=SCRIPT.parents[2]
    )
    try:
        wanted = command.count("sleep")
        came_true(lambda: len(of(tmp_path)) >= wanted)
    finally:
        process.kill()
        process.wait()
    came_true(lambda: of(tmp_path) == [])


async def test_a_server_whose_supervisor_is_killed_is_gone_and_is_started_again(tmp_path):
    server = Server("small", command=COMMAND, headers=(("MARK", str(tmp_path)),), seconds=10)
    before = children()
    assert await call_tool(server, "count", {}) == "1"
    (supervisor,) = children() - before
    os.kill(supervisor, signal.SIGKILL)
    await asyncio.to_thread(came_true, lambda: of(tmp_path) == [])
    assert await call_tool(server, "count", {}) == "1"
    await aclose_all()


def came_true(check, seconds=60):
    until = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < until
        time.sleep(0.05)


async def test_a_server_that_is_no_longer_registered_is_closed(small):
    pid = await pid_of(small)
    await asyncio.to_thread(forget, "small")
    for _ in range(40):
        if not alive(pid):
            break
        await asyncio.sleep(0.05)
    assert not alive(pid)


async def test_an_idle_connection_is_closed_and_that_is_no_failure(small):
    from agents.tools.integrations.mcp.client import Connection

    connection = Connection(small, idle=0.3)
    await connection.call("count", {})
    pid = the_process()
    await asyncio.wait_for(connection.task, 5)
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

    def start(self):
        environment = {**os.environ, "CANCELLED": str(self.folder / "cancelled")}
        command = [sys.executable, "-W", "ignore", str(SCRIPT), str(self.port)]
        self.process = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for _ in range(200):
            with suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            time.sleep(0.05)
        raise AssertionError("the server did not start")

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
    assert "echo" in {tool["name"] for tool in await list_tools(remote.server, 58)}
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
    for _ in range(60):
        if (remote.folder / "cancelled").exists():
            break
        await asyncio.sleep(0.05)
    assert (remote.folder / "cancelled").read_text() == "yes"
    assert await call_tool(remote.server, "count", {}) == "2"


async def test_an_http_server_that_is_not_there_is_one_sentence():
    gone = Server("gone", url="http://127.0.0.1:9/mcp?key=topsecret", seconds=5)
    assert (
        await failing(gone, "echo")
        == "The MCP server gone could not be reached: the connection failed."
    )
    await aclose_all()


async def test_something_else_at_the_address_is_one_sentence(live_server_of_nonsense):
    with pytest.raises(Invalid) as refusal:
        await list_tools(Server("odd", url=live_server_of_nonsense, seconds=5), 58)
    assert str(refusal.value).startswith("The MCP server odd could not be asked: ")


@pytest.fixture
async def live_server_of_nonsense():
    async def answer(reader, writer):
        await reader.read(1000)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    server.close()
    await server.wait_closed()


def test_nothing_of_the_sdk_is_imported_before_it_is_used():
    code = "import django; django.setup(); import sys, agents.tools.integrations.actions; print([m for m in sys.modules if m.split('.')[0] in ('mcp', 'httpx2', 'anyio')])"
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    told = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert "'mcp'" not in told.stdout and "httpx2" not in told.stdout
