"""A second name of a file never leads a tool out of its workspace."""

from pathlib import Path

import pytest
from django.conf import settings

from agents.config.store import copy_agent, files_folder, read_agent
from agents.tools.base import ToolFailed
from agents.tools.files import file_tools
from tests import world

SECRET = "the secret of another agent"


async def call(root, tool, **arguments):
    tools = {tool.name: tool for tool in file_tools(root)}
    return (await tools[tool].run(arguments)).text


READINGS = {
    "read_file": {"path": "notes.md"},
    "edit_file": {"path": "notes.md", "old": "secret", "new": "open"},
    "write_file": {"path": "notes.md", "content": "mine"},
}


def own_workspace():
    return files_folder(read_agent(world.agent()))


def outside(tmp_path):
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def other_agents_file():
    return Path(settings.PLANSIDE_HOME) / "workspaces" / world.agent(name=SECRET) / "agent.json"


def own_agents_file(root):
    return root.parent / "agent.json"


def key():
    return Path(settings.PLANSIDE_HOME) / "secret.key"


@pytest.mark.parametrize("tool", READINGS)
async def test_no_file_tool_touches_agent_json_through_a_hard_link(tool):
    root = own_workspace()
    before = own_agents_file(root).read_text()
    (root / "notes.md").hardlink_to(own_agents_file(root))
    with pytest.raises(ToolFailed, match=r"^notes\.md is a hard link, which may lead out"):
        await call(root, tool, **READINGS[tool])
    assert own_agents_file(root).read_text() == before


@pytest.mark.parametrize("tool", READINGS)
async def test_a_persons_own_folder_is_no_way_into_the_home(tool, tmp_path):
    root = outside(tmp_path)
    for inside in (other_agents_file(), key()):
        (root / "notes.md").unlink(missing_ok=True)
        (root / "notes.md").hardlink_to(inside)
        with pytest.raises(ToolFailed, match="hard link"):
            await call(root, tool, **READINGS[tool])


async def test_a_search_and_a_listing_show_nothing_of_what_is_linked(tmp_path):
    for root in (own_workspace(), outside(tmp_path)):
        (root / "notes.md").hardlink_to(other_agents_file())
        (root / "own.md").write_text("nothing here")
        found = await call(root, "search_files", pattern="secret|agent|nothing")
        assert found.splitlines()[0] == "own.md:1: nothing here" and SECRET not in found
        told = "[Not searched: 1 hard link, which may lead out of the workspace.]"
        assert found.splitlines()[1:] == [told]
        with pytest.raises(ToolFailed, match=r"^notes\.md is a hard link, which may lead out"):
            await call(root, "search_files", pattern="secret", path="notes.md")
        assert await call(root, "list_files") == "notes.md (hard link)\nown.md"
        with pytest.raises(ToolFailed):
            await call(root, "search_files", pattern="secret", path="nowhere.md")


async def test_links_among_a_persons_own_files_are_their_business(tmp_path):
    root = outside(tmp_path)
    (tmp_path / "store.md").write_text("packed once")
    (root / "package.md").hardlink_to(tmp_path / "store.md")
    assert await call(root, "read_file", path="package.md") == "packed once"
    assert await call(root, "list_files") == "package.md"
    await call(root, "edit_file", path="package.md", old="once", new="twice")
    assert (tmp_path / "store.md").read_text() == "packed once"


def test_a_copied_agent_gets_nothing_that_was_linked():
    root = own_workspace()
    (root / "notes.md").hardlink_to(other_agents_file())
    (root / "own.md").write_text("mine")
    copied = files_folder(copy_agent(root.parent.name, f"{root.parent.name}-copy"))
    assert [path.name for path in copied.iterdir()] == ["own.md"]
