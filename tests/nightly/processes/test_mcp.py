import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the package mcp is not installed")

from agents.errors import Invalid
from tests.console.serving import ROOT
from tests.inner import RemoteTool, Server, ToolFailed, aclose_all, forget, list_tools, mcp
from tests.inner import shell_marked as marked
from tests.patience import at_most, until, until_connected

SCRIPT = ROOT / "tests" / "agents" / "mcp_server.py"
COMMAND = f"{sys.executable} -W ignore {SCRIPT}"


async def call_tool(server, name, arguments):
    """The text that a model reads."""
    return (await mcp.call_tool(server, RemoteTool(name), arguments)).text


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


def written(file):
    return file.exists() and file.read_text()


def of(name):
    """The processes of the server that was given this name as a variable."""
    return [pid for pid in marked(f"MARK={name}".encode()) if alive(pid)]


async def pid_of(server):
    told = await call_tool(server, "environment", {})
    assert told
    return the_process()


async def test_what_a_server_offers_is_kept_with_its_hints_and_plain_schemas(small):
    tools = {tool["name"]: tool for tool in await list_tools(small)}
    echo = tools["echo"]
    assert (echo["read_only"], echo["idempotent"]) == (True, True)
    assert (tools["count"]["read_only"], tools["count"]["idempotent"]) == (False, True)
    assert (tools["fail"]["read_only"], tools["fail"]["idempotent"]) == (False, False)
    assert echo["parameters"]["properties"]["text"]["type"] == "string"
    assert echo["parameters"]["required"] == ["text"]
    assert tools["picture"]["parameters"] == {"type": "object", "properties": {}}


async def test_listing_leaves_no_process_behind(small):
    before = children()
    await list_tools(small)
    assert children() == before


async def test_a_call_goes_over_one_process_that_stays(small):
    assert await call_tool(small, "echo", {"text": "Grüße"}) == "Grüße"
    assert [await call_tool(small, "count", {}) for _ in range(3)] == ["1", "2", "3"]


async def test_calls_run_beside_each_other(small):
    await call_tool(small, "count", {})
    began = time.monotonic()
    await asyncio.gather(*(call_tool(small, "sleep", {"seconds": 1}) for _ in range(8)))
    assert time.monotonic() - began < 6


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


async def test_a_call_that_shows_how_far_it_is_may_take_longer_than_its_limit():
    busy = Server("busy", command=COMMAND, seconds=2)
    await call_tool(busy, "echo", {"text": "x"})
    assert await call_tool(busy, "steps", {"count": 5, "seconds": 0.6}) == "swept"
    told = await failing(busy, "steps", count=2, seconds=0.2, then=9)
    assert told == (
        "steps of busy did not answer within 2 seconds. The last it said was: 2 of 2 · Sweeping."
    )
    await aclose_all()


async def test_no_sign_of_life_prolongs_a_call_beyond_ten_times_its_limit():
    busy = Server("busy", command=COMMAND, seconds=0.2)
    with suppress(ToolFailed):  # it may take longer than that to start
        await call_tool(busy, "echo", {"text": "x"})
    began = time.monotonic()
    assert "did not answer" in await failing(busy, "steps", count=400, seconds=0.1)
    assert time.monotonic() - began < 20
    await aclose_all()


async def test_a_server_works_in_a_folder_of_its_own(small, settings):
    folder = Path(settings.PLANSIDE_HOME, "services", "small")
    assert await call_tool(small, "folder", {}) == str(folder)
    assert await asyncio.to_thread(lambda: folder.stat().st_mode & 0o777) == 0o700


async def test_a_server_that_offers_other_tools_is_asked_again(small):
    offers = []

    async def changed(tools):
        offers.append({tool["name"] for tool in tools})

    for name in ("one", "two"):
        assert await mcp.call_tool(small, RemoteTool("grow"), {"name": name}, changed)
    await asyncio.to_thread(until, lambda: offers and "two" in offers[-1])
    assert {"one", "two", "echo"} <= offers[-1]
    assert len(offers) <= 2, "what changes at once is asked for once"


async def test_a_server_that_says_without_end_that_its_tools_have_changed_is_asked_ever_less(small):
    asked = []

    async def changed(tools):
        asked.append(tools)

    assert await mcp.call_tool(small, RemoteTool("storm"), {"seconds": 3}, changed)
    assert 1 <= len(asked) <= 4, "after 0.2 s, 0.4 s, 0.8 s and so on"


async def test_resources_are_listed_and_read(small):
    tools = {tool["name"]: tool for tool in await list_tools(small)}
    assert tools["read_resource"]["request"] == "resource"

    async def read(**arguments):
        return await mcp.call_tool(small, RemoteTool("", "resource"), arguments)

    assert (await read()).text == "doc://manual (manual)\ndoc://dot (dot)"
    found = await read(uri="doc://manual")
    assert found.text == "[resource: doc://manual, text/plain]\nPress the button."
    dot = await read(uri="doc://dot")
    assert dot.text == "[resource: doc://dot, image/png, 70 bytes]" and len(dot.images) == 1
    with pytest.raises(ToolFailed, match=r"Reading the resource of small failed: .*doc://nothing"):
        await read(uri="doc://nothing")


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
    picture = await mcp.call_tool(small, RemoteTool("picture"), {})
    assert picture.text == "Look:\n[image: image/png, 70 bytes]"
    assert [(each.media_type, len(each.data)) for each in picture.images] == [("image/png", 70)]


