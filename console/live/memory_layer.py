"""The channel layer of one process.

The library's copies each message, makes a task for each listener and checks every channel at each
send: with 1,000 open pages a broadcast takes longer than what it announces.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from channels.layers import InMemoryChannelLayer

SWEEP = 1.0  # seconds between two removals of what has expired


class MemoryLayer(InMemoryChannelLayer):
    """Listeners share the message; nobody may change it."""

    swept_at = 0.0

    async def group_send(self, group: str, message: dict[str, Any]) -> int:  # type: ignore[override]
        """To how many. A listener that is a hundred messages behind misses this one, and reads the
        rows.
        """
        self._clean_expired()
        listeners = self.groups.get(group)
        if not listeners:
            return 0
        entry = (time.time() + self.expiry, message)
        for channel in listeners:
            queue = self.channels.get(channel)
            if queue is None:
                size = self.get_capacity(channel)
                queue = self.channels[channel] = asyncio.Queue(maxsize=size)
            if not queue.full():
                queue.put_nowait(entry)
        await asyncio.sleep(0)  # listeners come first, or a burst fills every queue
        return len(listeners)

    def _clean_expired(self) -> None:
        now = time.monotonic()
        if now - self.swept_at > SWEEP:
            self.swept_at = now
            super()._clean_expired()  # type: ignore[misc]
