"""MCP servers over pipes and over HTTP, in this loop; real processes: tests/nightly/processes."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the package mcp is not installed")

from agents.errors import Invalid
from tests.agents.mcp_server import serve
from tests.agents.mcp_server import small as small_server
from tests.agents.programs import for_ever, prints, processes_with, repeats
from tests.agents.web import Served, says
from tests.inner import (
    Connection,
    RemoteTool,
    Server,
    ToolFailed,
    aclose_all,
    forget,
    list_tools,
    mcp,
)
from tests.patience import until

SCRIPT = Path(__file__).with_name("mcp_server.py")
COMMAND = f"{sys.executable} -W ignore {SCRIPT}"

pytestmark = pytest.mark.usefixtures("no_waiting")


async def call_tool(server, name, arguments):
    """The text that a model reads."""
    return (await mcp.call_tool(server, RemoteTool(name), arguments)).text


@pytest.fixture
async def command(programs):
    """What starts the small server."""
    yield programs.add("small", serve)
    await aclose_all()


@pytest.fixture
async def small(command, tmp_path):
    """The server over stdio."""
    cancelled = ("CANCELLED", str(tmp_path / "cancelled"))
    return Server("small", command=command, headers=(cancelled,), seconds=10)


async def failing(server, name, **arguments):
    with pytest.raises(ToolFailed) as failure:
        await call_tool(server, name, arguments)
    told = str(failure.value)
    assert "\n" not in told
    return told


async def so(check):
    """Wait until it is so; the loop's clock goes on meanwhile."""
    for _ in range(10_000):
        if found := check():
            return found
        await asyncio.sleep(0.01)
    raise AssertionError("it did not come true")


