"""Connections on which a request never becomes whole; time is Twisted's clock, moved by hand."""

import daphne.server  # noqa: F401 - first of all that is Twisted's: it installs the reactor
import pytest
from twisted.internet.address import IPv4Address
from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure

from console.serving import protocols
from console.serving.protocols import BODY, HEAD, LEAST_SPEED, BoundedFactory, DeadlineChannel

HEADERS = b"POST /signin/ HTTP/1.1\r\nHost: localhost\r\n"
WHOLE = HEADERS + b"Content-Length: 3\r\n\r\nabc"


class Wire(StringTransport):
    aborted = False

    def abortConnection(self):  # noqa: N802
        self.aborted = True
        super().abortConnection()


class Requested:
    """Stands for Daphne's server: counts the requests that became whole."""

    def __init__(self):
        self.whole = []

    def protocol_connected(self, request):
        request.process = lambda: self.whole.append(request)

    def protocol_disconnected(self, request):
        pass


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(DeadlineChannel, "seconds", lambda self: clock.seconds())
    protocols.unfinished.clear()
    protocols.uploads.clear()
    yield clock
    protocols.unfinished.clear()
    protocols.uploads.clear()


@pytest.fixture
def connect(clock):
    factory = BoundedFactory(Requested())
    factory.reactor = clock

    def one(host="10.0.0.1"):
        peer = IPv4Address("TCP", host, 4711)
        protocol = factory.buildProtocol(peer)
        protocol.wire = Wire(peerAddress=peer)
        protocol.makeConnection(protocol.wire)
        made.append(protocol)
        return protocol

    made = []
    one.whole = factory.server.whole
    yield one
    for protocol in made:
        for request in protocol.requests:
            if request.content:
                request.content.close()


def feed(clock, connection, pieces, pause):
    for piece in pieces:
        if connection.wire.disconnecting:
            return
        connection.dataReceived(piece)
        clock.advance(pause)


def single_bytes(text):
    return [bytes([each]) for each in text]


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        (HEADERS + b"X: " + b"y" * 5_000, HEAD),
        (HEADERS, HEAD),
        (HEADERS + b"Content-Length: 100000\r\n\r\n" + b"a" * 5_000, HEAD + BODY + 5),
        (HEADERS + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * 999, HEAD + BODY + 5),
    ],
)
def test_a_byte_now_and_then_keeps_no_connection_open(clock, connect, text, limit):
    connection = connect()
    head, separator, body = text.partition(b"\r\n\r\n")
    if separator:
        connection.dataReceived(head + separator)
    feed(clock, connection, single_bytes(body or head), 1)
    clock.advance(60)
    assert connection.wire.disconnecting and clock.seconds() <= limit + 61
    assert connection.wire.value().startswith(b"HTTP/1.1 408 ") and connect.whole == []


