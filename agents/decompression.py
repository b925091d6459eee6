"""The bytes of an answer, unpacked piece by piece: a small answer cannot become a huge one."""

from __future__ import annotations

import zlib
from collections.abc import AsyncGenerator, Iterator

import httpx

# Servers that pack all the same are understood; what is asked for is plain text, a piece at a time.
PLAIN = {"Accept-Encoding": "identity"}
LARGEST_PIECE = 64 * 1024
GZIP_OR_ZLIB = 47  # zlib finds out which


async def pieces(response: httpx.Response) -> AsyncGenerator[bytes, None]:
    """At most LARGEST_PIECE bytes each, where they had to be unpacked. Raises DecodingError."""
    if response.is_stream_consumed:  # it was short enough to come with the head
        yield response.content
        return
    packed = response.headers.get("content-encoding", "").strip().lower()
    unpack = unpacker(packed)
    async for chunk in response.aiter_raw():
        if unpack is None:
            yield chunk
            continue
        try:
            for piece in unpacked(unpack, chunk):
                yield piece
        except zlib.error as error:
            raise httpx.DecodingError(f"It is no {packed}: {error}.") from None


def unpacker(packed: str) -> zlib._Decompress | None:
    if packed in ("", "identity"):
        return None
    if packed not in ("gzip", "x-gzip", "deflate"):
        raise httpx.DecodingError(f"{packed[:20]} was not asked for.")
    return zlib.decompressobj(GZIP_OR_ZLIB)


def unpacked(unpack: zlib._Decompress, packed: bytes) -> Iterator[bytes]:
    while True:
        piece = unpack.decompress(packed, LARGEST_PIECE)
        if piece:
            yield piece
        packed = unpack.unconsumed_tail
        if not packed and len(piece) < LARGEST_PIECE:
            return
