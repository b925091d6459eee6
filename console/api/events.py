"""/api/conversations/{id}/events: what happened, as a list or as a live tail."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Annotated

from channels.layers import BaseChannelLayer, get_channel_layer
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase, JsonResponse, StreamingHttpResponse
from ninja import Query, Router

from agents.db import in_db
from agents.errors import RateLimited
from agents.events import (
    MOST_READ,
    Document,
    document_of,
    group_of,
    read_after,
    seq_of,
    text_group_of,
)
from console.api.auth import conversation_of, person
from console.api.live_texts import LiveTexts
from console.api.shapes import EventShape, Page, answers
from console.form_parsing import EVENT, number
from console.live.sessions import Credential, LiveSession, credential_of, live_sessions

router = Router(tags=["conversations"])
# Seconds. The layer loses a message at times, so a tail looks by itself as well; the comment it
# then sends tells proxies, and us, whether anybody is still there.
LOOK_EVERY = 15
TEXT_STREAMED, CALL_PROGRESS = "text.streamed", "call.progress"
TOO_MANY = "You have {:,} event streams open: close one, then open another."
RETRY_AFTER = 5  # seconds


@router.get("/{id}/events", response=answers(Page[EventShape], 404))
def events(
    request: HttpRequest, id: int, after: Annotated[int, Query(ge=0)] = 0, text: bool = False
) -> HttpResponseBase:
    """Events after a seq; with `Accept: text/event-stream` they keep coming, id = seq.

    With `text=1` the stream has the texts of replies too, while they are being written, as events
    of the type `text` without an id: {message, kind: text or reasoning, from, text, done}. From the
    code point `from` on, `text` takes the place of what was there; after a lost connection the
    first piece of a message begins at 0. Those of the type `progress` say how far a tool call is,
    at most twice a second: {call, progress}.
    """
    conversation = conversation_of(request, id)
    if "text/event-stream" in request.headers.get("Accept", ""):
        # A browser that lost the stream names the last id it saw.
        after = max(after, number(request.headers.get("Last-Event-ID", ""), EVENT) or 0)
        texts = LiveTexts(conversation.pk) if text else None
        credential = credential_of(request, person(request))
        if live_sessions.streams_of(credential.user_id) >= settings.SOCKETS_PER_PERSON:
            raise RateLimited(TOO_MANY.format(settings.SOCKETS_PER_PERSON), RETRY_AFTER)
        return StreamingHttpResponse(
            tail(conversation.pk, after, credential, texts),
            content_type="text/event-stream; charset=utf-8",
            headers={"Cache-Control": "private, no-cache", "X-Accel-Buffering": "no"},
        )
    rows = conversation.events.filter(seq__gt=after).order_by("seq")
    items = [document_of(event) for event in rows[:MOST_READ]]
    return JsonResponse({"items": items, "count": rows.count()})


async def tail(
    conversation_id: int, after: int, credential: Credential, texts: LiveTexts | None = None
) -> AsyncIterator[str]:
    """Listen, send what is there, then what comes, until the reader leaves or may not read on.

    What comes is told with its announcement; where one is missing, the rows are read. The reader's
    leaving cancels this generator. All readers of a process share one database connection, so they
    may be many.
    """
    layer = get_channel_layer()
    assert layer is not None  # the settings always name one
    of_texts = [] if texts is None else [text_group_of(conversation_id)]
    groups = [group_of(conversation_id), *of_texts]
    is_over = False
    waiting: asyncio.Timeout | None = None

    async def end(_: bool) -> None:
        nonlocal is_over
        is_over = True
        if waiting is not None:
            with suppress(RuntimeError):  # the wait is over already
                waiting.reschedule(0)

    session = LiveSession(credential, conversation_id, end)
    async with listening(layer, groups, session) as channel:
        # Several that were asked for at once may all have been let in.
        is_over = live_sessions.streams_of(credential.user_id) > settings.SOCKETS_PER_PERSON
        yield ": listening\n\n"  # no header goes out before the first piece
        if texts is not None and (piece := await texts.being_written()):
            yield piece
        news: Document = {}
        while not is_over:
            piece, after, is_all = await piece_after(news, conversation_id, after, texts)
            if piece:
                yield piece
            news = {}
            if not is_all:
                continue
            try:
                async with asyncio.timeout(0 if is_over else LOOK_EVERY) as waiting:
                    news = await newer(layer, channel, after)
            except TimeoutError:
                if not is_over:
                    yield ": still here\n\n"


@asynccontextmanager
async def listening(
    layer: BaseChannelLayer, groups: list[str], session: LiveSession
) -> AsyncIterator[str]:
    """A channel that hears what these groups are told, while the session is looked after."""
    channel: str = await layer.new_channel()
    for group in groups:
        await layer.group_add(group, channel)
    live_sessions.add(session)
    try:
        yield channel
    finally:
        live_sessions.remove(session)
        for group in groups:
            await layer.group_discard(group, channel)


async def piece_after(
    news: Document, conversation_id: int, after: int, texts: LiveTexts | None
) -> tuple[str, int, bool]:
    """What to send upon news, the seq that the reader then has, and whether that is all for now."""
    if texts is not None and news.get("type") == TEXT_STREAMED:
        return await texts.after_frame(news), after, True
    if news.get("type") == CALL_PROGRESS:
        data = json.dumps({"call": news["call"], "progress": news["words"]})
        return f"event: progress\ndata: {data}\n\n", after, True
    brought = events_in(news, after)
    events = brought if follow(brought, after) else await in_db(read_events, conversation_id, after)
    if not events:
        return "", after, True
    texts_too = await texts.after_events(events) if texts is not None else ""
    piece = "".join(map(frame_of, events)) + texts_too
    return piece, seq_of(events[-1]), len(events) < MOST_READ


def read_events(conversation_id: int, after: int) -> list[Document]:
    return [document_of(event) for event in read_after(conversation_id, after)]


async def newer(layer: BaseChannelLayer, channel: str, after: int) -> Document:
    """The next frame of text or of progress, or announcement of something newer."""
    while True:
        message: Document = await layer.receive(channel)
        if message["type"] in (TEXT_STREAMED, CALL_PROGRESS) or seq_of(message) > after:
            return message


def events_in(news: Document, after: int) -> list[Document]:
    """What an announcement tells; nothing if it only says that there is something."""
    brought = news.get("events")
    return (
        [event for event in brought if seq_of(event) > after] if isinstance(brought, list) else []
    )


def follow(events: list[Document], after: int) -> bool:
    """Whether they are the next ones, with none missing between."""
    numbers = list(map(seq_of, events))
    return bool(events) and numbers == list(range(after + 1, after + 1 + len(events)))


def frame_of(event: Document) -> str:
    return f"id: {event['seq']}\nevent: {event['type']}\ndata: {json.dumps(event)}\n\n"
