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

MOST_UNREAD = 2 * 1024 * 1024  # bytes kept for one socket, beside the frame that was sent last


class WatchedSocket(WebSocketProtocol):  # type: ignore[misc]
    """A WebSocket that is dropped when too much of what was sent to it lies unread.

    Dropped, not closed: a closing frame would wait behind all that is unread.
    """

    def serverSend(self, content: str | bytes, binary: bool = False) -> None:  # noqa: N802
        if self.state == self.STATE_OPEN and self.unread() > MOST_UNREAD:
            log.info("a page stopped reading; its socket is closed, and it may come back")
            self.transport.abortConnection()
            return
        with suppress(Disconnected):  # it was closed while this was made
            super().serverSend(content, binary)

    def unread(self) -> int:
        """Bytes that neither the other side nor the system's buffers have taken yet."""
        waiting = self.transport
        return len(waiting.dataBuffer) - int(waiting.offset) + int(waiting._tempDataLen)
