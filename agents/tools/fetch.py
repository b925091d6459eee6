"""The tool that reads a page of the web, and only of the web."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from html.parser import HTMLParser
from http import HTTPStatus
from time import monotonic
from typing import TypeVar

import httpx
from pydantic import BaseModel, Field

from agents.http_bodies import decoded, pieces
from agents.pools import FILES
from agents.tools.base import Tool, ToolFailed, ToolResult, truncated, typed_tool
from agents.tools.confinement import display_path
from agents.tools.ssrf_guard import Guard, PinnedTransport, Resolver, ask_system

SECONDS = 30  # for everything: names, redirects, the whole page
SILENCE = 10.0  # seconds without a byte
PARSING = 5.0  # seconds of them for the text of a page; a thread cannot be ended from outside
LARGEST = 2_000_000  # bytes, unpacked
MOST_CHARACTERS = 59_000
MOST_REDIRECTS = 5
LONGEST_URL = 8_000
REDIRECTS = {301, 302, 303, 307, 308}
Seen = TypeVar("Seen")
HEADERS = {"User-Agent": "Planside", "Accept-Encoding": "gzip"}
PAGES = {"text/html", "application/xhtml+xml"}
TEXTS = ("json", "xml", "javascript", "yaml", "toml", "x-sh", "x-ndjson", "sql")


class FetchUrl(BaseModel):
    """Get a public page of the web as text. The URL is sent to its host."""

    url: str = Field(description="Such as https://example.org/page.")


def fetch_tools(
    allowed_hosts: Sequence[str] = (),
    *,
    resolver: Resolver = ask_system,
    tls: ssl.SSLContext | None = None,
) -> list[Tool]:
    """The one tool. Hosts that are allowed (a host, or host:port) may be private."""
    guard = Guard(frozenset(allowed_hosts), resolver)

    async def run(args: FetchUrl) -> ToolResult:
        return await fetch(args.url.strip(), PinnedTransport(guard, tls))

    return [typed_tool("fetch_url", FetchUrl, run, idempotent=True)]


@dataclass(frozen=True)
class Answer:
    """What a server answered, whatever its status; `text` whole, as a person would read it."""

    status: int
    text: str


async def fetch(address: str, transport: PinnedTransport) -> ToolResult:
    """The text at a URL, within the limits of time and size."""
    return await visit(address, transport, read_page)


async def ask(address: str, allowed_hosts: Sequence[str], status: int) -> Answer:
    """What is answered at a URL, under the same rules: after redirects, unless one of them has the
    status that is looked for. What could not be reached has the fact `unreachable`."""

    async def look(client: httpx.AsyncClient, url: httpx.URL) -> Answer:
        return await follow(client, url, read_any, status)

    return await visit(address, PinnedTransport(Guard(frozenset(allowed_hosts))), look)


async def visit(
    address: str,
    transport: PinnedTransport,
    look: Callable[[httpx.AsyncClient, httpx.URL], Awaitable[Seen]],
) -> Seen:
    """Look at a URL, within the limit of time; raises ToolFailed with one sentence."""
    facts: dict[str, object] = {}
    if len(address) > LONGEST_URL:
        raise ToolFailed(f"The URL is too long: up to {LONGEST_URL:,} characters are taken.")
    try:
        url = httpx.URL(address)
    except (httpx.InvalidURL, UnicodeError, ValueError):
        raise ToolFailed(f"{display_path(address)} is not a URL.") from None
    client = httpx.AsyncClient(
        transport=transport, timeout=SILENCE, headers=HEADERS, trust_env=False
    )
    # No reason has the system's words, which may name an address.
    try:
        async with asyncio.timeout(SECONDS), client:
            return await look(client, url)
    except TimeoutError:
        reason = f"was not there within {SECONDS} s"
    except httpx.TimeoutException:
        reason = "did not answer in time"
    except httpx.ConnectError as error:
        bad = "CERTIFICATE_VERIFY_FAILED" in str(error)
        reason = "has a certificate that is not valid" if bad else "could not be reached"
        facts = {"unreachable": True}
    except httpx.RemoteProtocolError:
        reason = "did not answer as a web server does"
    except (httpx.HTTPError, httpx.InvalidURL):
        reason = "could not be fetched"
    raise ToolFailed(f"{display_path(str(url))} {reason}.", facts)


async def read_page(client: httpx.AsyncClient, start: httpx.URL) -> ToolResult:
    """Where redirects have led stands in front of the text, and not in its body."""

    async def look(response: httpx.Response, shown: str) -> ToolResult:
        body = await read(response)
        is_start = shown == display_path(str(start))
        return ToolResult(body if is_start else f"[{shown}]\n\n{body}", body=body)

    return await follow(client, start, look)


async def read_any(response: httpx.Response, shown: str) -> Answer:
    return Answer(response.status_code, await text_of(response))


async def follow(
    client: httpx.AsyncClient,
    start: httpx.URL,
    look: Callable[[httpx.Response, str], Awaitable[Seen]],
    wanted: int = 0,
) -> Seen:
    """What is there after redirects, each of which asks the guard like the first request."""
    url = start
    for _ in range(MOST_REDIRECTS + 1):
        client.cookies.clear()
        shown = display_path(str(url))
        async with client.stream("GET", url) as response:
            target = response.headers.get("location")
            is_redirect = response.status_code in REDIRECTS and target is not None
            if not is_redirect or response.status_code == wanted:
                return await look(response, shown)
        try:
            url = url.join(target)
        except (httpx.InvalidURL, UnicodeError, ValueError):
            raise ToolFailed(f"{shown} leads to something that is not a URL.") from None
    raise ToolFailed(f"{display_path(str(start))} leads from redirect to redirect.")


async def read(response: httpx.Response) -> str:
    """What a person would read there, or what it is if it is not text."""
    url = display_path(str(response.url))
    if not response.is_success:
        code = response.status_code
        phrases = {each.value: f" ({each.phrase})" for each in HTTPStatus}  # not the server's own
        raise ToolFailed(f"{url} answered {code}{phrases.get(code, '')}.")
    return truncated(await text_of(response), MOST_CHARACTERS) or "[The page is empty.]"


async def text_of(response: httpx.Response) -> str:
    url = display_path(str(response.url))
    packed = response.headers.get("content-encoding", "identity").strip().lower()
    if packed not in ("identity", "gzip", "x-gzip", ""):
        raise ToolFailed(f"{url} is packed in a way that was not asked for.")
    body = bytearray()
    try:
        async with aclosing(pieces(response)) as received:
            async for piece in received:
                body += piece
                if len(body) > LARGEST:
                    most = f"{LARGEST:,} bytes, the most that is read"
                    raise ToolFailed(f"{url} is larger than {most}.")
    except httpx.DecodingError:
        raise ToolFailed(f"{url} is said to be packed but cannot be unpacked.") from None
    content_type = response.headers.get("content-type", "text/plain")
    kind = content_type.partition(";")[0].strip().lower()
    if not (kind in PAGES or kind.startswith("text/") or kind.endswith(TEXTS)):
        return f"[{display_path(kind)}, {len(body):,} bytes]"
    text = decoded(bytes(body), content_type).replace("\0", "�")
    if kind in PAGES:
        text = await FILES.run(web_text, text, response.url)
    return text.strip()


# The text of a page, as a person would read it. Why not by a library: docs/decisions/0008.

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
    lines = [line.rstrip() for line in "".join(page.pieces).splitlines()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


class Page(HTMLParser):
    def __init__(self, url: httpx.URL) -> None:
        super().__init__()
        self.url = url
        self.ends_at = monotonic() + PARSING
        self.pieces: list[str] = []
        self.dropping = 0
        self.verbatim = 0
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if monotonic() > self.ends_at:
            raise ToolFailed(
                f"{display_path(str(self.url))} is too entangled: {PARSING:.0f} s were not enough."
            )
        self.dropping += tag in DROPPED
        self.break_line(tag)
        if tag == "pre":
            self.verbatim += 1
        elif tag == "a":
            # Where it leads, whole; nothing for a place in the page or another kind of link.
            href, target = dict(attrs).get("href") or "", ""
            if href and not href.startswith("#"):
                with suppress(httpx.InvalidURL, ValueError):
                    whole = self.url.join(href)
                    target = str(whole) if whole.scheme in ("http", "https") else ""
            self.links.append(target)
            self.write("[" if target else "")
        elif tag == "li":
            self.write("- ")
        elif tag in ("td", "th"):
            self.write(" | ")
        elif heading := HEADING.fullmatch(tag):
            self.write("#" * int(heading[1]) + " ")

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
            self.write(f"]({target})")
        self.break_line(tag)

    def handle_data(self, data: str) -> None:
        if not self.verbatim:
            data = re.sub(r"\s+", " ", data)
            if not self.pieces or self.pieces[-1].endswith(("\n", " ")):
                data = data.lstrip()
        self.write(data)

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        """`<![…` is for XML; the inherited method fails on what it does not know."""
        return self.parse_bogus_comment(i)

    def write(self, text: str) -> None:
        if text and not self.dropping:
            self.pieces.append(text)

    def break_line(self, tag: str) -> None:
        if tag in BLOCKS:
            self.write("\n\n" if tag in SPACED else "\n")
