"""Bodies that others send over HTTP, read within bounds: unpacked and decoded.

Unpacking goes piece by piece, so that a small answer cannot become a huge one.

A charset is believed if it is one of a few that are decoded in one pass; everything else is read
as UTF-8. Python also knows codecs that take quadratic time (punycode), that are no character sets
(hex, zlib) or that always fail (undefined), and httpx asks for any of them by name. So a service's
word never reaches Python's registry of codecs, nor `charset_encoding` or `text` of httpx.
"""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import AsyncGenerator, Iterator
from functools import cache

import httpx

# Servers that pack all the same are understood; what is asked for is plain text, a piece at a time.
PLAIN = {"Accept-Encoding": "identity"}
LARGEST_PIECE = 64 * 1024
KNOWN = ("gzip", "x-gzip", "deflate")
GZIP_OR_ZLIB = 47  # zlib finds out which


async def pieces(
    response: httpx.Response, *, unknown_as_plain: bool = False
) -> AsyncGenerator[bytes, None]:
    """At most LARGEST_PIECE bytes each, where they had to be unpacked. Raises DecodingError.

    An answer without a body is never wrong, whatever its head says of an encoding.
    """
    if response.is_stream_consumed:  # it was short enough to come with the head
        yield response.content
        return
    names = response.headers.get("content-encoding", "").lower().split(",")
    packed = ", ".join(each.strip() for each in names if each.strip() not in ("", "identity"))
    unpack = None
    is_first = True
    async for chunk in response.aiter_raw():
        if is_first and not (unknown_as_plain and packed not in KNOWN):
            unpack = unpacker(packed)
        if unpack is None:
            is_first = False
            yield chunk
            continue
        if is_first and packed == "deflate" and not is_zlib(chunk):
            unpack = zlib.decompressobj(-zlib.MAX_WBITS)  # some servers leave the frame out
        is_first = False
        try:
            for piece in unpacked(unpack, chunk):
                yield piece
        except zlib.error as error:
            raise httpx.DecodingError(f"It is no {packed}: {error}.") from None


def unpacker(packed: str) -> zlib._Decompress | None:
    if packed in ("", "identity"):
        return None
    if packed not in KNOWN:
        raise httpx.DecodingError(f"{packed[:20]} was not asked for.")
    return zlib.decompressobj(GZIP_OR_ZLIB)


def is_zlib(chunk: bytes) -> bool:
    """Whether this begins as RFC 1950 says."""
    return len(chunk) < 2 or (chunk[0] & 15 == 8 and int.from_bytes(chunk[:2], "big") % 31 == 0)


def unpacked(unpack: zlib._Decompress, packed: bytes) -> Iterator[bytes]:
    while True:
        piece = unpack.decompress(packed, LARGEST_PIECE)
        if piece:
            yield piece
        packed = unpack.unconsumed_tail
        if not packed and len(piece) < LARGEST_PIECE:
            return


# Text

LONGEST_CONTENT_TYPE = 500  # characters that are looked at
CHARSET = re.compile(r';\s*charset\s*=\s*"?([a-z0-9_.:-]{1,30})(?![a-z0-9_.:-])', re.IGNORECASE)

MULTIBYTE = {
    "utf-16": "utf-16", "utf-16le": "utf-16-le", "utf-16be": "utf-16-be",
    "gb2312": "gb18030", "gbk": "gb18030", "gb18030": "gb18030", "big5": "big5hkscs",
    "shift_jis": "cp932", "euc-jp": "euc-jp", "euc-kr": "cp949",
}  # fmt: skip
SINGLE_BYTE = {
    "iso-8859-1": "cp1252", "latin1": "cp1252",  # as browsers read them
    **{f"iso-8859-{n}": f"iso8859-{n}" for n in (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16)},
    **{f"windows-{n}": f"cp{n}" for n in range(1250, 1259)},
    "koi8-r": "koi8-r", "koi8-u": "koi8-u", "macintosh": "mac-roman",
}  # fmt: skip


def decoded(body: bytes, content_type: str) -> str:
    """The text, with U+FFFD for what cannot be read; never raises."""
    match = CHARSET.search(content_type[:LONGEST_CONTENT_TYPE])
    charset = match[1].lower() if match else ""
    if charset in SINGLE_BYTE:
        return codecs.charmap_decode(body, "strict", table(SINGLE_BYTE[charset]))[0]
    return body.decode(MULTIBYTE.get(charset, "utf-8"), errors="replace")


@cache
def table(codec: str) -> str:
    """What each byte means, without gaps: an error handler per byte takes 250 ms a megabyte."""
    return bytes(range(256)).decode(codec, errors="replace")
