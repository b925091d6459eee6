"""How many tokens a text is, estimated in one way: four bytes of UTF-8 each.

A Chinese sign is three quarters of one then; models count between a half and one and a half.
"""

from __future__ import annotations

BYTES_PER_TOKEN = 4


def estimate_tokens(*texts: str) -> int:
    size = sum(len(text.encode(errors="replace")) for text in texts)
    return -(-size // BYTES_PER_TOKEN)
