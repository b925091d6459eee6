"""What Twisted and Daphne leave unbounded on a connection: time, size and what lies unread.

* Twisted closes a connection on which nothing comes for a minute; one byte now and then kept it
  open for ever. A head and a body have a deadline, and a peer has a limit of unfinished requests.
  What follows a whole request (replies, long polls, live tails, sockets) has no deadline.
* Twisted keeps a whole body before Django hears of the request, so the limit of its size is counted
  here: by the length that is declared, and by what comes where none is.
* Twisted keeps whatever is written to a socket until the other side reads. A page in a sleeping
  laptop reads nothing, while a reply goes on at 25 frames a second. Such a socket is dropped; the
  page comes back and is sent the state as it is then.
"""

from __future__ import annotations

import json
import logging
import time
from collections import defaultdict
from contextlib import suppress
from typing import Any

from autobahn.exception import Disconnected
from daphne.http_protocol import HTTPFactory, WebRequest
from daphne.ws_protocol import WebSocketProtocol
from twisted.internet.base import DelayedCall
from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from twisted.web.http import HTTPChannel

from console.middleware import MOST_BYTES, REFUSALS

log = logging.getLogger(__name__)

HEAD = 20.0  # seconds from its first byte to its last
BODY = 30.0  # seconds, and more for what has come
LEAST_SPEED = 4096  # bytes a second: 4 MB may take a quarter of an hour
MOST_UNFINISHED = 500  # connections of one peer whose request is not whole yet
MOST_RECEIVED = 4096  # bytes of a message from a page
MOST_UNREAD = 2 * 1024 * 1024  # bytes kept for one socket, beside the frame that was sent last

LATE = b"The request did not come in time."
ANSWER = (
    b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n"
    b"Content-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s" % (len(LATE), LATE)
)

# By the peer's host, the oldest first.
unfinished: defaultdict[str, dict[DeadlineChannel, None]] = defaultdict(dict)

Untyped: Any = HTTPChannel  # most of its methods say nothing about types


class DeadlineChannel(Untyped):  # type: ignore[misc]
    """One HTTP connection: `unfinished` lists it while its request is not whole."""

    deadline: DelayedCall | None = None
    host = ""
    received = 0  # bytes of the body that is coming
    body_began = 0.0

    def connectionMade(self) -> None:  # noqa: N802
        super().connectionMade()
        self.host = str(getattr(self.transport.getPeer(), "host", ""))
        self.add_unfinished()

    def add_unfinished(self) -> None:
        """The connection that has taken longest makes room for this one."""
        same_host = unfinished[self.host]
        same_host[self] = None
        if len(same_host) > MOST_UNFINISHED:
            oldest = next(iter(same_host))
            del same_host[oldest]
            oldest.transport.abortConnection()

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        if self.deadline is None and not self._handlingRequest:
            self.deadline = self.callLater(HEAD, self.refuse_late)
            self.add_unfinished()
        super().dataReceived(data)

    def allHeadersReceived(self) -> None:  # noqa: N802
        super().allHeadersReceived()
        self.received, self.body_began = 0, self.seconds()
        if self.deadline:
            self.deadline.reset(BODY)

    def rawDataReceived(self, data: bytes) -> None:  # noqa: N802
        self.received += len(data)
        if self.deadline:
            spent = self.seconds() - self.body_began
            self.deadline.reset(max(0.0, BODY + self.received / LEAST_SPEED - spent))
        super().rawDataReceived(data)

    def allContentReceived(self) -> None:  # noqa: N802
        self.remove_unfinished()
        super().allContentReceived()

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: N802
        self.remove_unfinished()
        super().connectionLost(reason)

    def refuse_late(self) -> None:
        self.deadline = None
        self.setTimeout(None)
        self.transport.write(ANSWER)
        self.timeoutConnection()

    def remove_unfinished(self) -> None:
        if self.deadline:
            self.deadline.cancel()
            self.deadline = None
        same_host = unfinished[self.host]
        same_host.pop(self, None)
        if not same_host:
            unfinished.pop(self.host, None)

    def seconds(self) -> float:
        return time.monotonic()


class BoundedRequest(WebRequest):  # type: ignore[misc]
    """A request of at most MOST_BYTES."""

    received = 0
    content_types: list[bytes] | None = None
    is_refused = False

    def gotLength(self, length: int | None) -> None:  # noqa: N802
        super().gotLength(length)
        if length is not None and length > MOST_BYTES:
            self.refuse()

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802
        self.received += len(data)
        if self.received > MOST_BYTES and not self.is_refused:
            self.refuse()
        if not self.is_refused:
            super().handleContentChunk(data)

    def requestReceived(self, *line: bytes) -> None:  # noqa: N802
        """Hide the content type from Twisted, which would parse each form on the loop, in vain."""
        self.content_types = self.requestHeaders.getRawHeaders(b"Content-Type")
        self.requestHeaders.removeHeader(b"Content-Type")
        super().requestReceived(*line)

    def process(self) -> object:
        # Daphne would let any client say below which path the server lies.
        self.requestHeaders.removeHeader(b"Daphne-Root-Path")
        if self.content_types:
            self.requestHeaders.setRawHeaders(b"Content-Type", self.content_types)
        return None if self.is_refused else super().process()

    def refuse(self) -> None:
        """Answer 413 and hang up, without waiting for the rest."""
        self.is_refused = True
        kind, body = b"text/plain; charset=utf-8", REFUSALS[413].encode()
        if bytes(self.channel._path).startswith(b"/api/"):
            kind, body = b"application/json", json.dumps({"detail": REFUSALS[413]}).encode()
        head = b"HTTP/1.1 413 Content Too Large\r\nConnection: close\r\n"
        fields = b"Content-Type: %s\r\nContent-Length: %d\r\n\r\n" % (kind, len(body))
        self.channel.transport.write(head + fields + body)
        self.channel.loseConnection()


class BoundedFactory(HTTPFactory):  # type: ignore[misc]
    protocol = DeadlineChannel

    def buildProtocol(self, addr: IAddress) -> Protocol:  # noqa: N802
        protocol: Protocol = super().buildProtocol(addr)
        protocol.requestFactory = BoundedRequest  # type: ignore[attr-defined]
        return protocol


class BoundedSocket(WebSocketProtocol):  # type: ignore[misc]
    """A WebSocket that takes short messages only, and is dropped when too much lies unread.

    Dropped, not closed: a closing frame would wait behind all that is unread.
    """

    def say_goodbye(self, code: int) -> None:
        """What the page then says depends on the code (static/js/live.js)."""
        if self.state == self.STATE_OPEN:
            self.sendCloseFrame(code=code)

    def onMessageFrameBegin(self, length: int) -> None:  # noqa: N802
        self.maxMessagePayloadSize = MOST_RECEIVED  # it would hold for sending as well
        try:
            super().onMessageFrameBegin(length)
        finally:
            self.maxMessagePayloadSize = 0

    def serverSend(self, content: str | bytes, binary: bool = False) -> None:  # noqa: N802
        buffers = self.transport
        # Bytes that neither the other side nor the system's buffers have taken yet.
        unread = len(buffers.dataBuffer) - int(buffers.offset) + int(buffers._tempDataLen)
        if self.state == self.STATE_OPEN and unread > MOST_UNREAD:
            log.info("a page stopped reading; its socket is closed, and it may come back")
            buffers.abortConnection()
            return
        with suppress(Disconnected):  # it was closed while this was made
            super().serverSend(content, binary)
