"""What is too long is refused before it is taken in: a request, or what a page says on its socket.

Twisted keeps a whole body before Django hears of the request, so the limit is counted here: by the
length that is declared, and by what comes where none is.
"""

from __future__ import annotations

import json

from daphne.http_protocol import HTTPFactory, WebRequest
from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import Protocol

from console.live.slow_readers import WatchedSocket
from console.middleware import MOST_BYTES, REFUSALS
from console.serving.deadlines import HurriedChannel

MOST_HEARD = 4096  # bytes of a message from a page


class BoundedRequest(WebRequest):  # type: ignore[misc]
    """A request of at most MOST_BYTES."""

    taken = 0
    kinds: list[bytes] | None = None
    is_refused = False

    def gotLength(self, length: int | None) -> None:  # noqa: N802
        super().gotLength(length)
        if length is not None and length > MOST_BYTES:
            self.refuse()

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802
        self.taken += len(data)
        if self.taken > MOST_BYTES and not self.is_refused:
            self.refuse()
        if not self.is_refused:
            super().handleContentChunk(data)

    def requestReceived(self, *line: bytes) -> None:  # noqa: N802
        """Twisted would take every form apart, on the loop and for nobody: it sees no kind."""
        self.kinds = self.requestHeaders.getRawHeaders(b"Content-Type")
        self.requestHeaders.removeHeader(b"Content-Type")
        super().requestReceived(*line)

    def process(self) -> object:
        """Daphne would let anybody say below which path the server lies."""
        self.requestHeaders.removeHeader(b"Daphne-Root-Path")
        if self.kinds:
            self.requestHeaders.setRawHeaders(b"Content-Type", self.kinds)
        return None if self.is_refused else super().process()

    def refuse(self) -> None:
        """Say so and hang up, without waiting for the rest."""
        self.is_refused = True
        kind, body = b"text/plain; charset=utf-8", REFUSALS[413].encode()
        if bytes(self.channel._path).startswith(b"/api/"):
            kind, body = b"application/json", json.dumps({"detail": REFUSALS[413]}).encode()
        head = b"HTTP/1.1 413 Content Too Large\r\nConnection: close\r\n"
        fields = b"Content-Type: %s\r\nContent-Length: %d\r\n\r\n" % (kind, len(body))
        self.channel.transport.write(head + fields + body)
        self.channel.loseConnection()


class BoundedFactory(HTTPFactory):  # type: ignore[misc]
    protocol = HurriedChannel

    def buildProtocol(self, addr: IAddress) -> Protocol:  # noqa: N802
        protocol: Protocol = super().buildProtocol(addr)
        protocol.requestFactory = BoundedRequest  # type: ignore[attr-defined]
        return protocol


class QuietSocket(WatchedSocket):
    """A socket on which a page says nothing, or little; what it is told may be long."""

    def onMessageFrameBegin(self, length: int) -> None:  # noqa: N802
        self.maxMessagePayloadSize = MOST_HEARD  # it would hold for sending as well
        try:
            super().onMessageFrameBegin(length)
        finally:
            self.maxMessagePayloadSize = 0
