"""What git would leave out of a folder: the rules of its `.gitignore` files, and ours.

A folder's files are anybody's, so no pattern may take long: none is one regular expression that
tries every way to divide a name. What stands between two stars is found where it comes first, and
stays there.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from itertools import islice

from agents.tools.confinement import IGNORED

RULES = b".gitignore"
NEVER = frozenset(os.fsencode(name) for name in IGNORED)  # folders and links of these names
LARGEST_RULES = 250_000  # bytes of one file
MOST_PATTERNS = 2_000  # in force at once; what further ones would leave out is recorded
ANY_NAME = re.compile(b".*", re.DOTALL)

Parts = tuple[bytes, ...]
Chunk = tuple[re.Pattern[bytes], ...]  # parts that follow each other


@dataclass(frozen=True)
class Pattern:
    """One line: what stands before, between and behind each `**`. `name` is of one without a slash,
    which is about the name alone."""

    leaves_out: bool
    folders_only: bool
    name: re.Pattern[bytes] | None
    chunks: tuple[Chunk, ...] = ()

    def matches(self, parts: Parts, is_folder: bool) -> bool:
        if self.folders_only and not is_folder:
            return False
        if self.name is not None:
            return self.name.fullmatch(parts[-1]) is not None
        return fits(self.chunks, parts)


def fits(chunks: tuple[Chunk, ...], parts: Parts) -> bool:
    """Behind `**` the first place at which a chunk fits is as good as any."""
    first, last = chunks[0], chunks[-1]
    if not fit_at(first, parts, 0):
        return False
    if len(chunks) == 1:
        return len(first) == len(parts)
    at, end = len(first), len(parts) - len(last)
    if not last:  # `a/**` is what is in a, not a itself
        end -= 1
    for chunk in chunks[1:-1]:
        places = (place for place in range(at, end + 1) if fit_at(chunk, parts, place))
        if (place := next(places, None)) is None:
            return False
        at = place + len(chunk)
    return at <= end and fit_at(last, parts, len(parts) - len(last))


def fit_at(chunk: Chunk, parts: Parts, place: int) -> bool:
    here = parts[place : place + len(chunk)]
    return len(here) == len(chunk) and all(
        each.fullmatch(part) for each, part in zip(chunk, here, strict=True)
    )


@lru_cache(maxsize=64)
def patterns_of(content: bytes) -> tuple[Pattern, ...]:
    """The last one first, which is the one that counts."""
    from dulwich.ignore import read_ignore_patterns

    lines = islice(read_ignore_patterns(BytesIO(content)), MOST_PATTERNS)
    return tuple(each for line in lines if (each := pattern_of(line)) is not None)[::-1]


def pattern_of(line: bytes) -> Pattern | None:
    """Nothing for what git gives up on, and for what names nothing."""
    from dulwich.wildmatch import MalformedPattern

    leaves_out = not line.startswith(b"!")
    text = line if leaves_out else line[1:]
    text, folders_only = text.removesuffix(b"/"), text.endswith(b"/")
    if not text:
        return None
    try:
        chunks = chunks_of(text.removeprefix(b"/"))
    except MalformedPattern:
        return None
    if b"/" not in text:
        return Pattern(leaves_out, folders_only, chunks[0][0] if chunks[0] else ANY_NAME)
    return Pattern(leaves_out, folders_only, None, chunks)


def chunks_of(text: bytes) -> tuple[Chunk, ...]:
    chunks: list[Chunk] = [()]
    for segment in segments_of(text):
        if segment is None:
            chunks.append(())
        else:
            chunks[-1] += (segment,)
    return tuple(chunks)


def segments_of(text: bytes) -> Iterator[re.Pattern[bytes] | None]:
    """Part by part. A slash within brackets divides nothing, and fits nothing."""
    from dulwich.wildmatch import translate_bracket_expression

    chunks, start, at = [b""], 0, 0
    while at < len(text):
        sign, at = text[at : at + 1], at + 1
        if sign == b"/":
            yield segment_of(chunks, text[start : at - 1])
            chunks, start = [b""], at
        elif sign == b"*":
            if chunks[-1] or len(chunks) == 1:  # several stars in a row are one
                chunks.append(b"")
        elif sign == b"?":
            chunks[-1] += b"."
        elif sign == b"[":
            at, brackets = translate_bracket_expression(text, at)
            chunks[-1] += brackets
        elif sign == b"\\" and at < len(text):
            chunks[-1] += re.escape(text[at : at + 1])
            at += 1
        else:
            chunks[-1] += re.escape(sign)
    yield segment_of(chunks, text[start:])


def segment_of(chunks: list[bytes], text: bytes) -> re.Pattern[bytes] | None:
    """None for `**`, any number of parts."""
    if len(text) > 1 and not text.strip(b"*"):
        return None
    first, *between = chunks
    last = b".*" + between.pop() if between else b""
    middle = b"".join(b"(?>.*?%s)" % chunk for chunk in between)
    return re.compile(first + middle + last, re.DOTALL)


@dataclass(frozen=True)
class Rules:
    """Those that hold in a folder: of itself, then of the folders above it.

    `digest` is another one as soon as any of them is.
    """

    digest: bytes = b""
    # By how many parts of a path lead there.
    levels: tuple[tuple[int, tuple[Pattern, ...]], ...] = ()

    def with_file(self, content: bytes, depth: int) -> Rules:
        """With those of the `.gitignore` of a folder this deep."""
        seen = b"%s%d\0%s" % (self.digest, depth, content)
        digest = hashlib.sha1(seen, usedforsecurity=False).digest()
        room = MOST_PATTERNS - sum(len(patterns) for _, patterns in self.levels)
        patterns = patterns_of(content)
        return Rules(digest, ((depth, patterns[max(len(patterns) - room, 0) :]), *self.levels))

    def leave_out(self, parts: Parts, is_folder: bool) -> bool:
        """Whether git would, of what lies in a folder that it does not leave out."""
        for depth, patterns in self.levels:
            inside = parts[depth:]
            for pattern in patterns:
                if pattern.matches(inside, is_folder):
                    return pattern.leaves_out
        return False


NO_RULES = Rules()
