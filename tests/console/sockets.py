"""A page's WebSocket by hand: the client decides when it reads, and how much its system holds."""

from __future__ import annotations

import socket
import struct
from typing import Any

import httpx

TEXT, CLOSE, PING, PONG = 1, 8, 9, 10
SMALL = 64 * 1024  # bytes that the reading side's system takes before the writer has to wait


class Page:
    """A signed-in browser with one conversation, and the sockets it opens."""

    def __init__(self, server: Any) -> None:
        self.host = server.address.removeprefix("http://")
        self.origin = server.address
        with httpx.Client(base_url=server.address, follow_redirects=True) as browser:
            browser.get(server.link)
            self.cookies = dict(browser.cookies)

    def open(self, conversation: int, kept: int | None = None) -> socket.socket:
        """A socket whose handshake is through; `kept` limits what it holds unread."""
        opened = socket.socket()
        if kept:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, kept)
        opened.settimeout(20)
        host, port = self.host.split(":")
        opened.connect((host, int(port)))
        asked = [
            f"GET /ws/conversations/{conversation}/ HTTP/1.1",
            f"Host: {self.host}",
            f"Origin: {self.origin}",
            "Cookie: " + "; ".join(f"{name}={value}" for name, value in self.cookies.items()),
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        ]
        opened.sendall("\r\n".join([*asked, "", ""]).encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += opened.recv(1)  # not one byte of what follows
        assert b" 101 " in head, head
        return opened


def frame(opened: socket.socket) -> tuple[int, bytes]:
    """The next frame: its opcode and what it holds."""
    first, second = exactly(opened, 2)
    length = second & 127
    if length == 126:
        (length,) = struct.unpack("!H", exactly(opened, 2))
    elif length == 127:
        (length,) = struct.unpack("!Q", exactly(opened, 8))
    return first & 15, exactly(opened, length)


def exactly(opened: socket.socket, length: int) -> bytes:
    got = bytearray()
    while len(got) < length:
        piece = opened.recv(length - len(got))
        if not piece:
            raise ConnectionResetError
        got += piece
    return bytes(got)


def text_of(opened: socket.socket) -> str:
    """The next frame of text; a ping on the way is answered."""
    while not (text := heard(opened)):
        pass
    return text


def heard(opened: socket.socket) -> str:
    """The next frame: its text, or nothing where it is a ping, which is answered."""
    opcode, content = frame(opened)
    if opcode == TEXT:
        return content.decode()
    assert opcode == PING, (opcode, content)
    mask = bytes(4)
    opened.sendall(bytes([0x80 | PONG, 0x80 | len(content)]) + mask + content)
    return ""


def close_code(opened: socket.socket) -> int:
    """That with which the server closes it; what it says before is passed over."""
    while True:
        opcode, content = frame(opened)
        if opcode == CLOSE:
            return int.from_bytes(content[:2])