async def test_a_file_in_a_result_is_text_and_a_link_is_named(small):
    """As GitHub's get_file_contents gives it: the content is an embedded resource."""
    assert await call_tool(small, "file", {}) == (
        "successfully downloaded text file\n"
        "[resource: repo://acme/tool/README.md, text/markdown]\n# Tool\nIt works."
    )
    link = await mcp.call_tool(small, RemoteTool("link", reader="small__read_resource"), {})
    assert link.text == (
        "[resource: doc://manual (manual; text/plain; small__read_resource reads it)]"
    )


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


NPM = """npm error code E404
npm error 404 Not Found - GET https://registry.example/nope - Not found
npm error 404
npm error 404  'nope@*' is not in this registry.
npm error A complete log of this run can be found in: ~/.npm/_logs/x-debug-0.log
"""
UV = """  × No solution found when resolving tool dependencies:
  ╰─▶ Because nope was not found in the package registry and you require nope,
      we can conclude that your requirements are unsatisfiable.
"""
UV_TO_A_PIPE = """error: No solution found when resolving tool dependencies
  cause: Because nope depends on mcp==2.3.0 and only mcp==2.2.0 is available, it cannot be used.
"""
NODE = """node:internal/modules/cjs/loader:1228
  throw err;
  ^

Error: Cannot find module '/x/server.js'
    at Module._resolveFilename (node:internal/modules/cjs/loader:1225:15)

Node.js v20.19.2
"""
PYTHON = """Traceback (most recent call last):
  File "<string>", line 1, in <module>
KeyError: 'TOKEN'
"""


@pytest.mark.parametrize(
    ("stderr", "line"),
    [
        (NPM, "404 Not Found - GET https://registry.example/nope - Not found"),
        (NPM.replace("npm error", "npm ERR!"), "404 Not Found - GET"),
        (UV, "Because nope was not found in the package registry and you require nope, we can"),
        (UV_TO_A_PIPE, "Because nope depends on mcp==2.3.0 and only"),
        (NODE, "Error: Cannot find module '/x/server.js'"),
        (PYTHON, "KeyError: 'TOKEN'"),
        ("starting\nno more power\n", "no more power"),
    ],
)
async def test_of_what_a_server_wrote_before_it_ended_the_telling_line_is_given(
    tmp_path, stderr, line
):
    (tmp_path / "stderr").write_text(stderr)
    command = f"sh -c 'cat {tmp_path}/stderr >&2; exit 1'"
    with pytest.raises(Invalid) as refusal:
        await list_tools(Server("broken", command=command, seconds=5))
    assert f"it ended with exit code 1: {line}" in str(refusal.value)


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


async def test_five_hundred_tools_are_listed_under_safe_names():
    server = Server("big", command=COMMAND, headers=(("MANY", "500"),))
    tools = [tool for tool in await list_tools(server) if tool["remote"].startswith("many")]
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


async def test_a_server_that_is_no_longer_registered_is_closed(small):
    pid = await pid_of(small)
    await asyncio.to_thread(forget, "small")
    await asyncio.to_thread(until, lambda: not alive(pid))


async def test_an_idle_connection_is_closed_and_that_is_no_failure(small):
    from agents.tools.integrations.mcp.connection import Connection

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


@pytest.fixture
async def answering():
    """A web server that says one thing whatever it is asked."""
    opened = []

    async def serve(status, *headers):
        async def answer(reader, writer):
            with closing(writer), suppress(OSError, EOFError):
                await reader.readuntil(b"\r\n\r\n")
                head = "".join(f"{line}\r\n" for line in headers)
                writer.write(f"HTTP/1.1 {status}\r\n{head}Content-Length: 0\r\n\r\n".encode())
                await writer.drain()

        opened.append(await asyncio.start_server(answer, "127.0.0.1", 0))
        return f"http://127.0.0.1:{opened[-1].sockets[0].getsockname()[1]}/mcp"

    yield serve
    await aclose_all()
    for server in opened:
        server.close()
        await server.wait_closed()


KEY = (("Authorization", "Bearer top-secret"),)


@pytest.mark.parametrize(
    ("status", "headers", "words"),
    [
        ("401 No", (), "it wants to know who asks (401): press Connect"),
        ("401 No", KEY, "it does not accept the key it was sent (401)"),
        ("403 No", KEY, "it refuses this account or key (403)"),
        ("404 No", (), "there is no MCP server at this address (404)"),
        ("405 No", (), "there is no MCP server at this address (405)"),
        ("429 No", (), "it is asked too often (429)"),
        ("503 No", (), "it answered with an error of its own (503)"),
    ],
)
async def test_a_status_is_explained_with_its_remedy(answering, status, headers, words):
    server = Server("odd", url=await answering(status), headers=headers, seconds=5)
    with pytest.raises(Invalid) as refusal:
        await list_tools(server)
    assert str(refusal.value).startswith(f"The MCP server odd could not be asked: {words}")
    assert words in await failing(server, "echo")
    assert isinstance(refusal.value, mcp.SignInNeeded) == (status[:3] == "401" and not headers)


async def test_an_http_server_that_is_not_there_is_one_sentence():
    gone = Server("gone", url="http://127.0.0.1:9/mcp?key=topsecret", seconds=5)
    assert (
        await failing(gone, "echo")
        == "The MCP server gone could not be reached: the connection failed."
    )
    await aclose_all()


async def test_something_else_at_the_address_is_one_sentence(live_server_of_nonsense):
    with pytest.raises(Invalid) as refusal:
        await list_tools(Server("odd", url=live_server_of_nonsense, seconds=5))
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
