"""MCP servers from the registries, started as their documentation says: by uvx and npx."""

import asyncio
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from agents.tools.integrations import mcp
from agents.tools.integrations.mcp import READ_RESOURCE, RemoteTool, Server, aclose_all, list_tools
from agents.tools.integrations.mcp.client import pooled

UVX = shutil.which("uvx") or Path(__file__).parents[2] / ".tools" / "bin" / "uvx"
# Where the registries are, and how they are reached, if not as usual.
WAYS = ("UV_", "npm_config_", "HTTP_PROXY", "HTTPS_PROXY")
REGISTRIES = tuple((k, v) for k, v in os.environ.items() if k.startswith(WAYS))
CHROMIUM = os.environ.get("CHROMIUM")


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


async def test_time(server):
    time, tools = await server("time", f"{UVX} mcp-server-time")
    assert {"get_current_time", "convert_time"} <= tools
    assert "Asia/Tokyo" in (await call(time, "get_current_time", timezone="Asia/Tokyo")).text


async def test_git(server, tmp_path):
    await asyncio.to_thread(subprocess.run, ["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "notes.md").write_text("# Notes")
    git, tools = await server("git", f"{UVX} mcp-server-git --repository {tmp_path}")
    assert "git_status" in tools
    assert "notes.md" in (await call(git, "git_status", repo_path=str(tmp_path))).text


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


async def test_fetch_says_what_was_refused(server):
    fetch, tools = await server("fetch", f"{UVX} mcp-server-fetch --ignore-robots-txt")
    assert "fetch" in tools
    with pytest.raises(mcp.ToolFailed, match=r"127\.0\.0\.1:9"):
        await call(fetch, "fetch", url="http://127.0.0.1:9/")


async def test_memory(server):
    memory, _ = await server("memory", "npx -y @modelcontextprotocol/server-memory")
    alice = {"name": "alice", "entityType": "person", "observations": ["likes plans"]}
    await call(memory, "create_entities", entities=[alice])
    found = await call(memory, "search_nodes", query="alice")
    assert found.data["entities"][0]["observations"] == ["likes plans"]


async def test_a_server_of_the_first_version_of_the_protocol(server, tmp_path):
    (tmp_path / "notes.md").write_text("# Notes")
    command = f"npx -y @modelcontextprotocol/server-filesystem@0.5.1 {tmp_path}"
    files, tools = await server("files", command)
    assert "read_file" in tools
    assert "# Notes" in (await call(files, "read_file", path=str(tmp_path / "notes.md"))).text
    version = pooled(files).connection.ready.result().protocol_version
    assert version == "2024-11-05"


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


async def test_what_npm_does_not_find_is_said_in_its_own_words():
    nothing = Server("nothing", command="npx -y @planside/no-such-package", headers=REGISTRIES)
    with pytest.raises(mcp.Invalid, match="exit code 1: 404 Not Found"):
        await list_tools(nothing)
