"""Images in results of tools: what one is by its own first bytes, never by its sender's word.

A program that shows or reads an image takes memory for each of its pixels, however few bytes it
came in: so the size that it names is read before anybody is given it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

MOST_PIXELS = 32_000_000  # 128 MB of memory when drawn; a page that is photographed whole has 20
SIGNS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
# Of a JPEG: markers that begin a frame, whose head has the size, and those without a length.
FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
BARE = {0x01, *range(0xD0, 0xD9)}


@dataclass(frozen=True)
class Image:
    """One of the types that models and browsers take; its size in pixels."""

    media_type: str
    data: bytes = field(repr=False)
    width: int
    height: int


class NotShown(ValueError):
    """Why an image is neither shown nor sent to a model: one sentence."""


def image_of(data: bytes) -> Image:
    """The image that these bytes are. Raises NotShown."""
    kind = image_type(data)
    if not kind:
        raise NotShown("It is not shown: only PNG, JPEG, GIF and WebP are.")
    try:
        width, height = SIZES[kind](data)
    except (struct.error, IndexError, ValueError):
        width = height = 0
    if not width or not height:
        raise NotShown("It is not shown: it does not say how large it is.")
    if width * height > MOST_PIXELS:
        most = MOST_PIXELS // 1_000_000
        raise NotShown(
            f"It is not shown: {width:,} × {height:,} pixels are more than {most} million."
        )
    return Image(kind, data, width, height)


def image_type(data: bytes) -> str:
    """Nothing for an SVG, which is a program, and for all that is no image."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for sign, kind in SIGNS.items() if data.startswith(sign)), "")


def png_size(data: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from(">II", data, 16)
    return (width, height) if data[12:16] == b"IHDR" else (0, 0)


def gif_size(data: bytes) -> tuple[int, int]:
    """The larger one of its screen and its first frame, which may lie beyond the screen."""
    width, height, flags = struct.unpack_from("<HHB", data, 6)
    at = 13 + (3 << (flags & 7) + 1 if flags & 0x80 else 0)
    while data[at] == 0x21:  # an extension, in blocks of up to 255 bytes
        at += 2
        while data[at]:
            at += data[at] + 1
        at += 1
    if data[at] == 0x2C:
        left, top, wide, high = struct.unpack_from("<HHHH", data, at + 1)
        return max(width, left + wide), max(height, top + high)
    return width, height


def webp_size(data: bytes) -> tuple[int, int]:
    kind = data[12:16]
    if kind == b"VP8X":
        width, more, height, higher = struct.unpack_from("<HBHB", data, 24)
        return (more << 16 | width) + 1, (higher << 16 | height) + 1
    if kind == b"VP8L":
        (bits,) = struct.unpack_from("<I", data, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    width, height = struct.unpack_from("<HH", data, 26)
    return (width & 0x3FFF, height & 0x3FFF) if kind == b"VP8 " else (0, 0)


def jpeg_size(data: bytes) -> tuple[int, int]:
    at = 2
    while True:
        at = data.index(b"\xff", at)
        while data[at] == 0xFF:
            at += 1
        marker, at = data[at], at + 1
        if marker in FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 3)
            return width, height
        if marker not in BARE:
            (length,) = struct.unpack_from(">H", data, at)
            at += max(length, 2)


SIZES = {
    "image/png": png_size,
    "image/jpeg": jpeg_size,
    "image/gif": gif_size,
    "image/webp": webp_size,
}
