"""One "hello", noted: prints as JSON what `tests.benchmarks.trace` makes a table of.

A profiler notes each function that is entered, a wrapper each SQL statement, and a context variable
for whom: the request (POST), the worker (turn) or the page's socket (redraw), in whatever task or
thread it happens. One hello before it, in another conversation, fills the caches and is not noted.
"""
# ruff: noqa: E402 - the profiler comes before any thread, Django's set-up before its models

from __future__ import annotations

import asyncio
import contextvars
import json
import os
import shutil
import sys
import threading
from collections import defaultdict
from collections.abc import Awaitable, Callable
from html.parser import HTMLParser
from pathlib import Path
from types import CodeType, FrameType

PARTS = ("POST", "turn", "redraw")
part: contextvars.ContextVar[str] = contextvars.ContextVar("part", default="")
entered: dict[str, set[CodeType]] = defaultdict(set)
statements: dict[str, list[str]] = defaultdict(list)


def note_call(frame: FrameType, event: str, _: object) -> None:
    if event == "call" and (now := part.get()):
        entered[now].add(frame.f_code)


threading.setprofile(note_call)
sys.setprofile(note_call)
os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"

import django

django.setup()

import httpx
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from django.db.backends.signals import connection_created
from django.test import Client

from agents.queue.worker import Worker
from tests.fake_model import say
from tests.world import conversation, person, scripted, until_idle

ROOT = Path(__file__).parents[2]
HOST = "localhost"
ADDRESS = f"http://{HOST}"
Application = Callable[..., Awaitable[None]]
REPLY = "Hello! What shall we do today?"


def note_statement(execute, sql, values, many, context):
    if now := part.get():
        statements[now].append(" ".join(str(sql).split()))
    return execute(sql, values, many, context)


def wrap(connection, **_: object) -> None:
    if note_statement not in connection.execute_wrappers:
        connection.execute_wrappers.append(note_statement)


def doing(name: str) -> contextvars.Context:
    """A context in which everything counts as this part's, whatever tasks it starts."""
    context = contextvars.copy_context()
    context.run(part.set, name)
    return context


class Page(HTMLParser):
    """What a browser needs of the page: the address of its socket, and the form with the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.socket = self.action = ""
        self.fields: dict[str, str] = {}
        self.forms: list[tuple[str, dict[str, str]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        found = [value for value in attributes.values() if value.startswith("/ws/")]
        self.socket = found[0] if found else self.socket
        if tag == "form":
            self.forms.append((attributes.get("action", ""), {}))
        elif tag == "input" and self.forms and "name" in attributes:
            self.forms[-1][1][attributes["name"]] = attributes.get("value", "")
        elif tag == "textarea" and attributes.get("name") == "text" and not self.action:
            self.action, self.fields = self.forms[-1]

    @property
    def seen(self) -> str:
        """The number of the last event that the page shows."""
        return self.socket.rpartition("=")[2]


async def hello(browser: httpx.AsyncClient, application: Application) -> int:
    """One conversation of Alice's; what it passes is noted from the POST on. The socket's frames."""
    c = await asyncio.to_thread(conversation)
    page = Page((await browser.get(f"/c/{c.pk}/")).raise_for_status().text)
    cookies = "; ".join(f"{each.name}={each.value}" for each in browser.cookies.jar)
    headers = [
        (b"cookie", cookies.encode()),
        (b"origin", ADDRESS.encode()),
        (b"host", HOST.encode()),
    ]
    socket = WebsocketCommunicator(redrawn(application), page.socket, headers)
    assert (await socket.connect(timeout=5))[0], "the page's socket is let in"
    await until_quiet(socket)
    entered.clear()
    statements.clear()
    loop = asyncio.get_running_loop()
    sent = {"HX-Request": "true", "Planside-After": page.seen}
    posting = browser.post(page.action, data={**page.fields, "text": "hello"}, headers=sent)
    (await loop.create_task(posting, context=doing("POST"))).raise_for_status()
    await loop.create_task(until_idle(Worker()), context=doing("turn"))
    frames = await until_quiet(socket)
    assert REPLY in "".join(frames), frames
    await socket.disconnect()
    return len(frames)


def redrawn(application: Application) -> Application:
    """What the page's socket does; it begins with an empty context."""

    async def noted(*connection: object) -> None:
        part.set("redraw")
        await application(*connection)

    return noted


async def until_quiet(socket: WebsocketCommunicator) -> list[str]:
    frames = []
    while not await socket.receive_nothing(timeout=0.5, interval=0.02):
        frames.append(await socket.receive_from())
    return frames


async def story() -> int:
    from console.asgi import application

    client = Client()
    await asyncio.to_thread(lambda: client.force_login(person()))
    scripted(say(REPLY), say(REPLY))
    transport = httpx.ASGITransport(application)
    cookies = {name: morsel.value for name, morsel in client.cookies.items()}
    async with httpx.AsyncClient(transport=transport, base_url=ADDRESS, cookies=cookies) as browser:
        await hello(browser, application)
        return await hello(browser, application)


def own(code: CodeType) -> str:
    """`file:function` for what is ours, else nothing; what stands in angle brackets belongs to the
    function around it."""
    path = Path(code.co_filename)
    if not path.is_relative_to(ROOT) or code.co_name.startswith("<"):
        return ""
    file = path.relative_to(ROOT)
    return "" if file.parts[0] in ("tests", ".venv") else f"{file}:{code.co_qualname}"


def main() -> None:
    connection_created.connect(wrap)
    try:
        call_command("migrate", verbosity=0)
        frames = asyncio.run(story())
        functions = {name: sorted(filter(None, map(own, entered[name]))) for name in PARTS}
        noted = {
            name: {"functions": functions[name], "statements": statements[name]} for name in PARTS
        }
        noted["redraw"]["frames"] = frames
        sys.stdout.write(json.dumps(noted))
    finally:
        connections.close_all()
        shutil.rmtree(settings.PLANSIDE_HOME, ignore_errors=True)


if __name__ == "__main__":
    main()
