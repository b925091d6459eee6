"""The disk is full in the middle of things, and later there is room again."""

import json
import re
import shutil

import httpx
import pytest

from tests.console.serving import Script, Started, refused
from tests.console.sockets import Page
from tests.fake_model import FakeModelServer, rule, say
from tests.inner import ToolFailed, file_tools
from tests.nightly.faults.disks import small_disk

STORY = "word " * 400
RULES = [
    rule(say(STORY, chunk=20, delay=0.01), user="a story"),  # a second of it
    rule(say("Hello."), user="hello"),
]
FULL = "The server's disk is full and nothing was changed; make room on it, then try again."


@pytest.fixture
def disk(tmp_path):
    with small_disk(tmp_path / "disk") as disk:
        yield disk


@pytest.fixture
def model():
    with FakeModelServer({"rules": RULES}) as model:
        yield model


@pytest.fixture
def server(disk, model):
    server = Started(
        disk.folder / "home",
        OPENAI_BASE_URL=model.url,
        OPENAI_API_KEY="k",
        PLANSIDE_MODEL="openai/m",
    )
    yield server
    if server.process.poll() is None:
        server.end()


def test_a_reply_caught_by_a_full_disk_is_whole_when_there_is_room_again(disk, server, model):
    alice, home = Script(disk.folder / "home"), disk.folder / "home"
    c = alice.post(server, "/conversations", {"agent": "docs-writer"})["id"]
    said = f"/conversations/{c}/messages"
    alice.post(server, said, {"text": "tell a story"})
    alice.wait_until(server, said, lambda found: found["items"][-1]["streaming"])
    file = home / "workspaces" / "docs-writer" / "agent.json"
    as_it_was = file.read_bytes()
    disk.fill()

    refused = httpx.post(f"{server.address}/api{said}", headers=alice.headers, json={"text": "on"})
    assert (refused.status_code, refused.json()) == (507, {"detail": FULL})
    change = {"name": "Another"}
    refused = httpx.patch(
        f"{server.address}/api/agents/docs-writer", headers=alice.headers, json=change
    )
    assert refused.json()["detail"] == "agent.json could not be written: No space left on device."
    assert httpx.get(f"{server.address}/healthz").status_code == 200
    ready = httpx.get(f"{server.address}/readyz")
    assert (ready.status_code, "free space" in ready.json()["detail"]) == (503, True)
    alice.wait_until(server, said, lambda found: not model.answering)  # it has said all
    server.wait_to_hear("trying again")
    assert len(alice.get(server, said)["items"]) == 2, "what is there can be read"

    disk.make_room()
    found = alice.wait_until(server, said, lambda found: found["items"][-1]["text"] == STORY)
    alice.wait_until(server, said, lambda found: not found["items"][-1]["streaming"])
    assert [message["kind"] for message in found["items"]] == ["text", "text"]
    alice.post(server, said, {"text": "hello"})
    alice.wait_until(server, said, lambda found: found["items"][-1]["text"] == "Hello.")
    assert httpx.get(f"{server.address}/readyz").status_code == 200
    assert (json.loads(file.read_text()), file.read_bytes()) == (json.loads(as_it_was), as_it_was)
    assert not [path for path in home.rglob(".*") if path.is_file() and "tmp" in path.name]
    _, code, _, log = server.end()
    assert code == 0
    assert log.count("trying again") == 1, "said once, not at every try"
    assert len(re.findall(r"answers again", log)) == 1


def test_the_page_says_that_the_disk_is_full(disk, server):
    page = Page(server)
    with httpx.Client(base_url=server.address, cookies=page.cookies) as browser:
        form = browser.get("/", follow_redirects=True)
        path = form.url.path.rstrip("/")
        token = re.search(r'name="csrf" content="(\w+)"', form.text)
        assert token
        disk.fill()
        refused = browser.post(
            f"{path}/say", data={"text": "hello"}, headers={"X-CSRFToken": token[1]}
        )
    assert refused.status_code == 507
    assert "disk is full" in refused.text


def test_a_start_without_room_for_the_static_files_says_so_and_leaves_no_part(disk):
    home = disk.folder / "home"
    Started(home).end()
    shutil.rmtree(home / "static")
    disk.fill(leave=500_000)
    assert refused(home).endswith(" cannot be used: No space left on device.")
    assert not list(home.glob("static/*")) and not list(home.glob(".static?*/"))
    disk.make_room()
    server = Started(home)
    with httpx.Client(base_url=server.address) as browser:
        style = re.search(r"/static/css/planside.*?css", browser.get("/signin/").text)
        assert style and browser.get(style[0]).status_code == 200
    server.end()


async def test_a_file_that_finds_no_room_stays_as_it_was(disk):
    tools = {tool.name: tool for tool in file_tools(disk.folder)}
    await tools["write_file"].run({"path": "a.txt", "content": "old"})
    disk.fill()
    large = "x" * 100_000
    for name, arguments in (
        ("write_file", {"path": "a.txt", "content": large}),
        ("write_file", {"path": "new.txt", "content": large}),
        ("edit_file", {"path": "a.txt", "old": "old", "new": large}),
    ):
        with pytest.raises(ToolFailed, match="No space left on device"):
            await tools[name].run(arguments)
    assert (disk.folder / "a.txt").read_text() == "old"
    assert sorted(path.name for path in disk.folder.iterdir()) == ["a.txt", "filler"]
