"""A conversation as it happens: one WebSocket per open page. It only speaks; forms ask.

The socket joins the group first and then sends the present state, so nothing falls in between.
An event says that there is something new to read; what is new is read from the rows, from the
last number this page has got.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Any, ParamSpec, TypeVar
from urllib.parse import parse_qs

from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings

from agents import models
from agents.db import in_db, in_reader
from agents.events import group_of
from console import fragments
from console.form_parsing import EVENT, number
from console.live.sessions import Credential, LiveSession, live_sessions

P = ParamSpec("P")
R = TypeVar("R")

log = logging.getLogger(__name__)

# The page does not come back after the first three; after the last it tries again (base.html names
# it). A server may send 1000 and 3000 to 4999 alone.
SIGN_IN, NOT_YOURS, TOO_MANY, SERVER_ERROR = 4401, 4404, 4429, 4500
Frame = dict[str, Any]

# Seconds between two readings while one thing follows another; the first is shown at once.
BURST = 0.05
# Seconds between news that is not about a plan and its reading.
HEAD_START = 0.012


class Conversation(AsyncWebsocketConsumer):
    """The last event the page has shown is `after`, the last it heard of `told`."""

    after: int = 0
    told: int = 0
    pk: int
    visit: LiveSession | None = None
    reading: asyncio.Task[None] | None = None
    streaming: asyncio.Task[None] | None = None
    growing: dict[int, dict[int, str]]
    is_opening: bool = True
    is_stale: bool = False
    is_urgent: bool = True
    HOT = {"text.streamed": "text_streamed", "conversation.event": "conversation_event"}

    async def dispatch(self, message: Frame) -> None:
        """Messages of the group touch no database here: spare them the hop to its thread."""
        name = self.HOT.get(str(message["type"]))
        if name:
            await getattr(self, name)(message)
        else:
            await super().dispatch(message)

    async def connect(self) -> None:
        self.growing = {}
        self.pk = self.scope["url_route"]["kwargs"]["pk"]
        self.after = after_of(self.scope["query_string"])
        user = self.scope.get("user")
        if user is None or not await in_db(is_theirs, self.pk, user.pk):
            # Closing before accepting is a bare 403 to the browser: accept, then say why.
            await self.accept()
            await self.close(code=NOT_YOURS if user and user.is_authenticated else SIGN_IN)
            return
        if live_sessions().count(user.pk) >= settings.SOCKETS_PER_PERSON:
            await self.accept()
            await self.close(code=TOO_MANY)
            return
        credential = Credential(user.pk, user.password, session_of(self.scope))
        self.visit = LiveSession(credential, partial(self.close, code=SIGN_IN))
        live_sessions().enter(self.visit)
        await self.channel_layer.group_add(group_of(self.pk), self.channel_name)
        await self.accept()
        self.read_soon()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """The page has nothing to say here: forms ask."""

    async def disconnect(self, code: int) -> None:
        if self.visit:
            live_sessions().leave(self.visit)
        await self.channel_layer.group_discard(group_of(self.pk), self.channel_name)
        for task in (self.reading, self.streaming):
            if task:
                task.cancel()

    async def text_streamed(self, frame: Frame) -> None:
        """While one frame is drawn, the next ones become one."""
        self.growing.setdefault(frame["message"], {}).update(frame["blocks"])
        if self.streaming is None or self.streaming.done():
            self.streaming = asyncio.create_task(self.stream())

    async def stream(self) -> None:
        while self.growing:
            message, blocks = self.growing.popitem()
            await self.send(text_data=await streamed(message, tuple(blocks.items())))

    async def conversation_event(self, event: Frame) -> None:
        self.told = max(self.told, event["seq"])
        self.is_urgent = self.is_urgent or event.get("plan", True)
        if self.told > self.after:
            self.read_soon()

    async def catch_up(self) -> None:
        """What a person has sent they see already; drawing it would hold up who answers."""
        told, is_urgent = self.told, self.is_urgent
        if self.is_opening:
            self.is_opening = self.is_stale = self.is_urgent = False
            html = await self.missed()
        elif is_urgent:
            self.is_stale = self.is_urgent = False
            now, html = await shared((self.pk, told), fragments.plan_first, self.pk)
            await self.send(text_data=html)
            html = await shared(
                (self.pk, told, self.after, now.seq), fragments.the_rest, now, self.after
            )
            self.after = max(self.after, now.seq)
        else:
            await asyncio.sleep(HEAD_START)
            self.is_stale, told = False, self.told
            self.after, html = await shared(
                (self.pk, told, self.after), fragments.changes, self.pk, self.after
            )
        await self.send(text_data=html)

    async def missed(self) -> str:
        """What happened before this page listened, text that was saved meanwhile included."""
        self.after, html = await in_reader(fragments.changes, self.pk, self.after, growing=True)
        return html

    def read_soon(self) -> None:
        """One reading at a time; what happens meanwhile makes another one necessary."""
        self.is_stale = True
        if self.reading is None or self.reading.done():
            self.reading = asyncio.create_task(self.read())

    async def read(self) -> None:
        try:
            while self.is_stale:
                await self.catch_up()
                if self.is_stale:  # a burst: what comes together is shown together
                    await asyncio.sleep(BURST)
        except models.Conversation.DoesNotExist:
            await self.close(code=NOT_YOURS)
        except Exception:
            log.exception("conversation %s could not be shown", self.pk)
            await self.close(code=SERVER_ERROR)


def session_of(scope: Any) -> str:
    session = scope.get("session")
    return str(session.session_key or "") if session else ""


# What is read and drawn once for all pages that stand at the same place and heard the same.
_shared: dict[tuple[object, ...], asyncio.Task[Any]] = {}
MOST_SHARED = 32


async def shared(
    place: tuple[object, ...], draw: Callable[P, R], *args: P.args, **kwargs: P.kwargs
) -> R:
    if place not in _shared:
        while len(_shared) >= MOST_SHARED:
            _shared.pop(next(iter(_shared)))
        _shared[place] = asyncio.ensure_future(in_reader(draw, *args, **kwargs))
    drawing = _shared[place]
    try:
        drawn: R = await asyncio.shield(drawing)
    except Exception:  # whoever comes next tries anew
        if _shared.get(place) is drawing:
            del _shared[place]
        raise
    return drawn


async def streamed(message: int, blocks: tuple[tuple[int, str], ...]) -> str:
    """Drawn beside the event loop, once for all pages that show the message."""
    return await shared(("text", message, blocks), fragments.streamed, message, blocks)


def after_of(query: bytes) -> int:
    text = parse_qs(query.decode("ascii", "replace")).get("after", [""])[0]
    return number(text, EVENT) or 0


def is_theirs(pk: int, user_pk: int) -> bool:
    mine = models.Conversation.objects.filter(pk=pk, owner_id=user_pk, parent_call=None)
    return mine.exists()
