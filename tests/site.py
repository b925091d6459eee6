"""The product's real server in a thread of the tests' process, one for each worker of pytest.

Nothing happens in it by itself: turns run when a test drives them, or while it is `working()`.
Between two tests it is emptied. Numbers go on, so that a late request of the test before is about
something that is gone, and never about what the next one has made.
"""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.db import connection
from django.http import HttpRequest
from twisted.internet import reactor, tcp

from agents import http
from agents.db import in_db
from tests.database import empty_tables, migrated
from tests.fake_model import ScriptedTransport
from tests.inner import (
    BACKEND,
    RESTARTS,
    LimitedSocket,
    Worker,
    address_of,
    event_loop,
    events,
    keep_address,
    listen,
    local_owner,
    make_ready,
    mcp,
    prepare_home,
    signin_path,
    static_files,
)
from tests.inner import ServerServer as Server

P = ParamSpec("P")
R = TypeVar("R")

HOST = "127.0.0.1"
PATIENCE = 10.0  # seconds; what takes longer hangs


def settings_for(folder: Path) -> dict[str, object]:
    """What differs for a server within this folder from the settings of the other tests."""
    return {
        "PLANSIDE_HOME": folder / "home",
        "STATIC_ROOT": folder / "static",
        "STORAGES": settings.COLLECTED,
        "WHITENOISE_USE_FINDERS": False,
    }


