"""A small MCP server: `python mcp_server.py` speaks stdio, `python mcp_server.py PORT` HTTP, and
with `sse` behind the port HTTP as it was in the protocol's first version. `serve` is the same in
this loop, as a program of tests/agents/programs.py.

It writes what it is told to cancel into the file named by CANCELLED.
"""

import asyncio
import os
import sys
from base64 import b64decode
from pathlib import Path

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.stdio import stdio_server
from mcp_types import (
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)

# A picture of one pixel, 70 bytes.
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class OwnProcess:
    """What the server runs in: its variables, its folder, and its end."""

    environ = os.environ
    folder = str(Path.cwd())
    calls_asleep = 0

    def complain(self, text):
        sys.stderr.write(text)
        sys.stderr.flush()

    def exit(self, code):
        os._exit(code)


def small(process):
    server = MCPServer("small")
    add_plain_tools(server, process)
    add_kinds_of_content(server)
    add_tools_that_take_time(server, process)
    for number in range(int(process.environ.get("MANY", "0"))):
        add_numbered(server, number)
    return server


def add_plain_tools(server, process):
    counted = 0

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    async def echo(text: str) -> str:
        """Says it back."""
        return text

    @server.tool(annotations=ToolAnnotations(idempotent_hint=True))
    async def count() -> str:
        """How often this process was asked."""
        nonlocal counted
        counted += 1
        return str(counted)

    @server.tool()
    async def environment() -> str:
        """Every variable of the process."""
        return "\n".join(f"{name}={value}" for name, value in sorted(process.environ.items()))

    @server.tool()
    async def folder() -> str:
        """Where it works."""
        return process.folder

    @server.tool()
    async def die() -> str:
        """Ends in the middle of the call."""
        process.complain("no more power\n")
        process.exit(3)
        await asyncio.Event().wait()

    @server.tool()
    async def fail() -> str:
        """Does not work."""
        raise ToolError("this is what went wrong")


def add_kinds_of_content(server):
    @server.tool()
    async def long(characters: int) -> str:
        """A long text."""
        return "x" * characters

    @server.tool()
    async def picture() -> list[TextContent | ImageContent]:
        """A text and an image."""
        return [TextContent(text="Look:"), ImageContent(data=DOT, mime_type="image/png")]

    @server.tool()
    async def file() -> list[TextContent | EmbeddedResource | ResourceLink]:
        """A file as GitHub's server gives it: a word, and the content as a resource."""
        readme = TextResourceContents(
            uri="repo://acme/tool/README.md", mime_type="text/markdown", text="# Tool\nIt works."
        )
        return [
            TextContent(text="successfully downloaded text file"),
            EmbeddedResource(resource=readme),
        ]

    @server.tool()
    async def link() -> list[ResourceLink]:
        """Where to read more."""
        return [ResourceLink(name="manual", uri="doc://manual", mime_type="text/plain")]

    @server.resource("doc://manual", mime_type="text/plain", description="How it is used.")
    async def manual() -> str:
        return "Press the button."

    @server.resource("doc://dot", mime_type="image/png")
    async def dot() -> bytes:
        return b64decode(DOT)


def add_tools_that_take_time(server, process):
    @server.tool()
    async def sleep(seconds: float) -> str:
        """Takes its time."""
        process.calls_asleep += 1
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            note_cancelled(process)
            raise
        finally:
            process.calls_asleep -= 1
        return "awake"

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
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while loop.time() < end:
            await ctx.notify_tools_changed()
            await asyncio.sleep(0.01)
        return "calm"


def note_cancelled(process):
    if path := process.environ.get("CANCELLED"):
        Path(path).write_text("yes")


def add_numbered(server, number):
    async def run() -> str:
        return str(number)

    server.add_tool(run, name=f"many.{number}", description=f"Number {number}")


async def serve(program):
    """Until its stdin ends."""
    server = small(program)._lowlevel_server
    async with stdio_server(program, program) as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    if len(sys.argv) > 1:
        transport = sys.argv[2] if len(sys.argv) > 2 else "streamable-http"
        small(OwnProcess()).run(transport, port=int(sys.argv[1]))
    else:
        small(OwnProcess()).run("stdio")
