"""How long a call may take: as long as the server shows signs of life, up to a limit."""

from __future__ import annotations

import asyncio

from agents.tools import progress
from agents.tools.integrations.mcp import LONGEST

MOST_WORDS = 200  # characters
LARGEST = 10**15  # beyond it a number is not written out


class Watch:
    """One call. `words` are the last that its server said about it."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.longest = seconds, seconds * LONGEST
        self.words = ""
        self.hear = progress.listener()
        self.begin()

    def begin(self) -> None:
        """The connection is open now."""
        now = asyncio.get_running_loop().time()
        self.deadline, self.end = now + self.seconds, now + self.longest

    def saw(self, words: str) -> None:
        """A sign of life."""
        self.deadline = min(asyncio.get_running_loop().time() + self.seconds, self.end)
        self.words = " ".join(words[: 5 * MOST_WORDS].split())[:MOST_WORDS] or self.words
        if self.words:
            self.hear(self.words)

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """As the SDK calls it."""
        share = f"{written(progress)} of {written(total)}" if total else ""
        self.saw(" · ".join(filter(None, (share, message))))

    @property
    def left(self) -> float:
        """Seconds."""
        return self.deadline - asyncio.get_running_loop().time()


def written(number: float) -> str:
    """12, 1,500 or 0.25; a server may say anything."""
    if not abs(number) < LARGEST:  # and NaN
        return "?"
    return f"{number:,.0f}" if number == int(number) else f"{number:,.2f}"
