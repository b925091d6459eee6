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

from agents.tools.base import ToolFailed, ToolResult, truncated
from agents.tools.images import Image, NotShown, image_of, image_type

MOST_CHARACTERS = 60_000
MOST_OF_AN_ERROR = 2_000
MOST_IMAGES = 8  # of one result
LONGEST_NOTE = 300  # characters of a link's description
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
            self.add_bytes(f"image: {block.mime_type}", decoded(block.data), is_image=True)
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
            is_image = kind.startswith("image/")
            self.add_bytes(head, decoded(contents.blob), is_image=is_image)

    def add_bytes(self, what: str, data: bytes, *, is_image: bool = False) -> None:
        """Named in the text; an image that nobody gets to see says why."""
        why = ""
        if is_image or image_type(data):
            try:
                self.add_image(image_of(data))
            except NotShown as reason:
                why = f". {reason}"
        self.texts.append(f"[{what}, {len(data):,} bytes{why}]")

    def add_image(self, image: Image) -> None:
        if len(self.images) == MOST_IMAGES:
            raise NotShown(f"It is not shown: only the first {MOST_IMAGES} of a result are.")
        self.images.append(image)

    def add_link(self, link: ResourceLink) -> None:
        facts = [link.title or link.name, link.mime_type, link.description]
        about = "; ".join(fact[:LONGEST_NOTE] for fact in facts if fact)
        how = f"; {self.reader} reads it" if self.reader else ""
        self.texts.append(f"[resource: {link.uri} ({about}{how})]")


def decoded(data: str) -> bytes:
    """Nothing where it is not base64."""
    try:
        return b64decode(data)
    except ValueError:
        return b""
