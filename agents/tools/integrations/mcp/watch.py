"""How long a call may take: as long as the server shows signs of life, up to a limit."""

from __future__ import annotations

import asyncio

from agents.tools.integrations.mcp import LONGEST


class Watch:
    """One call. `words` are the last that its server said about it."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.longest = seconds, seconds * LONGEST
        self.words = ""
        self.begin()

    def begin(self) -> None:
        """The connection is open now."""
        now = asyncio.get_running_loop().time()
        self.deadline, self.end = now + self.seconds, now + self.longest

    def saw(self, words: str) -> None:
        """A sign of life."""
        self.deadline = min(asyncio.get_running_loop().time() + self.seconds, self.end)
        self.words = words.strip() or self.words

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """As the SDK calls it."""
        share = f"{progress:g} of {total:g}" if total else ""
        self.saw(" ".join(filter(None, (message, share))))

    @property
    def left(self) -> float:
        """Seconds."""
        return self.deadline - asyncio.get_running_loop().time()
