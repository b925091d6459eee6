"""Names of files, which are bytes, as text that any database, page and address takes.

A name in UTF-8 is itself. A byte that is none, a backslash and what no text may hold are written
as `\\xHH`, so that every text stands for one name.
"""

from __future__ import annotations

import re

ESCAPED = re.compile(rb"\\x([0-9a-f]{2})")
KEPT_OUT = re.compile("[\\\\\x00-\x1f\x7f\udc80-\udcff]")


def path_text(path: bytes) -> str:
    text = path.decode(errors="surrogateescape")
    return KEPT_OUT.sub(lambda found: f"\\x{ord(found[0]) & 0xFF:02x}", text)


def path_bytes(text: str) -> bytes:
    raw = text.encode(errors="replace")
    return ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), raw)
