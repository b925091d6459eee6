"""/api/conversations/{id}/events: what happened, as a list or as a live tail."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from time import monotonic
from typing import Annotated

from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from django.http import HttpRequest, HttpResponseBase, JsonResponse, StreamingHttpResponse
from ninja import Query, Router

from agents.events import MOST_READ, group_of, read_after
from agents.models import Conversation, Event
from console.api.auth import conversation_of, person
from console.api.shapes import EventShape, Page, answers
from console.form_parsing import EVENT, number
from console.live.sessions import Credential, credential_of, still_good

router = Router(tags=["conversations"])
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
        # A browser that lost the stream names the last id it saw.
        after = max(after, number(request.headers.get("Last-Event-ID", ""), EVENT) or 0)
        return StreamingHttpResponse(
            tail(conversation.pk, after, credential_of(request, person(request))),
            content_type="text/event-stream; charset=utf-8",
            headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"},
        )
    rows = conversation.events.filter(seq__gt=after).order_by("seq")
    items = [event_document(event) for event in rows[:MOST_READ]]
    return JsonResponse({"items": items, "count": rows.count()})


async def tail(
    conversation_id: int, after: int, credential: Credential | None = None
) -> AsyncIterator[str]:
    """Listen, send what is there, then what comes, until the reader leaves or it is deleted.

    The reader's leaving cancels this generator; a deleted conversation ends it, and so does the
    end of the session or token it was opened with. Between two readings no database connection
    is held, so readers may be many.
    """
    layer = get_channel_layer()
    assert layer is not None  # the settings always name one
    channel = await layer.new_channel()
    await layer.group_add(group_of(conversation_id), channel)
    try:
        yield ": listening\n\n"  # no header goes out before the first piece
        checked_at = monotonic()  # the request itself has just been let in
        while True:
            if monotonic() - checked_at >= LOOK_EVERY:
                checked_at = monotonic()
                if not await may_read_on(conversation_id, credential):
                    return
            while events := await read_events(conversation_id, after):
                after = events[-1].seq
                yield "".join(
                    f"id: {event.seq}\nevent: {event.type}\n"
                    f"data: {json.dumps(event_document(event))}\n\n"
                    for event in events
                )
                if len(events) < MOST_READ:
                    break
            try:
                async with asyncio.timeout(LOOK_EVERY):
                    # Streamed text comes the same way and is no event.
                    while (await layer.receive(channel)).get("seq", 0) <= after:
                        pass
            except TimeoutError:
                yield ": still here\n\n"
    finally:
        await layer.group_discard(group_of(conversation_id), channel)


@database_sync_to_async
def may_read_on(conversation_id: int, credential: Credential | None) -> bool:
    """Not once the conversation was deleted, or the reader may not read it any more."""
    is_there = Conversation.objects.filter(pk=conversation_id).exists()
    return is_there and (credential is None or bool(still_good([credential])))


read_events = database_sync_to_async(read_after)


def event_document(event: Event) -> dict[str, object]:
    """As lists and the live tail both write it, with the time as ISO 8601 in full."""
    return {
        "seq": event.seq,
        "type": event.type,
        "subject": event.subject,
        "actor": event.actor,
        "actor_kind": event.actor_kind,
        "data": event.data,
        "created_at": event.created_at.isoformat(),
    }
