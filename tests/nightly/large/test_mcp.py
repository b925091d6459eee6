"""An MCP server with hundreds of tools."""

import pytest

from tests.agents.test_mcp import call_tool, command
from tests.inner import Server, list_tools

__all__ = ["command"]

pytestmark = pytest.mark.usefixtures("no_waiting")


async def test_five_hundred_tools_are_listed_under_safe_names(command):
    server = Server("big", command=command, headers=(("MANY", "500"),))
    tools = [tool for tool in await list_tools(server) if tool["remote"].startswith("many")]
    assert len(tools) == 500
    assert tools[7]["name"] == "many_7" and tools[7]["remote"] == "many.7"
    assert await call_tool(server, "many.7", {}) == "7"