def alive(pid):
    """It may end between two looks at it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def written(file):
    return file.exists() and file.read_text()


def of(name):
    """The processes of the server that was given this name as a variable."""
    return [pid for pid in processes_with(f"MARK={name}") if alive(pid)]


async def test_what_a_server_offers_is_kept_with_its_hints_and_plain_schemas(small):
    tools = {tool["name"]: tool for tool in await list_tools(small)}
    echo = tools["echo"]
    assert (echo["read_only"], echo["idempotent"]) == (True, True)
    assert (tools["count"]["read_only"], tools["count"]["idempotent"]) == (False, True)
    assert (tools["fail"]["read_only"], tools["fail"]["idempotent"]) == (False, False)
    assert echo["parameters"]["properties"]["text"]["type"] == "string"
    assert echo["parameters"]["required"] == ["text"]
    assert tools["picture"]["parameters"] == {"type": "object", "properties": {}}


async def test_listing_leaves_no_process_behind(small, programs):
    await list_tools(small)
    assert len(programs.started) == 1 and programs.running == []


async def test_a_call_goes_over_one_process_that_stays(small, programs):
    assert await call_tool(small, "echo", {"text": "Grüße"}) == "Grüße"
    assert [await call_tool(small, "count", {}) for _ in range(3)] == ["1", "2", "3"]
    assert len(programs.started) == 1


async def test_calls_run_beside_each_other(small, programs):
    await call_tool(small, "count", {})
    calls = [asyncio.ensure_future(call_tool(small, "sleep", {"seconds": 1})) for _ in range(8)]
    await so(lambda: programs.started[0].calls_asleep == 8)
    assert await asyncio.gather(*calls) == ["awake"] * 8


async def test_the_process_sees_no_secret_of_ours_and_what_it_was_given(command, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "our-own-secret")
    monkeypatch.setenv("DATABASE_URL", "postgres://secret")
    server = Server("small", command=command, headers=(("TOKEN", "theirs"),))
    told = await call_tool(server, "environment", {})
    assert "TOKEN=theirs" in told and "PATH=" in told
    assert "secret" not in told and "PLANSIDE_HOME" not in told


async def test_a_server_that_dies_in_mid_call_is_one_sentence_at_once_and_is_there_again(small):
    assert await call_tool(small, "count", {}) == "1"
    loop = asyncio.get_running_loop()
    began = loop.time()
    told = await failing(small, "die")
    assert loop.time() - began < 1, "not after the ten seconds that a call may take"
    assert (
        told
        == "The MCP server small went away during die: it ended with exit code 3: no more power."
    )
    assert await call_tool(small, "count", {}) == "1"


async def test_a_server_killed_in_mid_call_ends_every_call_and_is_started_again(small, programs):
    await call_tool(small, "count", {})
    calls = [asyncio.ensure_future(call_tool(small, "sleep", {"seconds": 9})) for _ in range(3)]
    [program] = programs.running
    await so(lambda: program.calls_asleep == 3)
    program.exit(-signal.SIGKILL)
    done = await asyncio.gather(*calls, return_exceptions=True)
    assert all(
        isinstance(each, ToolFailed) and "went away during sleep" in str(each) for each in done
    )
    assert await call_tool(small, "echo", {"text": "back"}) == "back"


async def test_a_server_killed_between_two_calls_is_not_noticed(small, programs):
    await call_tool(small, "count", {})
    programs.running[0].exit(-signal.SIGKILL)
    await asyncio.sleep(0.5)
    assert await call_tool(small, "echo", {"text": "back"}) == "back"


async def test_a_server_that_dies_again_and_again_is_left_alone_for_a_while(small):
    await failing(small, "die")
    await failing(small, "die")
    told = await failing(small, "echo", text="x")
    assert "failed 2 times in a row; it is tried again in" in told
    await asyncio.sleep(1.1)
    assert await call_tool(small, "echo", {"text": "x"}) == "x"


async def test_a_cancelled_call_is_cancelled_on_the_wire_and_the_line_stays_open(
    small, programs, tmp_path
):
    await call_tool(small, "count", {})
    call = asyncio.ensure_future(call_tool(small, "sleep", {"seconds": 9}))
    await so(lambda: programs.started[0].calls_asleep == 1)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await so(lambda: written(tmp_path / "cancelled")) == "yes"
    assert programs.started[0].calls_asleep == 0, "it has not slept to its end"
    assert await call_tool(small, "count", {}) == "2"


async def test_a_call_cancelled_while_the_server_starts_leaves_the_line_usable(programs):
    goes = asyncio.Event()

    async def late(program):
        await goes.wait()
        await serve(program)

    server = Server("late", command=programs.add("late", late), seconds=10)
    call = asyncio.ensure_future(call_tool(server, "echo", {"text": "x"}))
    await so(lambda: programs.started)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    goes.set()
    assert await call_tool(server, "echo", {"text": "y"}) == "y"
    assert len(programs.started) == 1
    await aclose_all()


async def test_a_call_that_shows_how_far_it_is_may_take_longer_than_its_limit(command):
    busy = Server("busy", command=command, seconds=2)
    assert await call_tool(busy, "steps", {"count": 5, "seconds": 0.6}) == "swept"
    told = await failing(busy, "steps", count=2, seconds=0.2, then=9)
    assert told == (
        "steps of busy did not answer within 2 seconds. The last it said was: 2 of 2 · Sweeping."
    )


async def test_no_sign_of_life_prolongs_a_call_beyond_ten_times_its_limit(command):
    busy = Server("busy", command=command, seconds=0.2)
    await call_tool(busy, "echo", {"text": "x"})
    loop = asyncio.get_running_loop()
    began = loop.time()
    assert "did not answer" in await failing(busy, "steps", count=400, seconds=0.1)
    assert 1.9 < loop.time() - began < 5


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
    await so(lambda: offers and "two" in offers[-1])
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


async def test_a_call_that_takes_too_long_is_given_up_after_the_sources_own_limit(command):
    slow = Server("slow", command=command, seconds=3)
    assert await call_tool(slow, "echo", {"text": "x"}) == "x"
    loop = asyncio.get_running_loop()
    began = loop.time()
    assert (
        await failing(slow, "sleep", seconds=30) == "sleep of slow did not answer within 3 seconds."
    )
    assert loop.time() - began < 6
    assert await call_tool(slow, "echo", {"text": "x"}) == "x"


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


async def test_a_line_beyond_every_measure_ends_the_server_not_us(small, programs):
    told = await failing(small, "long", characters=3_000_000)
    assert (
        told == "The MCP server small went away during long: it sent more than 2 MB in one message."
    )
    assert programs.running == []


def after_noise(characters):
    """The small server, after as much of something else."""

    async def run(program):
        for _ in range(characters // 1000):
            program.say("y\n" * 500)
            await asyncio.sleep(0)
        await serve(program)

    return run


async def test_a_little_noise_on_stdout_is_passed_over_and_much_of_it_is_not(programs):
    little, much = (programs.add(str(n), after_noise(n)) for n in (5000, 500_000))
    assert await call_tool(Server("a", command=little), "echo", {"text": "x"}) == "x"
    assert "what it prints is not MCP" in await failing(Server("b", command=much), "echo", text="x")
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
    programs, stderr, line
):
    broken = Server("broken", command=programs.add("broken", prints("", stderr, 1)), seconds=5)
    with pytest.raises(Invalid) as refusal:
        await list_tools(broken)
    assert f"it ended with exit code 1: {line}" in str(refusal.value)


@pytest.mark.parametrize(
    ("program", "word"),
    [
        (prints(code=7), "exit code 7"),
        (prints("", "bad key\n", 1), "exit code 1: bad key"),
        (repeats("y\n"), "not MCP"),
        (repeats("\0" * 100), "2 MB in one message"),
    ],
    ids=["exit", "stderr", "yes", "zeros"],
)
async def test_a_program_that_is_no_server_is_one_sentence(programs, program, word):
    with pytest.raises(Invalid) as refusal:
        await list_tools(Server("broken", command=programs.add("broken", program), seconds=5))
    assert word in str(refusal.value) and str(refusal.value).endswith(".")
    assert programs.running == []


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("/no/such/program", "cannot be started: No such file"),
        ("'unclosed", "shell would understand"),
        ("'' x", "cannot be started"),
    ],
)
async def test_what_is_no_server_is_one_sentence(command, word):
    with pytest.raises(Invalid) as refusal:
        await list_tools(Server("broken", command=command, seconds=5))
    assert word in str(refusal.value) and str(refusal.value).endswith(".")


async def deaf(program):
    """It does not end when its stdin does."""
    serving = asyncio.ensure_future(serve(program))
    try:
        await for_ever()
    finally:
        serving.cancel()


async def test_closing_ends_a_server_that_does_not_end_by_itself(programs):
    server = Server("deaf", command=programs.add("deaf", deaf))
    assert await call_tool(server, "echo", {"text": "x"}) == "x"
    [program] = programs.running
    await aclose_all()
    assert program.stdin.is_closed and program.returncode == -signal.SIGTERM


async def test_a_server_that_is_no_longer_registered_is_closed(small, programs):
    await call_tool(small, "count", {})
    [program] = programs.running
    await asyncio.to_thread(forget, "small")
    await so(lambda: program.returncode is not None)


async def test_an_idle_connection_is_closed_and_that_is_no_failure(small, programs):
    connection = Connection(small, idle=600)
    await connection.ask(lambda client: client.call_tool("count", {}))
    [program] = programs.running
    await connection.task
    assert program.returncode is not None and not connection.is_open
    assert not connection.was_lost and connection.failure is None


# A real process, of which the loop's clock knows nothing


@pytest.mark.process
def test_closing_ends_the_process_and_what_it_has_started(tmp_path):
    command = f"sh -c 'sleep 77 & {COMMAND}; true'"
    server = Server("nested", command=command, headers=(("MARK", str(tmp_path)),))

    async def story():
        assert await call_tool(server, "echo", {"text": "x"}) == "x"
        assert len(of(tmp_path)) >= 3
        await aclose_all()

    asyncio.run(story())
    until(lambda: of(tmp_path) == [])


# Over HTTP


class Remote:
    """The server over streamable HTTP, to be killed and started again at the same address."""

    def __init__(self, web, folder):
        self.web = web
        self.environ = {"CANCELLED": str(folder / "cancelled")}
        self.folder = str(folder)
        self.calls_asleep = 0
        self.server = Server("remote", url="http://127.0.0.1:4711/mcp", seconds=10)

    def start(self, transport="streamable_http"):
        app = getattr(small_server(self), f"{transport}_app")()
        self.served = Served(app)
        self.web.add(4711, self.served)

    async def kill(self):
        self.web.remove(4711)
        await self.served.kill()


@pytest.fixture
async def remote(web, tmp_path):
    remote = Remote(web, tmp_path)
    remote.start()
    yield remote
    await aclose_all()
    await remote.served.kill()


async def test_a_server_over_http_is_listed_and_called(remote):
    assert "echo" in {tool["name"] for tool in await list_tools(remote.server)}
    assert await call_tool(remote.server, "echo", {"text": "Grüße"}) == "Grüße"
    assert "this is what went wrong" in await failing(remote.server, "fail")


async def test_an_http_server_killed_in_mid_call_is_one_sentence_and_is_there_again(remote):
    assert await call_tool(remote.server, "count", {}) == "1"
    call = asyncio.ensure_future(call_tool(remote.server, "sleep", {"seconds": 9}))
    await so(lambda: remote.calls_asleep == 1)
    await remote.kill()
    with pytest.raises(ToolFailed, match="remote"):
        await call
    remote.start()
    await asyncio.sleep(1)
    assert await call_tool(remote.server, "count", {}) == "1"


async def test_an_http_server_restarted_between_two_calls_is_not_noticed(remote):
    assert await call_tool(remote.server, "count", {}) == "1"
    await remote.kill()
    remote.start()
    assert await call_tool(remote.server, "count", {}) == "1"


async def test_a_cancelled_call_over_http_is_cancelled_there(remote, tmp_path):
    await call_tool(remote.server, "count", {})
    call = asyncio.ensure_future(call_tool(remote.server, "sleep", {"seconds": 9}))
    await so(lambda: remote.calls_asleep == 1)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await so(lambda: written(tmp_path / "cancelled")) == "yes"
    assert remote.calls_asleep == 0, "it has not slept to its end"
    assert await call_tool(remote.server, "count", {}) == "2"


async def test_a_server_of_the_time_before_streamable_http_is_spoken_to(web, tmp_path):
    old = Remote(web, tmp_path)
    old.start("sse")
    server = Server("old", url="http://127.0.0.1:4711/sse", seconds=10)
    assert "echo" in {tool["name"] for tool in await list_tools(server)}
    assert await call_tool(server, "echo", {"text": "Grüße"}) == "Grüße"
    assert await call_tool(server, "count", {}) == "1"
    await aclose_all()
    await old.served.kill()


@pytest.fixture
async def answering(web):
    """A web server that says one thing whatever it is asked."""

    def serve(status, body=b"", **headers):
        async def answer(_):
            return says(status, body, **headers)

        return web.add(4712, answer) + "/mcp"

    yield serve
    await aclose_all()


KEY = (("Authorization", "Bearer top-secret"),)


@pytest.mark.parametrize(
    ("status", "headers", "words"),
    [
        (401, (), "it wants to know who asks (401): press Connect"),
        (401, KEY, "it does not accept the key it was sent (401)"),
        (403, KEY, "it refuses this account or key (403)"),
        (404, (), "there is no MCP server at this address (404)"),
        (405, (), "there is no MCP server at this address (405)"),
        (429, (), "it is asked too often (429)"),
        (503, (), "it answered with an error of its own (503)"),
    ],
)
async def test_a_status_is_explained_with_its_remedy(answering, status, headers, words):
    server = Server("odd", url=answering(status), headers=headers, seconds=5)
    with pytest.raises(Invalid) as refusal:
        await list_tools(server)
    assert str(refusal.value).startswith(f"The MCP server odd could not be asked: {words}")
    assert words in await failing(server, "echo")
    assert isinstance(refusal.value, mcp.SignInNeeded) == (status == 401 and not headers)


async def test_an_http_server_that_is_not_there_is_one_sentence(web):
    gone = Server("gone", url="http://127.0.0.1:9/mcp?key=topsecret", seconds=5)
    assert (
        await failing(gone, "echo")
        == "The MCP server gone could not be reached: the connection failed."
    )
    await aclose_all()


async def test_something_else_at_the_address_is_one_sentence(answering):
    with pytest.raises(Invalid) as refusal:
        await list_tools(
            Server("odd", url=answering(200, b"hi", content_type="text/html"), seconds=5)
        )
    assert str(refusal.value).startswith("The MCP server odd could not be asked: ")


@pytest.mark.process
def test_nothing_of_the_sdk_is_imported_before_it_is_used():
    code = "import django; django.setup(); import sys, agents.tools.integrations.actions; print([m for m in sys.modules if m.split('.')[0] in ('mcp', 'httpx2', 'anyio')])"
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    told = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert "'mcp'" not in told.stdout and "httpx2" not in told.stdout
