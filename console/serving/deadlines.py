"""A connection has a deadline for each head and body, and a peer an end of unfinished ones.

Twisted closes a connection on which nothing comes for a minute; one byte now and then kept it open
for ever. What follows a whole request (replies, long polls, live tails, sockets) has no deadline.
"""

from __future__ import annotations

import time
from collections import defaultdict
from typing import Any

from twisted.internet.base import DelayedCall
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure
from twisted.web.http import HTTPChannel

HEAD = 20.0  # seconds from its first byte to its last
BODY = 30.0  # seconds, and more for what has come
LEAST_SPEED = 4096  # bytes a second: 4 MB may take a quarter of an hour
MOST_UNFINISHED = 500  # connections of one peer whose request is not whole yet

LATE = b"The request did not come in time."
ANSWER = (
    b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n"
    b"Content-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s" % (len(LATE), LATE)
)

# By the peer's host, the oldest first.
unfinished: defaultdict[str, dict[HurriedChannel, None]] = defaultdict(dict)


Untyped: Any = HTTPChannel  # most of its methods say nothing about types


class HurriedChannel(Untyped):  # type: ignore[misc]
    """One connection."""

    deadline: DelayedCall | None = None
    host = ""
    taken = 0  # bytes of the body that is coming
    body_began = 0.0

    def connectionMade(self) -> None:  # noqa: N802
        super().connectionMade()
        self.host = str(getattr(self.transport.getPeer(), "host", ""))
        self.wait()

    def wait(self) -> None:
        """One more that is not whole; the one that has taken longest makes room for it."""
        mine = unfinished[self.host]
        mine[self] = None
        if len(mine) > MOST_UNFINISHED:
            oldest = next(iter(mine))
            del mine[oldest]
            oldest.transport.abortConnection()

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        if self.deadline is None and not self._handlingRequest:
            self.deadline = self.callLater(HEAD, self.come_too_late)
            self.wait()
        super().dataReceived(data)

    def allHeadersReceived(self) -> None:  # noqa: N802
        super().allHeadersReceived()
        self.taken, self.body_began = 0, self.seconds()
        if self.deadline:
            self.deadline.reset(BODY)

    def rawDataReceived(self, data: bytes) -> None:  # noqa: N802
        self.taken += len(data)
        if self.deadline:
            spent = self.seconds() - self.body_began
            self.deadline.reset(max(0.0, BODY + self.taken / LEAST_SPEED - spent))
        super().rawDataReceived(data)

    def allContentReceived(self) -> None:  # noqa: N802
        self.be_whole()
        super().allContentReceived()

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: N802
        self.be_whole()
        super().connectionLost(reason)

    def come_too_late(self) -> None:
        self.deadline = None
        self.setTimeout(None)
        self.transport.write(ANSWER)
        self.timeoutConnection()

    def be_whole(self) -> None:
        if self.deadline:
            self.deadline.cancel()
            self.deadline = None
        mine = unfinished[self.host]
        mine.pop(self, None)
        if not mine:
            unfinished.pop(self.host, None)

    def seconds(self) -> float:
        return time.monotonic()
