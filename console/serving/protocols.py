"""What Twisted and Daphne leave unbounded on a connection: time, size and what lies unread.

* Twisted closes a connection on which nothing comes for a minute; one byte now and then kept it
  open for ever. A head and a body have a deadline, and a peer has a limit of unfinished requests.
  What follows a whole request (replies, long polls, live tails, sockets) has no deadline.
* Twisted keeps a whole body before Django hears of the request, so the limit of its size is counted
  here: by the length that is declared, and by what comes where none is. A file that is attached may
  be longer; some come at once at most.
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

from console.middleware import MOST_BYTES, most_bytes, refusal_words

log = logging.getLogger(__name__)

HEAD = 20.0  # seconds from its first byte to its last
BODY = 30.0  # seconds, and more for what has come
LEAST_SPEED = 4096  # bytes a second: 4 MB may take a quarter of an hour
MOST_UNFINISHED = 500  # connections of one peer whose request is not whole yet
MOST_UPLOADS = 50  # bodies longer than MOST_BYTES that are coming or being read
MOST_RECEIVED = 4096  # bytes of a message from a page
MOST_UNREAD = 2 * 1024 * 1024  # bytes kept for one socket, beside the frame that was sent last

MANY_UPLOADS = "Too many files are being uploaded at the moment; try again in a minute."
REFUSED_LINES = {
    413: b"413 Content Too Large",
    503: b"503 Service Unavailable\r\nRetry-After: 60",
}
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


uploads: set[BoundedRequest] = set()


class BoundedRequest(WebRequest):  # type: ignore[misc]
    """A request of at most MOST_BYTES, or a file of as many as may be attached."""

    received = 0
    content_types: list[bytes] | None = None
    is_refused = False

    def gotLength(self, length: int | None) -> None:  # noqa: N802
        super().gotLength(length)
        if length is not None:
            self.check_size(length)

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802
        self.received += len(data)
        self.check_size(self.received)
        if not self.is_refused:
            super().handleContentChunk(data)

    def check_size(self, size: int) -> None:
        if self.is_refused or size <= MOST_BYTES:
            return
        if size > most_bytes(self.address):
            self.refuse(413)
        elif self not in uploads and len(uploads) >= MOST_UPLOADS:
            self.refuse(503)
        else:
            uploads.add(self)

    @property
    def address(self) -> str:
        return bytes(self.channel._path).partition(b"?")[0].decode("latin-1")

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
        if self.is_refused:
            return None
        return super().process()

    def finish(self) -> None:
        """Of a file that shrank meanwhile there is no more: nobody must wait for the rest."""
        uploads.discard(self)
        channel, is_short = getattr(self, "channel", None), self.sentLength < self.promised()
        super().finish()
        if is_short and channel is not None:
            channel.loseConnection()

    def promised(self) -> int:
        """How many bytes the head of the answer said would follow."""
        said = self.responseHeaders.getRawHeaders(b"Content-Length", [b"0"])[0]
        return int(said) if self.method != b"HEAD" and self.code not in (204, 304) else 0

    def connectionLost(self, reason: Failure) -> None:  # noqa: N802
        uploads.discard(self)
        super().connectionLost(reason)

    def refuse(self, status: int) -> None:
        """Answer and hang up, without waiting for the rest."""
        self.is_refused = True
        sentence = MANY_UPLOADS if status == 503 else refusal_words(status, self.address)
        kind, body = b"text/plain; charset=utf-8", sentence.encode()
        if self.address.startswith("/api/"):
            kind, body = b"application/json", json.dumps({"detail": sentence}).encode()
        head = b"HTTP/1.1 %s\r\nConnection: close\r\n" % REFUSED_LINES[status]
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
