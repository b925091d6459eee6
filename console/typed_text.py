"""What a person typed, drawn sign for sign: what stands in backticks as code, addresses as links.

Nothing is added and nothing left out, so the message is copied and edited as it was typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from django.utils.safestring import SafeString

from console.addresses import addresses_in
from console.components import verbatim

MOST_LINKS = 200  # in one message; each takes time to draw

FENCE = re.compile(r" {0,3}(?P<signs>`{3,}|~{3,})(?P<rest>[^\n]*)")
INLINE = re.compile(r"(?<!`)(?P<ticks>`{1,4})(?!`)(?P<code>[^`\n]+)(?P=ticks)(?!`)")


@dataclass
class Piece:
    """`kind` is "", "link", "inline" or "block"; `before` and `after` are the signs that make it
    code, `href` is where a link leads."""

    kind: str
    text: str
    before: str = ""
    after: str = ""
    href: str = ""


def typed(text: str) -> SafeString:
    return verbatim("typed", pieces=with_links(pieces_of(text)))


def with_links(pieces: Iterable[Piece]) -> Iterator[Piece]:
    left = MOST_LINKS
    for piece in pieces:
        if piece.kind:
            yield piece
            continue
        end = 0
        for found in islice(addresses_in(piece.text), left):
            yield Piece("", piece.text[end : found.start])
            yield Piece("link", found.text, href=found.href)
            end, left = found.end, left - 1
        yield Piece("", piece.text[end:])


def pieces_of(text: str) -> Iterator[Piece]:
    """A fence that is not closed is code up to the end, as it is for a model that reads it."""
    if "`" not in text and "~~~" not in text:
        yield Piece("", text)
        return
    plain: list[str] = []
    block: Piece | None = None
    for line in text.splitlines(keepends=True):
        found = FENCE.match(line)
        if block is None:
            if found is None or "`" in found["rest"]:
                plain.append(line)
                continue
            yield from inline_pieces("".join(plain))
            plain, block = [], Piece("block", "", line)
        elif found and found["signs"].startswith(signs_of(block)) and not found["rest"].strip():
            block.after = line
            yield block
            block = None
        else:
            block.text += line
    if block is not None:
        yield block
    yield from inline_pieces("".join(plain))


def signs_of(block: Piece) -> str:
    found = FENCE.match(block.before)
    return found["signs"] if found else ""


def inline_pieces(text: str) -> Iterator[Piece]:
    end = 0
    for found in INLINE.finditer(text):
        yield Piece("", text[end : found.start()])
        yield Piece("inline", found["code"], found["ticks"], found["ticks"])
        end = found.end()
    if end < len(text):
        yield Piece("", text[end:])
