"""What a browser takes in at the first visit of a page, and how long a start takes."""

import re
import time

import httpx

from tests.console.serving import Started, first_page

ASKED = re.compile(r'(?:href|src)="(/static/[^"]+)"')
# The typeface comes beside the page and is not waited for.
WEIGHED = (".css", ".js")


def of_pages(server):
    """By page: compressed kB of HTML, style sheet and scripts, and how many requests it takes."""
    with httpx.Client(base_url=server.address, headers={"Accept-Encoding": "gzip"}) as browser:
        browser.get(server.link)
        chat = first_page(browser, server)
        pages = {"chat": chat, "plans": "/plans/", "settings": "/settings/agents/"}
        return {name: of_page(browser, path) for name, path in pages.items()}


def of_page(browser, path):
    asked = set(ASKED.findall(browser.get(path).text))
    weighed = [path, *(each for each in asked if each.endswith(WEIGHED))]
    return sum(size(browser, each) for each in weighed) / 1000, 1 + len(asked)


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
