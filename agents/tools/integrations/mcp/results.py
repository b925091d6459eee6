"""What tools and resources gave: text for models, images for those that see, data for chains."""

from __future__ import annotations

import json
from base64 import b64decode
from dataclasses import dataclass, field

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ReadResourceResult,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from agents.tools.base import Image, ToolFailed, ToolResult, truncated

MOST_CHARACTERS = 60_000
MOST_OF_AN_ERROR = 2_000
MOST_IMAGES = 8  # of one result
LONGEST_NOTE = 300  # characters of a link's description
SIGNS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
# A blob of these kinds is text, whatever way it came.
TEXTS = ("text/", "application/json", "application/xml", "application/yaml", "image/svg+xml")


def result_of(name: str, result: CallToolResult, reader: str = "") -> ToolResult:
    """What it says as text, its images, and the structured content as data.

    `reader` is the tool that reads what a link in the result names. Raises ToolFailed for a result
    that is an error.
    """
    draft = Draft(reader)
    for block in result.content:
        draft.add_block(block)
    text = draft.text
    if not result.content and result.structured_content is not None:
        text = json.dumps(result.structured_content, ensure_ascii=False, separators=(",", ":"))
    if result.is_error:
        raise ToolFailed(truncated(text, MOST_OF_AN_ERROR) or f"{name} failed without saying why.")
    text = truncated(text, MOST_CHARACTERS)
    return ToolResult(text, images=tuple(draft.images), data=result.structured_content)


def resource_of(result: ReadResourceResult) -> ToolResult:
    draft = Draft("")
    for contents in result.contents:
        draft.add_contents(contents)
    text = truncated(draft.text or "[the resource is empty]", MOST_CHARACTERS)
    return ToolResult(text, images=tuple(draft.images))


@dataclass
class Draft:
    """A result being put together."""

    reader: str
    texts: list[str] = field(default_factory=list)
    images: list[Image] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(self.texts)

    def add_block(self, block: ContentBlock) -> None:
        if isinstance(block, TextContent):
            self.texts.append(block.text)
        elif isinstance(block, ImageContent):
            self.add_bytes(f"image: {block.mime_type}", decoded(block.data))
        elif isinstance(block, AudioContent):
            self.add_bytes(f"audio: {block.mime_type}", decoded(block.data))
        elif isinstance(block, EmbeddedResource):
            self.add_contents(block.resource)
        elif isinstance(block, ResourceLink):
            self.add_link(block)

    def add_contents(self, contents: TextResourceContents | BlobResourceContents) -> None:
        """A resource: its text under its address, an image like any other, else its size."""
        kind = contents.mime_type or ""
        head = f"resource: {contents.uri}{', ' if kind else ''}{kind}"
        if isinstance(contents, TextResourceContents):
            self.texts.append(f"[{head}]\n{contents.text}")
        elif kind.startswith(TEXTS):
            self.texts.append(f"[{head}]\n{decoded(contents.blob).decode(errors='replace')}")
        else:
            self.add_bytes(head, decoded(contents.blob))

    def add_bytes(self, what: str, data: bytes) -> None:
        """Named in the text, whether or not somebody can look at it."""
        self.texts.append(f"[{what}, {len(data):,} bytes]")
        if (media_type := image_type(data)) and len(self.images) < MOST_IMAGES:
            self.images.append(Image(media_type, data))

    def add_link(self, link: ResourceLink) -> None:
        facts = [link.title or link.name, link.mime_type, link.description]
        about = "; ".join(fact[:LONGEST_NOTE] for fact in facts if fact)
        how = f"; {self.reader} reads it" if self.reader else ""
        self.texts.append(f"[resource: {link.uri} ({about}{how})]")


def image_type(data: bytes) -> str:
    """What a picture is by its first bytes, if models take it: one that is none ends their call."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for sign, kind in SIGNS.items() if data.startswith(sign)), "")


def decoded(data: str) -> bytes:
    """Nothing where it is not base64."""
    try:
        return b64decode(data)
    except ValueError:
        return b""
