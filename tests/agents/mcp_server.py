"""A small MCP server: `python mcp_server.py` speaks stdio, `python mcp_server.py PORT` HTTP, and
with `sse` behind the port HTTP as it was in the protocol's first version.

It writes what it is told to cancel into the file named by CANCELLED.
"""

import asyncio
import os
import sys
import time
from base64 import b64decode
from pathlib import Path

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import (
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)

server = MCPServer("small")
counted = 0
# A picture of one pixel, 70 bytes.
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def echo(text: str) -> str:
    """Says it back."""
    return text


@server.tool(annotations=ToolAnnotations(idempotent_hint=True))
def count() -> str:
    """How often this process was asked."""
    global counted
    counted += 1
    return str(counted)


@server.tool()
def environment() -> str:
    """Every variable of the process."""
    return "\n".join(f"{name}={value}" for name, value in sorted(os.environ.items()))


@server.tool()
def die() -> str:
    """Ends in the middle of the call."""
    sys.stderr.write("no more power\n")
    sys.stderr.flush()
    os._exit(3)


def was_cancelled():
    Path(os.environ["CANCELLED"]).write_text("yes")


@server.tool()
async def sleep(seconds: float) -> str:
    """Takes its time."""
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        was_cancelled()
        raise
    return "awake"


@server.tool()
def fail() -> str:
    """Does not work."""
    raise ToolError("this is what went wrong")


@server.tool()
def long(characters: int) -> str:
    """A long text."""
    return "x" * characters


@server.tool()
def picture() -> list[TextContent | ImageContent]:
    """A text and an image."""
    return [TextContent(text="Look:"), ImageContent(data=DOT, mime_type="image/png")]


@server.tool()
def file() -> list[TextContent | EmbeddedResource | ResourceLink]:
    """A file as GitHub's server gives it: a word, and the content as a resource."""
    readme = TextResourceContents(
        uri="repo://acme/tool/README.md", mime_type="text/markdown", text="# Tool\nIt works."
    )
    return [
        TextContent(text="successfully downloaded text file"),
        EmbeddedResource(resource=readme),
    ]


@server.tool()
def link() -> list[ResourceLink]:
    """Where to read more."""
    return [ResourceLink(name="manual", uri="doc://manual", mime_type="text/plain")]


@server.resource("doc://manual", mime_type="text/plain", description="How it is used.")
def manual() -> str:
    return "Press the button."


@server.resource("doc://dot", mime_type="image/png")
def dot() -> bytes:
    return b64decode(DOT)


@server.tool()
async def steps(ctx: Context, count: int, seconds: float, then: float = 0.0) -> str:
    """Says how far it is after each step; `then` is how long it is silent at the end."""
    for step in range(1, count + 1):
        await asyncio.sleep(seconds)
        await ctx.report_progress(step, count, "Sweeping")
    await asyncio.sleep(then)
    return "swept"


@server.tool()
async def grow(ctx: Context, name: str) -> str:
    """Offers one more tool from now on."""
    server.add_tool(lambda: "grown", name=name, description="Grown.")
    await ctx.notify_tools_changed()
    return "done"


@server.tool()
async def storm(ctx: Context, seconds: float) -> str:
    """Says all the time that its tools have changed."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        await ctx.notify_tools_changed()
        await asyncio.sleep(0.01)
    return "calm"


@server.tool()
def folder() -> str:
    """Where it works."""
    return str(Path.cwd())


def a_tool(number):
    def run() -> str:
        return str(number)

    server.add_tool(run, name=f"many.{number}", description=f"Number {number}")


for number in range(int(os.environ.get("MANY", "0"))):
    a_tool(number)

if __name__ == "__main__":
    if len(sys.argv) > 1:
        transport = sys.argv[2] if len(sys.argv) > 2 else "streamable-http"
        server.run(transport, port=int(sys.argv[1]))
    else:
        server.run("stdio")
