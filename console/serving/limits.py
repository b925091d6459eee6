"""Limits that Daphne lacks: how long a request's body, and how long a page's message may be."""

from __future__ import annotations

import json
from contextlib import suppress

from autobahn.exception import Disconnected
from daphne.http_protocol import HTTPFactory, WebRequest
from daphne.ws_protocol import WebSocketProtocol
from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import Protocol

from console.middleware import most_bytes, refusal_words

MOST_RECEIVED = 4096  # bytes of a message from a page


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
        """Answer 413 and hang up, without waiting for the rest."""
        address = bytes(self.channel._path).partition(b"?")[0].decode("latin-1")
        if self.is_refused or size <= most_bytes(address):
            return
        self.is_refused = True
        kind, text = b"text/plain; charset=utf-8", refusal_words(413, address)
        if address.startswith("/api/"):
            kind, text = b"application/json", json.dumps({"detail": text})
        body = text.encode()
        self.channel.transport.write(
            b"HTTP/1.1 413 Content Too Large\r\nConnection: close\r\n"
            b"Content-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (kind, len(body), body)
        )
        self.channel.loseConnection()

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
