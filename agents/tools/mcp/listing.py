"""What an MCP server offers, in the form in which it is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.errors import Invalid
from agents.tools.mcp.connection import Connection
from agents.tools.mcp.failures import why
from agents.tools.mcp.server import Server
from agents.tools.names import safe_name
from agents.tools.openapi.references import Document, Json, mapping
from agents.tools.openapi.schemas import Inliner

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import Tool

MOST_PAGES = 100
MOST_TOOLS = 5000
LONGEST_DESCRIPTION = 1000


async def list_tools(server: Server, longest: int) -> list[Json]:
    """Connect, ask, disconnect. Raises Invalid."""
    connection = Connection(server)
    try:
        tools = await connection.ask(all_tools)
    except Exception as error:  # whatever the SDK and its transports let through
        await connection.aclose()
        told = why(connection.failure or error)
        raise Invalid(f"The MCP server {server.name} could not be asked: {told}.") from None
    finally:
        await connection.aclose()
    names: set[str] = set()
    return [stored(tool, safe_name(tool.name, names, longest)) for tool in tools]


async def all_tools(client: Client) -> list[Tool]:
    """Page by page; a list that never ends is cut."""
    tools: list[Tool] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if not cursor or len(tools) >= MOST_TOOLS:
            break
    return tools[:MOST_TOOLS]


def stored(tool: Tool, name: str) -> Json:
    hints = tool.annotations
    reads = bool(hints and hints.read_only_hint)
    return {
        "name": name,
        "remote": tool.name,
        "description": (tool.description or tool.title or tool.name)[:LONGEST_DESCRIPTION],
        "parameters": parameters_of(dict(tool.input_schema)),
        "read_only": reads,
        "idempotent": reads or bool(hints and hints.idempotent_hint),
    }


def parameters_of(schema: Json) -> Json:
    """An object schema without references; one whose references lead nowhere stays as it is."""
    try:
        plain = Inliner(Document(schema)).schema(schema, "the schema")
    except Invalid:
        plain = schema
    properties = plain.get("properties")
    return {**plain, "type": "object", "properties": mapping(properties or {}, "properties")}
