"""A server of one tool, for whichever release of the SDK runs it: `python era_server.py`."""

try:
    from mcp.server import MCPServer as Server
except ImportError:
    from mcp.server.fastmcp import FastMCP as Server

server = Server("era")


@server.tool()
def add(a: int, b: int) -> int:
    """The sum."""
    return a + b


if __name__ == "__main__":
    server.run()