class Site:
    """A server on a home of its own, where only its owner is known."""

    def __init__(self) -> None:
        self.home = Path(settings.PLANSIDE_HOME)
        self.folder, self.homes = self.home.parent, count(1)
        shutil.copyfile(migrated(), connection.settings_dict["NAME"])
        make_ready()
        static_files.collect()
        self.is_up = threading.Event()
        listener = listen(HOST, 0)
        self.address = address_of(listener)
        self.server = Server(listener, None, self.is_up.set)
        self.server.signal_handlers = False
        self.worker = Worker()
        self.model = ScriptedTransport()
        self.thread = threading.Thread(target=self.server.run, name="site", daemon=True)

    def start(self) -> None:
        self.thread.start()
        assert self.is_up.wait(PATIENCE), "the server did not start"
        self.loop = event_loop()
        self.reset()

    def end(self) -> None:
        self.wait_for(self.end_everything())
        reactor.callFromThread(reactor.stop)
        self.thread.join(PATIENCE)
        self.server.listener.close()

    # Acting in it

    def do(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call it on the server's database thread; open pages are told of what it writes."""
        return self.wait_for(self.done(function, *args, **kwargs))

    async def done(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return await in_db(function, *args, **kwargs)
        finally:
            await events.wait_until_sent()

    def wait_for(self, coroutine: Coroutine[Any, Any, R], seconds: float = 2 * PATIENCE) -> R:
        """Run this on the server's loop, and give back what it gives."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(seconds)

    # Running turns

    def drive(self) -> None:
        """Run turns until none is due, or a silent model is all that is waited for."""
        self.wait_for(self.driven())

    async def driven(self) -> None:
        async with asyncio.timeout(PATIENCE):
            while True:
                await self.worker.check_queue()
                tasks = [task for _, task in self.worker.running.values() if not task.done()]
                if len(tasks) <= self.model.script.silent:
                    break
                # A model falls silent without a word.
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED, timeout=0.01)
        await events.wait_until_sent()

    @contextmanager
    def working(self) -> Iterator[None]:
        """Let a worker run as in production, where live work is what is tested."""
        self.loses_its_worker()
        running = asyncio.run_coroutine_threadsafe(self.worker.run(), self.loop)
        try:
            yield
        finally:
            self.wait_for(self.worker.stop())
            running.result(PATIENCE)
            self.worker = Worker()

    def loses_its_worker(self) -> None:
        """What ran goes back into the queue, at its checkpoint."""
        self.wait_for(self.worker.stop())
        self.worker = Worker()

    # Going and coming back, as a page sees it

    def goes_away(self, says: int | None = RESTARTS) -> None:
        """Answer nobody; open sockets are told why, or nothing by a server that was killed."""
        self.wait_for(self.gone(says))

    async def gone(self, says: int | None) -> None:
        self.is_up.clear()
        await self.server.port.stopListening().asFuture(self.loop)
        self.server.listener.close()
        hang_up(self.server, but=LimitedSocket if says else ())
        sockets = [each for each in self.server.connections if isinstance(each, LimitedSocket)]
        for each in sockets if says else ():
            each.say_goodbye(says)
        await self.ended(sockets if says else [])
        hang_up(self.server)

    async def ended(self, connections: Iterable[Any], within: float = 1.0) -> None:
        """Wait until what serves these has come to its end, or see to it."""
        served = [self.server.connections[each] for each in connections]
        tasks = [each.get("application_instance") for each in served]
        if running := [each for each in tasks if each is not None and not each.done()]:
            _, late = await asyncio.wait(running, timeout=within)
            for each in late:
                each.cancel()

    def comes_back(self) -> None:
        """Listen at the same address again."""
        self.wait_for(self.back())

    async def back(self) -> None:
        listener = self.server.listener = listen(HOST, int(urlsplit(self.address).port or 0))
        listener.setblocking(False)
        self.server.port = reactor.adoptStreamPort(
            listener.fileno(), listener.family, self.server.http_factory
        )
        self.is_up.set()

    # Between two tests

    def reset(self) -> None:
        """End what goes on and empty rows and files; then only the owner is there."""
        if not self.is_up.is_set():
            self.comes_back()
        self.wait_for(self.end_everything())
        self.model = ScriptedTransport()
        self.__dict__.pop("link", None)
        self.do(empty_tables)
        self.do(self.move_house)

    async def end_everything(self) -> None:
        """Sockets and requests of pages that are gone, turns, and connections to others."""
        await self.worker.stop()
        self.worker = Worker()
        hang_up(self.server)
        await self.ended(self.server.connections)
        await mcp.aclose_all()
        await http.aclose_all()
        await events.wait_until_sent()

    def move_house(self) -> None:
        """To a home in which nothing is; what is still written late is written to the one before. A
        late request of a page that is closed, too, ends the session of that page, and no other."""
        shutil.rmtree(self.home, ignore_errors=True)
        number = next(self.homes)
        self.home = settings.PLANSIDE_HOME = self.folder / f"home-{number}"
        settings.SESSION_COOKIE_NAME = f"sessionid-{number}"
        prepare_home()
        # For commands in processes of their own.
        (self.home / "planside.sqlite3").symlink_to(connection.settings_dict["NAME"])
        (self.home / "secret.key").write_text(settings.SECRET_KEY)
        keep_address(self.address)

    # Signing in

    @property
    def owner(self) -> User:
        return self.do(local_owner)

    @cached_property
    def link(self) -> str:
        """What a server prints when it starts: it signs in once."""
        return self.address + self.do(lambda: signin_path(local_owner()))

    def session(self) -> dict[str, Any]:
        """The cookie of a new session of the owner's."""
        return {
            "name": settings.SESSION_COOKIE_NAME,
            "value": self.do(new_session),
            "domain": HOST,
            "path": "/",
            "expires": -1,
            "httpOnly": True,
            "secure": False,
            "sameSite": "Lax",
        }


def new_session() -> str:
    request = HttpRequest()
    request.session = SessionStore()
    login(request, local_owner(), backend=BACKEND)
    request.session.save()
    return str(request.session.session_key)


def hang_up(server: Server, but: Any = ()) -> None:
    """Drop every connection: those that wait for a request, and those that wait for an answer."""
    for each in reactor.getReaders():
        if isinstance(each, tcp.Server) and not isinstance(each.protocol, but):
            each.abortConnection()
    for each, about in list(server.connections.items()):
        is_request = hasattr(each, "channel") and "disconnected" not in about
        if is_request and each.channel:
            each.channel.forceAbortClient()
