"""What an MCP tool gave back, as text for the model."""

from __future__ import annotations

import json

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    TextContent,
)

from agents.tools.base import ToolFailed

MOST_CHARACTERS = 60_000
MOST_OF_AN_ERROR = 2_000


def text_of(name: str, result: CallToolResult) -> str:
    """The texts; what is not text is named. Raises ToolFailed for a result that is an error."""
    told = "\n".join(block_text(block) for block in result.content)
    if not result.content and result.structured_content is not None:
        told = json.dumps(result.structured_content, ensure_ascii=False, separators=(",", ":"))
    if result.is_error:
        raise ToolFailed(cut(told, MOST_OF_AN_ERROR) or f"{name} failed without saying why.")
    return cut(told, MOST_CHARACTERS)


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


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}\n[cut: {len(text):,} characters in all]"
