"""The tool that reads a page of the web, and only of the web."""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus

import httpx
from pydantic import BaseModel, Field

from agents.charsets import decoded
from agents.tools.base import Tool, ToolFailed, ToolResult, truncated, typed_tool
from agents.tools.confinement import display_path
from agents.tools.html_to_text import web_text
from agents.tools.ssrf_guard import Guard, PinnedTransport, Resolver, ask_system

SECONDS = 30  # for everything: names, redirects, the whole page
SILENCE = 10.0  # seconds without a byte
LARGEST = 2_000_000  # bytes, unpacked
MOST_CHARACTERS = 59_000
MOST_REDIRECTS = 5
LONGEST_URL = 8_000
REDIRECTS = {301, 302, 303, 307, 308}
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

    async def run(asked: FetchUrl) -> ToolResult:
        return await fetch(asked.url.strip(), PinnedTransport(guard, tls))

    return [typed_tool("fetch_url", FetchUrl, run, idempotent=True)]


async def fetch(address: str, transport: PinnedTransport) -> ToolResult:
    """The text at a URL, within the limits of time and size."""
    url = parsed(address)
    try:
        async with asyncio.timeout(SECONDS), opened(transport) as client:
            return await follow(client, url)
    except TimeoutError:
        raise ToolFailed(f"{display_path(str(url))} was not there within {SECONDS} s.") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ToolFailed(f"{display_path(str(url))} {reason(error)}.") from None


def parsed(address: str) -> httpx.URL:
    if len(address) > LONGEST_URL:
        raise ToolFailed(f"The URL is too long: up to {LONGEST_URL:,} characters are taken.")
    try:
        return httpx.URL(address)
    except (httpx.InvalidURL, UnicodeError, ValueError):
        raise ToolFailed(f"{display_path(address)} is not a URL.") from None


@asynccontextmanager
async def opened(transport: PinnedTransport) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(
        transport=transport, timeout=SILENCE, headers=HEADERS, trust_env=False
    ) as client:
        yield client


async def follow(client: httpx.AsyncClient, start: httpx.URL) -> ToolResult:
    """Redirects are followed here, each through the guard like the first; where they lead is said

    in front of the text, and not in its body.
    """
    url = start
    for _ in range(MOST_REDIRECTS + 1):
        client.cookies.clear()
        async with client.stream("GET", url) as response:
            target = response.headers.get("location")
            if response.status_code not in REDIRECTS or target is None:
                text = await read(response)
                told = text if url == start else f"[{display_path(str(url))}]\n\n{text}"
                return ToolResult(told, body=text)
        url = joined(url, target)
    raise ToolFailed(f"{display_path(str(start))} leads from redirect to redirect.")


def joined(url: httpx.URL, target: str) -> httpx.URL:
    try:
        return url.join(target)
    except (httpx.InvalidURL, UnicodeError, ValueError):
        raise ToolFailed(
            f"{display_path(str(url))} leads to something that is not a URL."
        ) from None


async def read(response: httpx.Response) -> str:
    """What a person would read there, or what it is if it is not text."""
    url = display_path(str(response.url))
    if not response.is_success:
        raise ToolFailed(f"{url} answered {status(response.status_code)}.")
    said = response.headers.get("content-type", "text/plain")
    kind = said.partition(";")[0].strip().lower()
    body = await within_limit(response, url)
    if not is_text(kind):
        return f"[{display_path(kind)}, {len(body):,} bytes]"
    text = decoded(body, said).replace("\0", "�")
    if kind in PAGES:
        text = await asyncio.to_thread(web_text, text, response.url)
    return truncated(text.strip(), MOST_CHARACTERS) or "[The page is empty.]"


def status(code: int) -> str:
    """In our words: the server's may be anything."""
    known = {each.value: each.phrase for each in HTTPStatus}
    return f"{code} ({known[code]})" if code in known else str(code)


def is_text(kind: str) -> bool:
    return kind in PAGES or kind.startswith("text/") or kind.endswith(TEXTS)


async def within_limit(response: httpx.Response, url: str) -> bytes:
    """The body, unpacked piece by piece, so that a small answer cannot become a huge one."""
    packed = response.headers.get("content-encoding", "identity").strip().lower()
    if packed not in ("identity", "gzip", "x-gzip", ""):
        raise ToolFailed(f"{url} is packed in a way that was not asked for.")
    unpack = zlib.decompressobj(47).decompress if "gzip" in packed else None
    body = bytearray()
    try:
        async for chunk in response.aiter_raw():
            body += unpack(chunk, LARGEST + 1) if unpack else chunk
            if len(body) > LARGEST:
                raise ToolFailed(f"{url} is larger than {LARGEST:,} bytes, the most that is read.")
    except zlib.error:
        raise ToolFailed(f"{url} is said to be packed but cannot be unpacked.") from None
    return bytes(body)


def reason(error: Exception) -> str:
    """Why there was no answer; without the system's words, which may name an address."""
    if isinstance(error, httpx.TimeoutException):
        return "did not answer in time"
    if isinstance(error, httpx.ConnectError):
        bad = "CERTIFICATE_VERIFY_FAILED" in str(error)
        return "has a certificate that is not valid" if bad else "could not be reached"
    if isinstance(error, httpx.RemoteProtocolError):
        return "did not answer as a web server does"
    return "could not be fetched"
