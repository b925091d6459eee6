"""The smallest files that say that they are an image of a size."""

import struct
import zlib

RED = (173, 36, 28)
PETROL = (0, 102, 109)


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(width, height, colors=()):
    """With two colours it is drawn, in stripes; else it only says how large it is."""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    lines = (
        b"\0" + bytes(colors[y * 8 // height % 2]) * width for y in range(height if colors else 0)
    )
    body = chunk(b"IDAT", zlib.compress(b"".join(lines)))
    return b"\x89PNG\r\n\x1a\n" + head + body + chunk(b"IEND", b"")


def gif(width, height):
    screen = struct.pack("<HHBBB", width, height, 0x80, 0, 0) + bytes(6)
    comment = b"\x21\xfe\x05hello\x00"
    frame = b"\x2c" + struct.pack("<HHHHB", 0, 0, width, height, 0) + b"\x02\x02\x44\x01\x00\x3b"
    return b"GIF89a" + screen + comment + frame


def jpeg(width, height):
    app = b"\xff\xe0" + struct.pack(">H", 16) + b"JFIF\0" + bytes(9)
    frame = b"\xff\xc2" + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\x01\x11\x00"
    return b"\xff\xd8" + app + b"\xff" + frame + b"\xff\xd9"


def webp(width, height):
    sizes = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    body = b"WEBPVP8X" + struct.pack("<I", 10) + bytes(4) + sizes
    return b"RIFF" + struct.pack("<I", len(body)) + body
