"""What a browser takes in at the first visit, and how long a start takes."""

import re
import time

import httpx

from tests.console.serving import Started

ASKED = re.compile(r'(?:href|src)="(/static/[^"]+)"')
IMPORTED = re.compile(rb'from "\\./([^"]+)"')


def of_page(server):
    """Compressed kB of style sheets and scripts, those that scripts import included."""
    with httpx.Client(follow_redirects=True, headers={"Accept-Encoding": "gzip"}) as browser:
        wanted = set(ASKED.findall(browser.get(server.link).text))
        weight, seen = 0, set()
        while wanted:
            path = wanted.pop()
            seen.add(path)
            with browser.stream("GET", server.address + path) as answer:
                weight += sum(len(piece) for piece in answer.iter_raw())
            if path.endswith(".js") and "/vendor/" not in path:
                names = IMPORTED.findall(browser.get(server.address + path).content)
                folder = path.rpartition("/")[0]
                wanted |= {f"{folder}/{name.decode()}" for name in names} - seen
        return weight / 1000


def second_start(home, **environment):
    """Seconds until the ready line, in a home that is already there."""
    began = time.monotonic()
    server = Started(home, **environment)
    took = time.monotonic() - began
    server.end()
    return took
