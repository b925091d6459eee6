"""/api/conversations/{id}/events: what happened, as a list or as a live tail."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from math import inf
from time import monotonic
from typing import Annotated

from channels.db import database_sync_to_async
from channels.layers import BaseChannelLayer, get_channel_layer
from django.http import HttpRequest, HttpResponseBase, JsonResponse, StreamingHttpResponse
from ninja import Query, Router

from agents.events import group_of, read_after
from agents.models import Conversation, Event
from console.api.auth import person
from console.api.lookup import conversation_of
from console.api.shapes import EventShape, Page, answers
from console.expected_version import EVENT, number
from console.live.sessions import Credential, credential_of, still_good

router = Router(tags=["conversations"])
# What one answer brings at most; the next one goes on after its last seq.
MOST_EVENTS = 1000
# Seconds. The layer loses a message at times, so a tail looks by itself as well; the comment it
# then sends tells proxies, and us, whether anybody is still there.
LOOK_EVERY = 15


@router.get("/{id}/events", response=answers(Page[EventShape], 404))
def events(
    request: HttpRequest, id: int, after: Annotated[int, Query(ge=0)] = 0
) -> HttpResponseBase:
    """Events after a seq; with `Accept: text/event-stream` they keep coming, id = seq."""
    conversation = conversation_of(request, id)
    if "text/event-stream" in request.headers.get("Accept", ""):
        credential = credential_of(request, person(request))
        return live(conversation, resume_after(request, after), credential)
    rows = conversation.events.filter(seq__gt=after).order_by("seq")
    items = [shape(event) for event in rows[:MOST_EVENTS]]
    return JsonResponse({"items": items, "count": rows.count()})


def resume_after(request: HttpRequest, after: int) -> int:
    """A browser that lost the stream names the last id it saw."""
    last = request.headers.get("Last-Event-ID", "")
    return max(after, number(last, EVENT) or 0)


def live(conversation: Conversation, after: int, credential: Credential) -> StreamingHttpResponse:
    response = StreamingHttpResponse(
        tail(conversation.pk, after, credential), content_type="text/event-stream; charset=utf-8"
    )
    response.headers["Cache-Control"] = "no-cache"
    response.headers["X-Accel-Buffering"] = "no"
    return response


async def tail(
    conversation_id: int, after: int, credential: Credential | None = None
) -> AsyncIterator[str]:
    """Listen, send what is there, then what comes, until the reader leaves or it is deleted.

    The reader's leaving cancels this generator; a deleted conversation ends it, and so does the
    end of the session or token it was opened with. Between two looks no database connection is
    held, so readers may be many.
    """
    layer = the_layer()
    channel = await layer.new_channel()
    await layer.group_add(group_of(conversation_id), channel)
    try:
        yield ": listening\n\n"  # no header goes out before the first piece
        looked_at = -inf
        while True:
            if monotonic() - looked_at >= LOOK_EVERY:
                looked_at = monotonic()
                if not await may_go_on(conversation_id, credential):
                    return
            while found := await look(conversation_id, after, MOST_EVENTS):
                after = found[-1].seq
                yield "".join(frame(event) for event in found)
                if len(found) < MOST_EVENTS:
                    break
            if not await something_new(channel, after):
                yield ": still here\n\n"
    finally:
        await layer.group_discard(group_of(conversation_id), channel)


@database_sync_to_async
def may_go_on(conversation_id: int, credential: Credential | None) -> bool:
    """Not once the conversation was deleted, or the reader may not read it any more."""
    is_there = Conversation.objects.filter(pk=conversation_id).exists()
    return is_there and (credential is None or bool(still_good([credential])))


look = database_sync_to_async(read_after)


async def something_new(channel: str, after: int) -> bool:
    """Wait for a later event; streamed text comes the same way and is not one."""
    layer = the_layer()
    with suppress(TimeoutError):
        async with asyncio.timeout(LOOK_EVERY):
            while (await layer.receive(channel)).get("seq", 0) <= after:
                pass
            return True
    return False


def the_layer() -> BaseChannelLayer:
    layer = get_channel_layer()
    assert layer is not None  # the settings always name one
    return layer


def frame(event: Event) -> str:
    return f"id: {event.seq}\nevent: {event.type}\ndata: {json.dumps(shape(event))}\n\n"


def shape(event: Event) -> dict[str, object]:
    return {
        "seq": event.seq,
        "type": event.type,
        "subject": event.subject,
        "actor": event.actor,
        "actor_kind": event.actor_kind,
        "data": event.data,
        "created_at": event.created_at.isoformat(),
    }
