"""MCP servers from the registries, started as their documentation says: by uvx and npx.

More is shown with two of them, everything and filesystem, in
tests/nightly/processes/test_mcp_peers.py.
"""

import asyncio
import os
import shutil
import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from agents.db import in_db
from agents.models import OAuthLogin
from agents.tools.integrations import mcp, sign_in
from agents.tools.integrations.mcp import READ_RESOURCE, RemoteTool, Server, aclose_all, list_tools
from agents.tools.integrations.mcp.client import pooled
from agents.tools.integrations.tools import source_tools
from tests.agents.test_oauth import added, answer_in, brought, led_to
from tests.console.serving import free_port
from tests.peers import programs, serving

HERE = Path(__file__).parent
ERA = HERE / "era_server.py"
UVX = shutil.which("uvx") or Path(__file__).parents[2] / ".tools" / "bin" / "uvx"
# Where the registries are, and how they are reached, if not as usual.
WAYS = ("UV_", "npm_config_", "HTTP_PROXY", "HTTPS_PROXY")
REGISTRIES = tuple((k, v) for k, v in os.environ.items() if k.startswith(WAYS))
CHROMIUM = os.environ.get("CHROMIUM")


async def sent_back(address):
    """Sign in there: with what the browser comes back."""
    async with httpx.AsyncClient() as outside:
        return answer_in((await outside.get(address)).headers["location"])


@pytest.fixture
async def server():
    """Give it a name and a command, get the server and the names of its tools."""

    async def started(name, command):
        server = Server(name, command=command, headers=REGISTRIES, seconds=60)
        return server, {tool["name"] for tool in await list_tools(server)}

    yield started
    await aclose_all()


async def call(server, name, **arguments):
    return await mcp.call_tool(server, RemoteTool(name), arguments)


@pytest.mark.server("MCP time")
@pytest.mark.shows("a call")
async def test_time(server):
    time, tools = await server("time", f"{UVX} mcp-server-time")
    assert {"get_current_time", "convert_time"} <= tools
    assert "Asia/Tokyo" in (await call(time, "get_current_time", timezone="Asia/Tokyo")).text


