"""Limits that Daphne lacks, and answers where Twisted hangs up without one: how long a request's
head and body, and a page's message, may be.
"""

from __future__ import annotations

import json
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from autobahn.exception import Disconnected
from daphne.http_protocol import HTTPFactory, WebRequest
from daphne.ws_protocol import WebSocketProtocol
from django.utils.translation import gettext
from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import Protocol
from twisted.web.http import HTTPChannel

from console.middleware import most_bytes, refusal_words

MOST_RECEIVED = 4096  # bytes of a message from a page
LINGERS = 5.0  # seconds in which who was refused may send the rest, and read why


class LimitedChannel(HTTPChannel):
    """A connection that says why it is closed."""

    def refuse(self, status: int, text: str = "") -> None:
        """Answer, then throw away what still comes until the client has closed, or for a while.

        Closed over unread bytes the connection would take the answer with it, and a proxy that
        sends the whole body first would say 502.
        """
        address = bytes(getattr(self, "_path", b"")).partition(b"?")[0].decode("latin-1")
        kind, text = "text/plain; charset=utf-8", text or refusal_words(status, address)
        if address.startswith("/api/"):
            kind, text = "application/json", json.dumps({"detail": text})
        body = text.encode()
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nConnection: close\r\n"
            f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        channel: Any = self  # Twisted has types for half of it
        channel.transport.write(head.encode() + body)
        channel.dataReceived = channel.lineReceived = channel.rawDataReceived = lambda *_: None
        channel.setTimeout(None)
        channel.transport.loseWriteConnection()
        channel.callLater(LINGERS, channel.transport.loseConnection)

    def lineLengthExceeded(self, line: bytes) -> None:  # noqa: N802
        is_first = getattr(self, "_HTTPChannel__first_line")  # noqa: B009 -- no public name
        self.refuse(414 if is_first else 431)

    def _respondToBadRequestAndDisconnect(self) -> None:  # noqa: N802
        is_long = self._receivedHeaderSize > self.totalHeadersSize
        if is_long or self._receivedHeaderCount > self.maxHeaders:
            self.refuse(431)
        else:
            self.refuse(400, gettext("This is no request that can be read."))


class LimitedRequest(WebRequest):  # type: ignore[misc]
    """A request that is refused once its body is too long: by its declared length, or as it comes.

    Twisted keeps a whole body before Django hears of the request.
    """

    received = 0
    content_types: list[bytes] | None = None
    is_refused = False

    def gotLength(self, length: int | None) -> None:  # noqa: N802
        super().gotLength(length)
        self.check_size(length or 0)

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802
        self.received += len(data)
        self.check_size(self.received)
        if not self.is_refused:
            super().handleContentChunk(data)

    def check_size(self, size: int) -> None:
        """Answer 413, without waiting for the rest."""
        address = bytes(self.channel._path).partition(b"?")[0].decode("latin-1")
        if self.is_refused or size <= most_bytes(address):
            return
        self.is_refused = True
        self.requestHeaders.removeHeader(b"Expect")  # Twisted would ask for the rest
        self.channel.refuse(413)

    def requestReceived(self, *line: bytes) -> None:  # noqa: N802
        """Hide the content type from Twisted, which would parse each form on the event loop."""
        self.content_types = self.requestHeaders.getRawHeaders(b"Content-Type")
        self.requestHeaders.removeHeader(b"Content-Type")
        super().requestReceived(*line)

    def process(self) -> object:
        # Daphne would let any client say below which path the server lies.
        self.requestHeaders.removeHeader(b"Daphne-Root-Path")
        if self.content_types:
            self.requestHeaders.setRawHeaders(b"Content-Type", self.content_types)
        return None if self.is_refused else super().process()

    def handle_exception(self, exception: Exception) -> None:
        """Hang up on who has got a part of the answer; a page about the error cannot follow it.

        Daphne would try, fail, and never look after its requests again.
        """
        if self._response_started and self.channel is not None:
            self.channel.loseConnection()
        elif not self._response_started:
            super().handle_exception(exception)


class LimitedFactory(HTTPFactory):  # type: ignore[misc]
    protocol = LimitedChannel

    def buildProtocol(self, addr: IAddress) -> Protocol:  # noqa: N802
        protocol: Protocol = super().buildProtocol(addr)
        protocol.requestFactory = LimitedRequest  # type: ignore[attr-defined]
        return protocol


class LimitedSocket(WebSocketProtocol):  # type: ignore[misc]
    """A WebSocket that takes short messages only; what it sends may be of any length."""

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
        with suppress(Disconnected):  # it was closed while this was drawn
            super().serverSend(content, binary)
