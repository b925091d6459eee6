"""The text of a web page, as a person would read it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import httpx

DROPPED = {"script", "style", "template", "svg", "iframe", "object"}
BLOCKS = {
    *("address", "article", "aside", "blockquote", "dd", "div", "dl", "dt", "figcaption"),
    *("figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li"),
    *("main", "nav", "ol", "p", "pre", "section", "table", "title", "tr", "ul", "br"),
}
SPACED = BLOCKS - {"br", "dd", "div", "dt", "li", "tr"}
HEADING = re.compile(r"h([1-6])")


def web_text(html: str, url: httpx.URL) -> str:
    """Headings, paragraphs, lists and links in Markdown's form; scripts and styles are dropped.

    The parser is fed once and not closed: both would let a bent page take it quadratic time.
    """
    page = Page(url)
    page.feed(html)
    return page.text()


class Page(HTMLParser):
    def __init__(self, url: httpx.URL) -> None:
        super().__init__()
        self.url = url
        self.pieces: list[str] = []
        self.dropping = 0
        self.verbatim = 0
        self.links: list[str] = []

    def text(self) -> str:
        lines = [line.rstrip() for line in "".join(self.pieces).splitlines()]
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.dropping += tag in DROPPED
        self.break_line(tag)
        if tag == "pre":
            self.verbatim += 1
        elif tag == "a":
            self.links.append(self.target(dict(attrs).get("href") or ""))
            self.say("[" if self.links[-1] else "")
        elif tag == "li":
            self.say("- ")
        elif tag in ("td", "th"):
            self.say(" | ")
        elif heading := HEADING.fullmatch(tag):
            self.say("#" * int(heading[1]) + " ")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """`<svg/>` ends itself, while `<script/>` and `<div/>` do not in HTML."""
        self.handle_starttag(tag, attrs)
        if tag == "svg":
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in DROPPED:
            self.dropping = max(self.dropping - 1, 0)
        if tag == "pre":
            self.verbatim = max(self.verbatim - 1, 0)
        if tag == "a" and self.links and (target := self.links.pop()):
            self.say(f"]({target})")
        self.break_line(tag)

    def handle_data(self, data: str) -> None:
        if self.verbatim:
            return self.say(data)
        text = re.sub(r"\s+", " ", data)
        at_start = not self.pieces or self.pieces[-1].endswith(("\n", " "))
        return self.say(text.lstrip() if at_start else text)

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        """`<![…` is for XML; the inherited method fails on what it does not know."""
        return self.parse_bogus_comment(i)

    def say(self, text: str) -> None:
        if text and not self.dropping:
            self.pieces.append(text)

    def break_line(self, tag: str) -> None:
        if tag in BLOCKS:
            self.say("\n\n" if tag in SPACED else "\n")

    def target(self, href: str) -> str:
        """Where a link leads, whole; nothing for a place in the page or another kind of link."""
        if not href or href.startswith("#"):
            return ""
        try:
            whole = self.url.join(href)
        except (httpx.InvalidURL, ValueError):
            return ""
        return str(whole) if whole.scheme in ("http", "https") else ""
