"""MCP servers that are not ours, from npm. They are installed once into a folder of the cache."""

import asyncio
import os
import socket
import subprocess

import pytest

pytest.importorskip("mcp", reason="the package mcp is not installed")

from tests import peers
from tests.agents.test_mcp import call_tool
from tests.inner import RemoteTool, Server, ToolFailed, aclose_all, list_tools, mcp, progress
from tests.patience import until_connected

pytestmark = pytest.mark.server("MCP everything")


async def under_way(call):
    """The task of a call, of which the server has said that it works on it."""
    heard = asyncio.Event()
    with progress.listening(lambda _: heard.set()):
        work = asyncio.ensure_future(call)
    told = asyncio.ensure_future(heard.wait())
    await asyncio.wait({work, told}, return_when=asyncio.FIRST_COMPLETED)
    assert not work.done()
    return work


LONG = {"duration": 20, "steps": 100}


@pytest.fixture(scope="session")
def programs():
    return peers.programs()


@pytest.fixture
async def everything(programs):
    yield Server(
        "everything",
        command=f"{programs / 'mcp-server-everything'} stdio",
        headers=(("TOKEN", "given"),),
    )
    await aclose_all()


@pytest.fixture
async def files(programs, tmp_path):
    (tmp_path / "notes.md").write_text("# Notes\n")
    yield Server("files", command=f"{programs / 'mcp-server-filesystem'} '{tmp_path}'")
    await aclose_all()


@pytest.mark.shows("calls")
async def test_everything_is_listed_and_called(everything):
    tools = {tool["name"]: tool for tool in await list_tools(everything)}
    assert tools["echo"]["parameters"]["required"] == ["message"]
    assert await call_tool(everything, "echo", {"message": "hello"}) == "Echo: hello"
    assert "5" in await call_tool(everything, "get-sum", {"a": 2, "b": 3})


@pytest.mark.shows("images, resources, links")
async def test_its_image_and_its_resources_reach_the_model(everything):
    picture = await mcp.call_tool(everything, RemoteTool("get-tiny-image"), {})
    assert "[image: image/png, 4,033 bytes]" in picture.text and len(picture.images) == 1
    for kind, content in (
        ("Text", "This is a plaintext resource"),
        ("Blob", "This is a base64 blob"),
    ):
        arguments = {"resourceType": kind, "resourceId": 1}
        told = await call_tool(everything, "get-resource-reference", arguments)
        assert f"[resource: demo://resource/dynamic/{kind.lower()}/1" in told and content in told
    links = await call_tool(everything, "get-resource-links", {"count": 2})
    assert "[resource: demo://resource/dynamic/text/2 " in links
    read = RemoteTool("", "resource")
    listed = (await mcp.call_tool(everything, read, {})).text
    assert "demo://resource/static/document/features.md" in listed
    address = {"uri": "demo://resource/dynamic/text/2"}
    assert "plaintext resource" in (await mcp.call_tool(everything, read, address)).text


@pytest.mark.shows("fields for chains")
async def test_its_structured_content_is_kept_for_chains(everything):
    weather = RemoteTool("get-structured-content")
    result = await mcp.call_tool(everything, weather, {"location": "Chicago"})
    assert set(result.data) == {"temperature", "conditions", "humidity"}


@pytest.mark.shows("tasks")
async def test_its_tool_that_demands_a_task_is_run_as_one_and_can_be_stopped(everything):
    tools = {tool["name"]: tool for tool in await list_tools(everything)}
    research = RemoteTool("simulate-research-query", tools["simulate-research-query"]["request"])
    work = asyncio.ensure_future(mcp.call_tool(everything, research, {"topic": "snow"}))
    report = await mcp.call_tool(everything, research, {"topic": "rain"})
    assert report.text.startswith("# Research Report: rain")
    await work
    work = await under_way(mcp.call_tool(everything, research, {"topic": "hail"}))
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert await call_tool(everything, "echo", {"message": "still"}) == "Echo: still"


@pytest.mark.shows("list_changed")
async def test_it_is_asked_again_when_it_says_that_its_tools_have_changed(everything):
    """It does so by itself, once it knows what we can do."""
    offers = asyncio.Queue()
    await mcp.call_tool(everything, RemoteTool("echo"), {"message": "x"}, offers.put)
    assert "simulate-research-query" in {each["name"] for each in await offers.get()}


@pytest.mark.shows("its environment")
async def test_its_process_sees_what_it_was_given_and_nothing_of_ours(everything):
    told = await call_tool(everything, "get-env", {})
    assert '"TOKEN": "given"' in told and "PLANSIDE_HOME" not in told


@pytest.mark.shows("wrong arguments")
async def test_its_wrong_arguments_are_a_failure(everything):
    with pytest.raises(ToolFailed):
        await call_tool(everything, "get-sum", {"a": "x"})
    with pytest.raises(ToolFailed):
        await call_tool(everything, "no-such-tool", {})


@pytest.mark.shows("stop")
async def test_its_long_work_can_be_stopped_and_the_line_stays_open(everything):
    await call_tool(everything, "echo", {"message": "hello"})
    work = await under_way(call_tool(everything, "trigger-long-running-operation", LONG))
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert await call_tool(everything, "echo", {"message": "still"}) == "Echo: still"


@pytest.mark.server("MCP filesystem")
@pytest.mark.shows("calls, hints, its borders")
async def test_files_are_read_written_and_kept_within_their_folder(files, tmp_path):
    tools = {tool["name"]: tool for tool in await list_tools(files)}
    assert tools["list_directory"]["read_only"] and not tools["write_file"]["read_only"]
    assert "# Notes" in await call_tool(
        files, "read_text_file", {"path": str(tmp_path / "notes.md")}
    )
    await call_tool(files, "write_file", {"path": str(tmp_path / "new.md"), "content": "new"})
    assert (tmp_path / "new.md").read_text() == "new"
    with pytest.raises(ToolFailed, match="denied"):
        await call_tool(files, "read_text_file", {"path": "/etc/passwd"})


class Remote:
    """Everything over streamable HTTP: it keeps sessions, which end with its process."""

    def __init__(self, program):
        self.command = [program, "streamableHttp"]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.start()

    def start(self):
        environment = {**os.environ, "PORT": str(self.port)}
        self.process = subprocess.Popen(
            self.command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        until_connected(self.port)

    def kill(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
async def remote(programs):
    remote = Remote(programs / "mcp-server-everything")
    yield remote
    await aclose_all()
    remote.kill()


@pytest.mark.shows("over HTTP, restarted between calls")
async def test_everything_over_http_is_called_and_restarted_between_two_calls(remote):
    server = Server("remote", url=f"http://127.0.0.1:{remote.port}/mcp", seconds=10)
    assert await call_tool(server, "echo", {"message": "one"}) == "Echo: one"
    remote.kill()
    remote.start()
    assert await call_tool(server, "echo", {"message": "two"}) == "Echo: two"


@pytest.mark.shows("over HTTP, killed in mid-call")
async def test_everything_over_http_killed_in_mid_call_is_one_sentence_and_is_there_again(remote):
    server = Server("remote", url=f"http://127.0.0.1:{remote.port}/mcp", seconds=10)
    await call_tool(server, "echo", {"message": "one"})
    work = await under_way(call_tool(server, "trigger-long-running-operation", LONG))
    remote.kill()
    with pytest.raises(ToolFailed, match="remote"):
        await work
    remote.start()
    assert await call_tool(server, "echo", {"message": "two"}) == "Echo: two"
