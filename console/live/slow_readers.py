"""A page that has stopped reading is let go before what it has not read fills the memory.

Twisted takes whatever is written to a socket and keeps it until the other side reads. A page in a
sleeping laptop reads nothing, while the text of a reply goes on at 25 frames a second. What it has
missed costs nothing to forget: the page comes back and is sent the state as it is then.
"""

from __future__ import annotations

import logging
from contextlib import suppress

from autobahn.exception import Disconnected
from daphne.ws_protocol import WebSocketProtocol

log = logging.getLogger(__name__)

MOST_UNREAD = 2 * 1024 * 1024  # bytes kept for one socket
TRY_AGAIN_LATER = 1013  # the page comes back by itself


class WatchedSocket(WebSocketProtocol):  # type: ignore[misc]
    """A WebSocket that is closed when too much of what was sent to it lies unread."""

    def serverSend(self, content: str | bytes, binary: bool = False) -> None:  # noqa: N802
        with suppress(Disconnected):  # it was closed while this was made
            super().serverSend(content, binary)
        if self.state == self.STATE_OPEN and self.unread() > MOST_UNREAD:
            log.info("a page stopped reading; its socket is closed, and it may come back")
            self.serverClose(code=TRY_AGAIN_LATER)

    def unread(self) -> int:
        """Bytes that neither the other side nor the system's buffers have taken yet."""
        waiting = self.transport
        return len(waiting.dataBuffer) - int(waiting.offset) + int(waiting._tempDataLen)