@pytest.mark.server("MCP git")
@pytest.mark.shows("a call")
async def test_git(server, tmp_path):
    await asyncio.to_thread(subprocess.run, ["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "notes.md").write_text("# Notes")
    git, tools = await server("git", f"{UVX} mcp-server-git --repository {tmp_path}")
    assert "git_status" in tools
    assert "notes.md" in (await call(git, "git_status", repo_path=str(tmp_path))).text


@pytest.mark.server("MCP sqlite")
@pytest.mark.shows("calls, a resource, its own folder")
async def test_sqlite_keeps_its_file_in_the_folder_of_the_server(server, settings):
    sqlite, tools = await server(
        "sqlite", f"{UVX} --with 'mcp<2' mcp-server-sqlite --db-path notes.db"
    )
    assert "write_query" in tools
    await call(sqlite, "create_table", query="CREATE TABLE notes (text TEXT)")
    await call(sqlite, "write_query", query="INSERT INTO notes VALUES ('tidy up')")
    assert "tidy up" in (await call(sqlite, "read_query", query="SELECT * FROM notes")).text
    folder = Path(settings.PLANSIDE_HOME, "services", "sqlite")
    assert "notes.db" in await asyncio.to_thread(os.listdir, folder)
    memo = await mcp.call_tool(sqlite, RemoteTool("", READ_RESOURCE), {"uri": "memo://insights"})
    assert "No business insights" in memo.text


@pytest.mark.server("MCP fetch")
@pytest.mark.shows("a refusal in its words")
async def test_fetch_says_what_was_refused(server):
    fetch, tools = await server("fetch", f"{UVX} mcp-server-fetch --ignore-robots-txt")
    assert "fetch" in tools
    with pytest.raises(mcp.ToolFailed, match=r"127\.0\.0\.1:9"):
        await call(fetch, "fetch", url="http://127.0.0.1:9/")


@pytest.mark.server("MCP memory")
@pytest.mark.shows("calls, fields for chains")
async def test_memory(server):
    memory, _ = await server("memory", "npx -y @modelcontextprotocol/server-memory")
    alice = {"name": "alice", "entityType": "person", "observations": ["likes plans"]}
    await call(memory, "create_entities", entities=[alice])
    found = await call(memory, "search_nodes", query="alice")
    assert found.data["entities"][0]["observations"] == ["likes plans"]


@pytest.mark.server("MCP filesystem")
@pytest.mark.shows("protocol 2024-11-05")
async def test_a_server_of_the_first_version_of_the_protocol(server, tmp_path):
    (tmp_path / "notes.md").write_text("# Notes")
    command = f"npx -y @modelcontextprotocol/server-filesystem@0.5.1 {tmp_path}"
    files, tools = await server("files", command)
    assert "read_file" in tools
    assert "# Notes" in (await call(files, "read_file", path=str(tmp_path / "notes.md"))).text
    assert version_of(files) == "2024-11-05"


# Which release of the SDK behind a server spoke which version of the protocol.
ERAS = {
    "2025-03-26": "--with mcp==1.9.4 --with 'pydantic<2.12'",
    "2025-06-18": "--with mcp==1.22.0",
    "2025-11-25": "--with mcp==1.26.0",
    "2026-07-28": "--with mcp==2.3.0",
}


@pytest.mark.server("MCP, each version of it")
@pytest.mark.parametrize(
    "version", [pytest.param(each, marks=pytest.mark.shows(each)) for each in ERAS]
)
async def test_a_server_of_each_version_is_called(server, version):
    own, tools = await server("own", f"{UVX} {ERAS[version]} python {ERA}")
    assert "add" in tools
    assert (await call(own, "add", a=2, b=3)).text == "5"
    assert version_of(own) == version


def version_of(server):
    return pooled(server).connection.ready.result().protocol_version


@pytest.mark.server("MCP everything")
@pytest.mark.shows("over HTTP and SSE, as it was before")
async def test_everything_over_the_old_transport():
    url = f"http://127.0.0.1:{(port := free_port())}"
    with serving([programs() / "mcp-server-everything", "sse"], f"{url}/", PORT=str(port)):
        old = Server("old", url=f"{url}/sse", seconds=10)
        tools = {tool["name"] for tool in await list_tools(old)}
        assert "echo" in tools
        assert (await call(old, "echo", message="hello")).text == "Echo: hello"
        picture = await call(old, "get-tiny-image")
        assert len(picture.images) == 1
        await aclose_all()


@pytest.mark.server("MCP everything")
@pytest.mark.shows("death in mid-call, and another life")
async def test_a_server_that_is_killed_in_mid_call_is_started_again(server, tmp_path):
    pid = tmp_path / "pid"
    program = f"{programs() / 'mcp-server-everything'} stdio"
    everything, _ = await server("everything", f"sh -c 'echo $$ > {pid}; exec {program}'")
    await call(everything, "echo", message="one")
    slow = call(everything, "trigger-long-running-operation", duration=20, steps=5)
    work = asyncio.ensure_future(slow)
    await asyncio.sleep(0.5)
    os.kill(int(pid.read_text()), signal.SIGKILL)
    with pytest.raises(mcp.ToolFailed, match="everything went away during trigger-long-running"):
        await asyncio.wait_for(work, 8)
    assert (await call(everything, "echo", message="two")).text == "Echo: two"


@pytest.fixture(scope="module")
def guarded():
    """The example of the SDK in TypeScript: it and its authorization server, on ports of their own."""
    sdk = programs(HERE).parent / "@modelcontextprotocol" / "sdk"
    script = sdk / "dist" / "esm" / "examples" / "server" / "simpleStreamableHttp.js"
    own, issuer = free_port(), free_port()
    ports = {"MCP_PORT": str(own), "MCP_AUTH_PORT": str(issuer)}
    described = f"http://localhost:{issuer}/.well-known/oauth-authorization-server"
    with serving(["node", script, "--oauth"], described, **ports):
        yield SimpleNamespace(url=f"http://localhost:{own}")


@pytest.mark.server("MCP behind OAuth")
@pytest.mark.shows("sign-in, a call, sign-out")
@pytest.mark.django_db(transaction=True)
async def test_a_server_of_another_sdk_is_signed_in_to(guarded):
    source = await added(guarded)
    assert source.sign_in == "wanted" and "press Connect" in source.error
    source = await brought(await sent_back(await led_to()))
    assert (source.sign_in, source.error) == ("connected", "")
    [greet] = [each for each in await in_db(source_tools) if each.name == "guarded__greet"]
    assert "Ada" in (await greet.run({"name": "Ada"})).text
    await sign_in.disconnect("guarded", "alice")
    assert not await in_db(OAuthLogin.objects.exists)
    await aclose_all()


@pytest.mark.server("MCP playwright")
@pytest.mark.shows("a page, its picture")
@pytest.mark.skipif(not CHROMIUM, reason="CHROMIUM names no browser")
async def test_playwright_shows_a_page(server):
    options = f"--headless --no-sandbox --isolated --executable-path {CHROMIUM}"
    browser, tools = await server("browser", f"npx -y @playwright/mcp {options}")
    assert "browser_navigate" in tools
    page = "data:text/html,<h1>Tidy up</h1><button>Start</button>"
    assert "Start" in (await call(browser, "browser_navigate", url=page)).text
    shot = await call(browser, "browser_take_screenshot")
    [image] = shot.images
    assert image.media_type in ("image/png", "image/jpeg") and len(image.data) > 1_000


@pytest.mark.server("MCP npm")
@pytest.mark.shows("a package that is not there")
async def test_what_npm_does_not_find_is_said_in_its_own_words():
    nothing = Server("nothing", command="npx -y @planside/no-such-package", headers=REGISTRIES)
    with pytest.raises(mcp.Invalid, match="exit code 1: 404 Not Found"):
        await list_tools(nothing)
