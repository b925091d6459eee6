"""What a stranger may send to the real server: bodies without end, frames, addresses."""

import asyncio
import base64
import logging
import os
import socket
import struct
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from channels.testing import WebsocketCommunicator
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.asgi import application, live
from tests.console.serving import Started
from tests.inner import MIDDLEWARE_MOST_BYTES as MOST_BYTES
from tests.inner import MOST_RECEIVED, NOT_YOURS, REFUSALS, SIGN_IN, asked_of
from tests.world import conversation, person

pytestmark = pytest.mark.django_db(transaction=True)

quickly = settings(
    max_examples=int(os.environ.get("PLANSIDE_FUZZ", "40")),
    derandomize="PLANSIDE_FUZZ" not in os.environ,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    started = Started(tmp_path_factory.mktemp("home"))
    yield started
    _, code, _, err = started.end()
    assert code == 0
    assert "Traceback" not in err, err
    assert "[error" not in err, err


@pytest.fixture(scope="module")
def cookie(server):
    answer = httpx.get(server.link)
    return f"sessionid={answer.cookies['sessionid']}"


def opened(server):
    parts = urlsplit(server.address)
    return socket.create_connection((parts.hostname, parts.port), timeout=10)


def head_of(connection):
    """The status of the answer, and its body as far as it has come."""
    connection.settimeout(10)
    got = b""
    while b"\r\n\r\n" not in got:
        piece = connection.recv(65536)
        if not piece:
            break
        got += piece
    head, _, body = got.partition(b"\r\n\r\n")
    return int(head.split()[1]), head.decode(), body.decode(errors="replace")


def memory(server):
    """KiB that the server holds."""
    lines = Path(f"/proc/{server.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


@pytest.mark.parametrize("path", ["/signin/", "/api/conversations", "/c/1/say", "/nothing"])
def test_a_body_that_is_declared_too_long_is_not_waited_for(server, path):
    with opened(server) as connection:
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {10**12}\r\n\r\n"
        connection.sendall(head.encode())
        status, head, body = head_of(connection)
    assert status == 413
    assert str(REFUSALS[413]) in body
    assert ("application/json" in head) == path.startswith("/api/")


def test_a_body_that_does_not_end_is_cut_off(server):
    before = memory(server)
    piece = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
    with opened(server) as connection:
        connection.sendall(
            b"POST /api/conversations HTTP/1.1\r\nHost: localhost\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        with pytest.raises(OSError):  # reset or broken, as the system likes, after LINGERS seconds
            for _ in range(100_000):
                connection.sendall(piece)
    assert memory(server) - before < 40 * 1024


def test_a_long_body_that_is_short_enough_is_read(server):
    form = {"username": "alice", "password": "x", "next": "y" * (MOST_BYTES - 100_000)}
    assert httpx.post(f"{server.address}/signin/", data=form).status_code == 403


def handshake(server, path, cookie=""):
    key = base64.b64encode(os.urandom(16)).decode()
    lines = [
        f"GET {path} HTTP/1.1",
        f"Host: {urlsplit(server.address).netloc}",
        f"Origin: {server.address}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {key}",
        *([f"Cookie: {cookie}"] if cookie else []),
    ]
    connection = opened(server)
    connection.sendall("\r\n".join([*lines, "", ""]).encode())
    return connection


def framed(opcode, content, is_last=True):
    """A masked frame as a browser sends it."""
    mask = os.urandom(4)
    size = len(content)
    if size < 126:
        length = bytes([0x80 | size])
    elif size < 65536:
        length = bytes([0x80 | 126]) + struct.pack("!H", size)
    else:
        length = bytes([0x80 | 127]) + struct.pack("!Q", size)
    masked = bytes(byte ^ mask[n % 4] for n, byte in enumerate(content))
    return bytes([(0x80 if is_last else 0) | opcode]) + length + mask + masked


def chat_of(server, cookie):
    return httpx.get(server.address, headers={"Cookie": cookie}).headers["Location"]


@pytest.fixture(scope="module")
def chat(server, cookie):
    return f"/ws/conversations/{chat_of(server, cookie).strip('/').rpartition('/')[2]}/"


def until_closed(connection):
    """The code with which the server closes, or None where it just hangs up."""
    got = b""
    while piece := connection.recv(65536):
        got += piece
    code = got.rpartition(b"\x88")[2]
    return struct.unpack("!H", code[1:3])[0] if len(code) >= 3 else None


@pytest.mark.parametrize("size", [MOST_RECEIVED + 1, 10 * MOST_RECEIVED, 2_000_000])
@pytest.mark.parametrize("opcode", [1, 2])
def test_a_long_frame_closes_the_socket(server, cookie, chat, opcode, size):
    with handshake(server, chat, cookie) as connection:
        assert head_of(connection)[0] == 101
        try:
            connection.sendall(framed(opcode, b"x" * size))
            assert until_closed(connection) in (1009, None)
        except ConnectionError:
            pass  # it hung up on us while we were still talking


@quickly
@given(
    frames=st.lists(
        st.tuples(
            st.sampled_from([0, 1, 2, 3, 8, 9, 10, 15]), st.binary(max_size=200), st.booleans()
        ),
        max_size=6,
    )
)
def test_no_frame_breaks_the_server(server, cookie, chat, frames):
    with handshake(server, chat, cookie) as connection:
        assert head_of(connection)[0] == 101
        try:
            for opcode, content, is_last in frames:
                connection.sendall(framed(opcode, content, is_last))
            connection.sendall(framed(8, struct.pack("!H", 1000)))
            assert until_closed(connection) not in (1011,)
        except ConnectionError:
            pass


@quickly
@given(raw=st.binary(min_size=1, max_size=400))
def test_no_bytes_at_all_break_the_server(server, cookie, chat, raw):
    with handshake(server, chat, cookie) as connection:
        head_of(connection)
        try:
            connection.sendall(raw)
            connection.shutdown(socket.SHUT_WR)
            assert until_closed(connection) != 1011
        except OSError:
            pass


ODD = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=40)


@quickly
@given(path=ODD, query=ODD)
def test_no_address_of_a_socket_breaks_the_server(server, cookie, path, query):
    for start in ("/", "/ws/", "/ws/conversations/"):
        with handshake(server, f"{start}{path}?{query}", cookie) as connection:
            status, _, _ = head_of(connection)
            assert status < 500 or status == 101, path


def test_what_a_page_is_told_may_be_longer_than_what_it_may_say(server, cookie, chat):
    with handshake(server, chat, cookie) as connection:
        got = head_of(connection)[2]
        while len(got) <= MOST_RECEIVED:
            got += connection.recv(65536).decode(errors="replace")
    assert "hx-partial" in got


def test_many_sockets_leave_no_memory_behind(server, cookie, chat):
    def wave():
        for _ in range(150):
            with handshake(server, chat, cookie) as connection:
                head_of(connection)
                connection.sendall(framed(1, b"hello"))

    wave()
    before = memory(server)
    for _ in range(3):
        wave()
    assert memory(server) - before < 8 * 1024


# The consumer alone: quicker, and its log is ours to read.


@pytest.fixture
def mine():
    return conversation().pk


@quickly
@given(query=st.binary(max_size=60) | st.integers().map(lambda n: f"after={n}".encode()))
def test_any_cursor_is_a_number_that_fits(query):
    assert 0 <= asked_of(query)[0] < 2**63


@pytest.mark.parametrize("after", ["-1", "x", "9" * 18, "9" * 30, "%00", "1e9", "٣", "²", ""])
async def test_any_cursor_opens_a_socket(mine, after, caplog):
    socket = WebsocketCommunicator(live, f"/ws/conversations/{mine}/?after={after}")
    socket.scope["user"] = await person_of()
    assert (await socket.connect())[0]
    await socket.receive_from()
    await socket.disconnect()
    assert not [each for each in caplog.records if each.levelno >= logging.WARNING]


async def person_of():
    from agents.db import in_db

    return await in_db(person)


@pytest.mark.parametrize("pk", ["0", "9" * 18, "9" * 30])
async def test_an_id_that_nobody_has_is_not_there(mine, pk):
    socket = WebsocketCommunicator(live, f"/ws/conversations/{pk}/")
    socket.scope["user"] = await person_of()
    await socket.connect()
    assert (await socket.receive_output())["code"] == NOT_YOURS


@pytest.mark.parametrize("path", ["/", "/ws/", "/ws/conversations/x/", "/ws/conversations/1"])
async def test_a_wrong_address_is_refused_without_a_word_in_the_log(path):
    headers = [(b"origin", b"http://localhost"), (b"host", b"localhost")]
    socket = WebsocketCommunicator(application, path, headers=headers)
    assert not (await socket.connect())[0]


@quickly
@given(said=st.lists(st.text(max_size=50) | st.binary(max_size=50), max_size=5))
def test_what_a_page_says_is_not_heard(mine, said):
    async def story():
        socket = WebsocketCommunicator(live, f"/ws/conversations/{mine}/")
        await socket.connect()
        assert (await socket.receive_output())["code"] == SIGN_IN
        socket = WebsocketCommunicator(live, f"/ws/conversations/{mine}/")
        socket.scope["user"] = await person_of()
        await socket.connect()
        await socket.receive_from()
        for each in said:
            kind = "text" if isinstance(each, str) else "bytes"
            await socket.send_input({"type": "websocket.receive", kind: each})
        assert await socket.receive_nothing(0.01)
        await socket.disconnect()

    asyncio.run(story())
