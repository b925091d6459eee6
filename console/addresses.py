"""Addresses of the web in a text, as replies and a person's own messages make links of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from markdown_it.common.normalize_url import normalizeLink, validateLink

MOST_ADDRESS = 2_000  # characters of a link; punycode is quadratic

# Beside what divides words: what nobody sees, and the slash of fractions, which looks like ours.
ENDS_ADDRESS = r"\s<>\"'`\x00-\x1f\xad\u061c\u2044\ufeff"
ENDS_ADDRESS += r"\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3000-\u303f\uff00-\uffef"
ADDRESS = re.compile(rf"(?<!\w)https?://[^{ENDS_ADDRESS}]+|(?<![\w./@-])www\.[^{ENDS_ADDRESS}]+")
BEGINS_ADDRESS = re.compile(r"://|www\.")
DOMAIN = re.compile(r"www\.[\w-]+\.\w")  # without a scheme it says enough only whole


@dataclass(frozen=True)
class Address:
    """Where it stands in the text, as it is written there, and where it leads."""

    start: int
    text: str
    href: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def addresses_in(text: str) -> Iterator[Address]:
    for found in ADDRESS.finditer(text):
        address = without_punctuation(found.group())
        is_bare = address.startswith("www.")
        if is_bare and not DOMAIN.match(address):
            continue
        href = normalized_link(f"https://{address}" if is_bare else address)
        if href and validateLink(href):
            yield Address(found.start(), address, href)


def normalized_link(url: str) -> str:
    """Nothing where that would take long."""
    return normalizeLink(url) if len(url) <= MOST_ADDRESS else ""


def without_punctuation(address: str) -> str:
    """What ends a sentence or closes a bracket around it does not belong to an address."""
    surplus = address.count(")") - address.count("(")
    end = len(address)
    while end and (address[end - 1] in ".,:;!?*_~]}" or (address[end - 1] == ")" and surplus > 0)):
        end -= 1
        surplus -= address[end] == ")"
    return address[:end]
