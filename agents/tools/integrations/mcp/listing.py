"""What a server offers, asked and as it is stored."""

from __future__ import annotations

from contextlib import suppress

from mcp import Client, MCPError
from mcp_types import Tool

from agents.errors import Invalid
from agents.pools import FILES
from agents.tools.base import safe_name
from agents.tools.integrations.mcp import READ_RESOURCE, RUN_AS_TASK
from agents.tools.integrations.openapi.schemas import (
    LONGEST_DESCRIPTION,
    Document,
    Inliner,
    Json,
    mapping_or_empty,
)

MOST_PAGES = 100
MOST_TOOLS = 5000
MOST_LISTED = 200  # resources

READER: Json = {
    "type": "object",
    "properties": {
        "uri": {
            "type": "string",
            "description": "As a result names it. Left out, the resources are listed.",
        }
    },
}


async def offered(client: Client, longest: int) -> list[Json]:
    """Its tools, and one that reads its resources where it has some; no name over `longest`."""
    tools: list[Tool] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):  # a list that never ends is cut
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if not cursor or len(tools) >= MOST_TOOLS:
            break
    has_resources = client.server_capabilities.resources is not None
    # Thousands of large schemas take seconds, which the loop need not wait for.
    return await FILES.run(stored, tools[:MOST_TOOLS], has_resources, longest)


def stored(tools: list[Tool], has_resources: bool, longest: int) -> list[Json]:
    """With schemas without references; one whose references lead nowhere stays as it is."""
    names: set[str] = set()
    entries: list[Json] = []
    for tool in tools:
        schema: Json = dict(tool.input_schema)
        with suppress(Invalid):
            schema = Inliner(Document(schema)).schema(schema, "the schema")
        properties = mapping_or_empty(schema.get("properties"))
        hints, execution = tool.annotations, tool.execution
        reads = bool(hints and hints.read_only_hint)
        as_task = bool(execution and execution.task_support == "required")
        entries.append(
            {
                "name": safe_name(tool.name, names, longest),
                "remote": tool.name,
                "description": (tool.description or tool.title or tool.name)[:LONGEST_DESCRIPTION],
                "parameters": {**schema, "type": "object", "properties": properties},
                "read_only": reads,
                "idempotent": reads or bool(hints and hints.idempotent_hint),
                **({"request": RUN_AS_TASK} if as_task else {}),
            }
        )
    if has_resources:
        entries.append(
            {
                "name": safe_name("read_resource", names, longest),
                "remote": "",
                "description": "Read a resource of this server, such as one that a result names.",
                "parameters": READER,
                "read_only": True,
                "idempotent": True,
                "request": READ_RESOURCE,
            }
        )
    return entries


async def resources(client: Client) -> str:
    """The resources by address, and the forms of further addresses."""
    listed = (await client.list_resources()).resources
    lines = [f"{each.uri} ({each.title or each.name})" for each in listed]
    with suppress(MCPError):  # some have resources alone
        templates = (await client.list_resource_templates()).resource_templates
        lines += [f"{each.uri_template} ({each.title or each.name})" for each in templates]
    if len(lines) > MOST_LISTED:
        lines = [*lines[:MOST_LISTED], f"[and {len(lines) - MOST_LISTED:,} others]"]
    return "\n".join(lines) or "There are none."
