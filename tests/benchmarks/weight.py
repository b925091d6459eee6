"""What a browser takes in at the first visit of a page, and how long a start takes."""

import re
import time

import httpx

from tests.console.serving import Started, first_page

NAMED = re.compile(r'<(?:link|script|img|use)\b[^>]*?\b(?:href|src)="(/(?:static|texts)/[^"#]+)')
# The typeface comes beside the page and is not waited for.
FONT = ".woff2"


def of_pages(server):
    """By page: compressed kB of all but the typeface, and how many requests it takes."""
    with httpx.Client(base_url=server.address, headers={"Accept-Encoding": "gzip"}) as browser:
        browser.get(server.link)
        chat = first_page(browser, server)
        pages = {"chat": chat, "plans": "/plans/", "settings": "/settings/agents/"}
        return {name: of_page(browser, path) for name, path in pages.items()}


def of_page(browser, path):
    named = named_in(browser.get(path).text)
    sizes = [size(browser, each) for each in (path, *named) if not each.endswith(FONT)]
    return sum(sizes) / 1000, 1 + len(named)


def named_in(page):
    """Addresses of all that a page has a browser ask for: style sheets, scripts, icons, typefaces."""
    return sorted(set(NAMED.findall(page)))


def size(browser, path):
    with browser.stream("GET", path) as answer:
        return sum(len(piece) for piece in answer.iter_raw())


def second_start(home, **environment):
    """Seconds until the ready line, in a home that is already there."""
    began = time.monotonic()
    server = Started(home, **environment)
    took = time.monotonic() - began
    server.end()
    return took
