"""Which MCP server is meant."""

from __future__ import annotations

from dataclasses import dataclass, field

SECONDS = 60.0


@dataclass(frozen=True)
class Server:
    """A command to start (stdio) or a URL (streamable HTTP).

    `headers` are sent with every request to a URL; for a command they are its environment
    variables. What may be secret stays out of the repr. `seconds` is how long a call may take.
    """

    name: str
    command: str = field(default="", repr=False)
    url: str = field(default="", repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    seconds: float = SECONDS
