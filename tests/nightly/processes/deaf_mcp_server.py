"""An MCP server whose one tool never answers, and which no polite word ends."""

import signal
import time

from mcp.server import MCPServer

signal.signal(signal.SIGTERM, signal.SIG_IGN)
server = MCPServer("deaf")


@server.tool()
def hang() -> str:
    """Holds the whole process."""
    while True:
        time.sleep(600)


if __name__ == "__main__":
    server.run("stdio")