def test_a_slow_upload_that_goes_on_is_waited_for(clock, connect):
    size = 3_000_000
    connection = connect()
    connection.dataReceived(HEADERS + b"Content-Length: %d\r\n\r\n" % size)
    feed(clock, connection, [b"a" * (LEAST_SPEED * 2)] * (size // (LEAST_SPEED * 2) + 1), 2)
    assert len(connect.whole) == 1 and clock.seconds() > 600
    assert not connection.wire.disconnecting


def test_what_follows_a_whole_request_has_no_deadline(clock, connect):
    connection = connect()
    connection.dataReceived(WHOLE)
    clock.advance(24 * 3600)  # a live tail, an open socket, a slow answer
    assert not connection.wire.disconnecting and len(connect.whole) == 1


def test_the_next_head_on_a_kept_connection_has_its_own_deadline(clock, connect):
    connection = connect()
    connection.dataReceived(WHOLE)
    clock.advance(1_000)
    (request,) = connect.whole
    request.finish()
    connection.dataReceived(b"GET / HT")
    feed(clock, connection, single_bytes(b"x" * 100), 1)
    assert connection.wire.disconnecting


def test_a_connection_that_says_nothing_is_closed(clock, connect):
    connection = connect()
    clock.pump([1] * 61)
    assert connection.wire.disconnecting


def test_one_peer_cannot_hold_all_connections_and_takes_none_from_another(
    clock, connect, monkeypatch
):
    monkeypatch.setattr(protocols, "MOST_UNFINISHED", 3)
    first, *_, last = mine = [connect() for _ in range(4)]
    other, busy = connect("10.0.0.2"), mine[1]
    assert first.wire.aborted and not any(each.wire.aborted for each in (*mine[1:], other))
    busy.dataReceived(WHOLE)  # whole: it counts no more
    connect()
    assert not any(each.wire.aborted for each in (*mine[1:], other))
    assert last.wire.connected


def test_nothing_is_remembered_of_connections_that_are_gone(clock, connect):
    connections = [connect(f"10.0.0.{n}") for n in range(9)]
    for connection in connections[:5]:
        connection.dataReceived(b"GET / HTTP/1.1\r\n")
    for connection in connections:
        connection.connectionLost()
    assert not protocols.unfinished and not clock.getDelayedCalls()


UPLOAD = b"POST /c/7/attachments?name=a.bin HTTP/1.1\r\nHost: localhost\r\n"


def whole(connect, head, size):
    connection = connect()
    connection.dataReceived(head + b"Content-Length: %d\r\n\r\n" % size)
    while size and not connection.wire.disconnecting:
        piece = min(size, 1_000_000)
        connection.dataReceived(b"a" * piece)
        size -= piece
    return connection


def status(connection):
    return connection.wire.value()[9:12]


def test_a_file_may_be_longer_than_any_other_request(connect):
    whole(connect, UPLOAD, 20_000_000)
    assert len(connect.whole) == 1
    too_long = whole(connect, UPLOAD, 20_000_001)
    assert status(too_long) == b"413" and b"20 MB" in too_long.wire.value()
    other = whole(connect, HEADERS, 5_000_000)
    assert status(other) == b"413" and b"4 MB" in other.wire.value()
    assert len(connect.whole) == 1


def test_a_file_without_a_length_is_counted_as_it_comes(connect):
    connection = connect()
    connection.dataReceived(UPLOAD + b"Transfer-Encoding: chunked\r\n\r\n")
    for _ in range(21):
        if not connection.wire.disconnecting:
            connection.dataReceived(b"F4240\r\n" + b"a" * 1_000_000 + b"\r\n")
    assert status(connection) == b"413" and connect.whole == []


@pytest.mark.parametrize(
    ("method", "sent", "hangs_up"),
    [(b"GET", b"one", True), (b"GET", b"one two", False), (b"HEAD", b"", False)],
)
def test_an_answer_shorter_than_its_head_said_ends_the_connection(connect, method, sent, hangs_up):
    """As that of a file that shrank while it went out: the reader would wait for the rest."""
    connection = connect()
    connection.dataReceived(method + b" /file HTTP/1.1\r\nHost: localhost\r\n\r\n")
    (request,) = connect.whole
    request.responseHeaders.setRawHeaders(b"Content-Length", [b"7"])
    request.write(sent)
    request.finish()
    assert connection.wire.disconnecting is hangs_up


def test_only_some_files_come_at_once(connect, monkeypatch):
    monkeypatch.setattr(protocols, "MOST_UPLOADS", 2)
    begun = [connect() for _ in range(3)]
    for each in begun:
        each.dataReceived(UPLOAD + b"Content-Length: 9000000\r\n\r\nabc")
    assert [status(each) for each in begun] == [b"", b"", b"503"]
    begun[0].connectionLost(Failure(ConnectionDone()))
    late = connect()
    late.dataReceived(UPLOAD + b"Content-Length: 9000000\r\n\r\nabc")
    assert not late.wire.disconnecting
