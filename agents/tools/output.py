"""What a command prints: its beginning and its end are kept, however much there is between."""

from __future__ import annotations

import re

# Together with the notes it stays below what is kept of any tool's result.
MOST_CHARACTERS = 59_000
HALF = MOST_CHARACTERS // 2
WIDEST = 4  # bytes of one character in UTF-8
ROOM = (HALF + 1) * WIDEST  # bytes that surely hold half of the characters
MOST_UNREADABLE = 0.1  # of the characters; above it the output is no text
STRAY = re.compile("[\ud800-\udfff]")  # what stands for a byte that is not UTF-8


class Output:
    """A pipe's bytes in constant memory."""

    def __init__(self) -> None:
        self.size = 0
        self.head = bytearray()
        self.tail = bytearray()
        self.has_nul = False

    def add(self, chunk: bytes) -> None:
        self.size += len(chunk)
        self.has_nul = self.has_nul or b"\0" in chunk
        room = ROOM - len(self.head)
        self.head += chunk[:room]
        self.tail += chunk[room:] if room > 0 else chunk
        if len(self.tail) > ROOM:
            del self.tail[:-ROOM]

    def text(self) -> str:
        """The output for a reader, with a note where something is missing."""
        is_whole = self.size == len(self.head) + len(self.tail)
        pieces = [self.head + self.tail] if is_whole else [self.head, self.tail]
        parts = [readable(piece) for piece in pieces]
        if self.has_nul or unreadable(parts) > MOST_UNREADABLE:
            return f"[binary output, {self.size:,} bytes]"
        if len(parts) == 1 and len(parts[0]) <= MOST_CHARACTERS:
            return plain(parts[0]).rstrip("\n")
        head, tail = parts[0][:HALF], parts[-1][-HALF:]
        cut = self.size - len(raw(head)) - len(raw(tail))
        return f"{plain(head)}\n[… {cut:,} bytes are left out here …]\n{plain(tail)}".rstrip("\n")


def readable(piece: bytearray) -> str:
    """The text, in which what is not UTF-8 can still be told apart."""
    return piece.decode(errors="surrogateescape")


def raw(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def plain(text: str) -> str:
    return raw(text).decode(errors="replace")


def unreadable(parts: list[str]) -> float:
    """Which part of the text is not text."""
    length = sum(map(len, parts))
    left = sum(len(STRAY.sub("", part)) for part in parts)
    return (length - left) / max(length, 1)
