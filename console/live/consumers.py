"""A conversation as it happens: one WebSocket per open page. It speaks; forms ask.

The socket joins the group first and then sends the present state, so nothing falls in between.
An event says that there is something new to read; what is new is read from the rows, from the
last number this page has got. What a person does on the page is read the same way: its POST is
answered with the number of the last event, and the page names that here if it has not come yet.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, ParamSpec, TypeVar, cast
from urllib.parse import parse_qs

from channels.generic.websocket import AsyncWebsocketConsumer
from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http.request import split_domain_port, validate_host

from agents import models
from agents.db import in_db, in_reader
from agents.events import group_of, text_group_of
from agents.normalization import split_url
from console import fragments
from console.form_parsing import EVENT, number
from console.language import drawn_in
from console.live.sessions import Credential, LiveSession, live_sessions

P = ParamSpec("P")
R = TypeVar("R")

log = logging.getLogger(__name__)

# The page does not come back after the first three; after the last it tries again (base.html names
# it). A server may send 1000 and 3000 to 4999 alone.
SIGN_IN, NOT_YOURS, TOO_MANY, SERVER_ERROR = 4401, 4404, 4429, 4500
Frame = dict[str, Any]

# Seconds between two readings while one thing follows another; the first is shown at once, and so
# is what the page waits for.
BURST = 0.05

# Of pages of one conversation. Drawn for each page, a plan's change takes 1.7 times the processor
# time with 3 pages open, and 6 times with 20.
drawing: dict[Any, asyncio.Task[Any]] = {}


class SameOrigin:
    """Lets a socket through whose Origin is the host it asks, which has to be one of ours.

    A browser sends the cookie along whichever page opens the socket, and cookies know no ports:
    what another program serves on this machine is another origin, and so is every other site.
    """

    def __init__(self, application: Any) -> None:
        self.application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        allowed = is_allowed(headers.get(b"origin", ""), headers.get(b"host", ""))
        application = self.application if allowed else WebsocketDenier()
        await application(scope, receive, send)


def is_allowed(origin: str, host: str) -> bool:
    domain, _ = split_domain_port(host)
    if not domain or not validate_host(domain, settings.ALLOWED_HOSTS):
        return False
    if origin in settings.CSRF_TRUSTED_ORIGINS:
        return True
    try:
        parts = split_url(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


class Conversation(AsyncWebsocketConsumer):
    """`after` is the last event the page has been sent, `latest` the last that was announced,
    `awaited` the one that the page has named and waits for."""

    after: int = 0
    latest: int = 0
    awaited: int = 0
    language: str  # of the page
    pk: int
    session: LiveSession | None = None
    reading: asyncio.Task[None] | None = None
    streaming: asyncio.Task[None] | None = None
    hurry: asyncio.Event  # set while the page waits for what it has named
    growing: dict[int, dict[int, str]]  # blocks that were streamed and are not sent, by message
    heard: dict[int, str]  # how far calls are, not sent yet
    is_let_in: bool = False
    is_opening: bool = True
    is_opened: bool = False  # the state was sent, which would take back what had grown since
    is_stale: bool = False
    is_urgent: bool = True
    HOT = {
        "text.streamed": "text_streamed",
        "call.progress": "call_progress",
        "conversation.event": "conversation_event",
        "websocket.receive": "websocket_receive",
    }

    async def dispatch(self, message: Frame) -> None:
        """These messages touch no database here: spare them the hop to its thread.

        Before its end a socket that was closed still hears: what was sent to it, and its group.
        """
        name = self.HOT.get(str(message["type"]))
        if name is None:
            await super().dispatch(message)
        elif self.is_let_in:
            await getattr(self, name)(message)

    async def connect(self) -> None:
        self.growing, self.heard = {}, {}
        self.hurry = asyncio.Event()
        self.pk = self.scope["url_route"]["kwargs"]["pk"]
        self.after, self.language = asked_of(self.scope["query_string"])
        user = self.scope.get("user")
        own = models.Conversation.objects.filter(pk=self.pk, parent_call=None, deleted_at=None)
        if user is None or not await in_db(own.filter(owner_id=user.pk).exists):
            await self.refuse(NOT_YOURS if user and user.is_authenticated else SIGN_IN)
            return
        for group in (group_of(self.pk), text_group_of(self.pk)):
            await self.channel_layer.group_add(group, self.channel_name)
        if live_sessions.pages_of(user.pk) >= settings.SOCKETS_PER_PERSON:
            await self.refuse(TOO_MANY)
            return
        session = self.scope.get("session")
        key = str(session.session_key or "") if session else ""
        credential = Credential(user.pk, user.password, key)
        self.session = LiveSession(credential, self.pk, self.let_go, self.on_event_number)
        live_sessions.add(self.session)
        await self.accept()
        self.is_let_in = True
        self.read_soon()

    async def refuse(self, code: int) -> None:
        """Closing before accepting is a bare 403 to the browser: accept, then say why."""
        await self.accept()
        await self.close(code=code)

    async def let_go(self, is_signed_in: bool) -> None:
        self.stop_drawing()
        await self.close(code=NOT_YOURS if is_signed_in else SIGN_IN)

    async def close(self, code: int | None = None, reason: str | None = None) -> None:
        self.is_let_in = False
        await super().close(code, reason)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """The event that a POST was answered with: read at once, announced or not."""
        named = number(text_data, EVENT) or 0
        if named <= self.after:
            return
        self.awaited = named
        self.hurry.set()
        self.on_event_number(named)

    def on_event_number(self, seq: int) -> None:
        """The number of an event that may not have been announced here."""
        if seq > max(self.latest, self.after):
            self.latest = seq
            self.read_soon()

    async def disconnect(self, code: int) -> None:
        if self.session:
            live_sessions.remove(self.session)
        for group in (group_of(self.pk), text_group_of(self.pk)):
            await self.channel_layer.group_discard(group, self.channel_name)
        self.stop_drawing()

    def stop_drawing(self) -> None:
        for task in (self.reading, self.streaming):
            if task:
                task.cancel()

    async def text_streamed(self, frame: Frame) -> None:
        """While one frame is drawn, the next ones become one."""
        self.growing.setdefault(frame["message"], {}).update(frame["blocks"])
        self.stream_soon()

    async def call_progress(self, frame: Frame) -> None:
        self.heard[frame["call"]] = frame["words"]
        self.stream_soon()

    def stream_soon(self) -> None:
        if self.is_opened and (self.streaming is None or self.streaming.done()):
            self.streaming = asyncio.create_task(self.stream())

    async def stream(self) -> None:
        """Drawn beside the event loop."""
        while self.growing or self.heard:
            if self.growing:
                message, growing = self.growing.popitem()
                html = await self.drawn(fragments.streamed, message, tuple(growing.items()))
            else:
                html = await self.drawn(fragments.progress, *self.heard.popitem())
            await self.send(text_data=html)

    async def drawn(self, draw: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """In the page's language, on a thread for reading."""
        return await in_reader(drawn_in, self.language, partial(draw, *args, **kwargs))

    async def drawn_once(self, seq: int, draw: Callable[..., R], *args: object) -> R:
        """The same for all pages that ask meanwhile, show the same and know of the same last event;
        `seq` is that of the state which is drawn, if it was read before."""
        place = self.pk, self.language, self.after, self.latest
        key = asyncio.get_running_loop(), draw, place, seq
        if key not in drawing:
            drawing[key] = asyncio.create_task(self.drawn(draw, *args))
            drawing[key].add_done_callback(lambda _: drawing.pop(key))
        return cast(R, await asyncio.shield(drawing[key]))

    async def conversation_event(self, event: Frame) -> None:
        self.latest = max(self.latest, event["seq"])
        self.is_urgent = self.is_urgent or event.get("plan", True)
        if self.latest > self.after:
            self.read_soon()

    def read_soon(self) -> None:
        """One reading at a time; what happens meanwhile makes another one necessary."""
        self.is_stale = True
        if self.reading is None or self.reading.done():
            self.reading = asyncio.create_task(self.read())

    async def read(self) -> None:
        try:
            while self.is_stale:
                await self.send_changes()
                is_late, self.awaited = self.awaited > self.after, 0
                if self.is_stale and not is_late:
                    self.hurry.clear()
                    with suppress(TimeoutError):  # a burst: what comes together is shown together
                        await asyncio.wait_for(self.hurry.wait(), BURST)
        except models.Conversation.DoesNotExist:
            await self.close(code=NOT_YOURS)
        except Exception:
            log.exception("conversation %s could not be shown", self.pk)
            await self.close(code=SERVER_ERROR)

    async def send_changes(self) -> None:
        """The state at first; of a changed plan what is seen at a glance first, then the rest."""
        is_opening, is_urgent = self.is_opening, self.is_urgent
        self.is_stale = self.is_opening = self.is_urgent = False
        if is_opening:
            # What happened before this page listened, text that was saved meanwhile included.
            self.after, html = await self.drawn(
                fragments.changes, self.pk, self.after, growing=True
            )
        elif is_urgent:
            now, html = await self.drawn_once(0, fragments.plan_first, self.pk)
            await self.send(text_data=html)
            html = await self.drawn_once(now.seq, fragments.the_rest, now, self.after)
            self.after = max(self.after, now.seq)
        else:
            self.after, html = await self.drawn_once(0, fragments.changes, self.pk, self.after)
        await self.send(text_data=html)
        if is_opening:
            self.is_opened = True
            self.stream_soon()


def asked_of(query: bytes) -> tuple[int, str]:
    """The last event that the page shows, and its language."""
    asked = parse_qs(query.decode("ascii", "replace"))
    after, language = (asked.get(name, [""])[0] for name in ("after", "language"))
    return number(after, EVENT) or 0, language
