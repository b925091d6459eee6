"""What an MCP server offers, as it is stored, and what its tools give back."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    TextContent,
)

from agents.config.tool_names import safe_name
from agents.errors import Invalid
from agents.tools.base import ToolFailed, ToolResult, truncated
from agents.tools.integrations.mcp.connection import Connection
from agents.tools.integrations.mcp.errors import why
from agents.tools.integrations.mcp.server import Server
from agents.tools.integrations.openapi.schemas import Document, Inliner, Json, mapping

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
    return await asyncio.to_thread(all_stored, tools, longest)


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


def all_stored(tools: list[Tool], longest: int) -> list[Json]:
    """Takes seconds for thousands of large schemas, which the loop need not wait for."""
    names: set[str] = set()
    return [stored(tool, safe_name(tool.name, names, longest)) for tool in tools]


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


# What an MCP tool gave back: text for the model, and data for a chain.

MOST_CHARACTERS = 60_000
MOST_OF_AN_ERROR = 2_000


def told_by(name: str, result: CallToolResult) -> ToolResult:
    """The texts, what is not text by name, and the structured content as data. Raises ToolFailed

    for a result that is an error.
    """
    told = "\n".join(block_text(block) for block in result.content)
    if not result.content and result.structured_content is not None:
        told = json.dumps(result.structured_content, ensure_ascii=False, separators=(",", ":"))
    if result.is_error:
        raise ToolFailed(truncated(told, MOST_OF_AN_ERROR) or f"{name} failed without saying why.")
    return ToolResult(truncated(told, MOST_CHARACTERS), data=result.structured_content)


def block_text(block: ContentBlock) -> str:
    if isinstance(block, TextContent):
        return block.text
    if isinstance(block, ImageContent | AudioContent):
        return f"[{block.type}: {block.mime_type}, {len(block.data) * 3 // 4:,} bytes]"
    if isinstance(block, EmbeddedResource):
        return resource_name(block)
    return f"[resource: {block.uri}]"


def resource_name(block: EmbeddedResource) -> str:
    inside = block.resource
    if isinstance(inside, BlobResourceContents):
        size = f"{len(inside.blob) * 3 // 4:,} bytes"
    else:
        size = f"{len(inside.text):,} characters"
    kind = f"{inside.mime_type}, " if inside.mime_type else ""
    return f"[resource: {inside.uri}, {kind}{size}]"
