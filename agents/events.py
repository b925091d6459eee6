"""A change is an event: a gapless number per conversation, announced to listeners after commit.

An announcement carries its events as they are in the database, so that a live tail which got them
in order needs no reading.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from datetime import datetime
from functools import partial
from typing import cast
from weakref import WeakKeyDictionary

from asgiref.sync import SyncToAsync, async_to_sync
from channels.layers import get_channel_layer
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from agents.actors import Actor, kind_of, name_of
from agents.db import is_postgresql
from agents.models import Conversation, Event
from agents.sanitize import sanitize, sanitize_text
from agents.statements import (
    INSERT_EVENT,
    NEXT_EVENT_NUMBER,
    NOTIFY,
    NUMBERED_EVENT,
    execute,
    fetch_one,
    moment,
    prepared,
    stored,
)
from agents.timestamps import timestamp

log = logging.getLogger(__name__)

MOST_READ = 1000
ABOUT_PLANS = ("plan.", "run.")
ABOUT_THE_QUEUE = ("turn.queued", "turn.stopping")  # workers are woken

Document = dict[str, object]

# Not announced yet, by conversation. A transaction with several events is announced once.
_pending: dict[int, list[Document]] = {}
_lock = threading.Lock()
_sending: set[asyncio.Task[None]] = set()


def group_of(conversation_id: int) -> str:
    """Who listens to its events."""
    return f"conversation-{conversation_id}"


def text_group_of(conversation_id: int) -> str:
    """Who listens to text while it is being written: pages do, live tails of events do not."""
    return f"text-{conversation_id}"


def record(
    conversation: Conversation | int,
    type: str,
    subject: str = "",
    actor: Actor = "",
    **data: object,
) -> int:
    """Append an event within the caller's transaction and return its number.

    The counter and the event commit or vanish together, so numbers have no gaps. What is about the
    queue wakes the workers, too.
    """
    pk = conversation if isinstance(conversation, int) else conversation.pk
    at = timezone.now()
    now, written = moment(at), stored(Event, "data", data)
    who, kind, wakes = sanitize_text(name_of(actor)), kind_of(actor), type in ABOUT_THE_QUEUE
    with transaction.atomic(savepoint=False):
        if is_postgresql():
            sql = f"{NUMBERED_EVENT}, {NOTIFY}" if wakes else NUMBERED_EVENT
            row = fetch_one(sql, [now, pk, pk, type, subject, who, kind, written, now])
        elif row := fetch_one(NEXT_EVENT_NUMBER, [now, pk]):
            execute(INSERT_EVENT, [pk, row[0], type, subject, who, kind, written, now])
    if row is None:
        raise Conversation.DoesNotExist(f"There is no conversation {pk}.")
    seq = int(row[0])
    event = document(seq, type, subject, who, kind, as_read(data), at)
    transaction.on_commit(partial(announce, pk, event), robust=True)
    if wakes:
        transaction.on_commit(wake, robust=True)
    return seq


def document(
    seq: int, type: str, subject: str, actor: str, kind: str, data: object, at: datetime
) -> Document:
    """An event as readers get it, with the time as ISO 8601 in full."""
    return {
        "seq": seq,
        "type": type,
        "subject": subject,
        "actor": actor,
        "actor_kind": kind,
        "data": data,
        "created_at": timestamp(at),
    }


def document_of(event: Event) -> Document:
    who, kind = event.actor, event.actor_kind
    return document(event.seq, event.type, event.subject, who, kind, event.data, event.created_at)


def as_read(data: Document) -> object:
    """What the column gives back for it: plain JSON."""
    return json.loads(json.dumps(sanitize(data))) if data else {}


# The one order in which PostgreSQL's row locks are taken, so that no two wait for each other.
#
# Whatever writes to a conversation locks its row first, verbs and running turns alike: their
# events are numbered there anyway. On SQLite there is one writer at a time.


def lock_conversation(pk: int) -> None:
    """Until the transaction ends; rows that point to it may still be added by others."""
    if is_postgresql():
        row_lock.rows(conversation=pk)


def locked_conversation(pk: int) -> Conversation:
    """Its row as it is now, locked as above. Raises Conversation.DoesNotExist."""
    for conversation in locked_row.models(conversation=pk):
        return conversation
    raise Conversation.DoesNotExist


@prepared
def locked_row(conversation: int) -> QuerySet[Conversation]:
    return Conversation.objects.select_for_update(no_key=True).filter(pk=conversation)


@prepared
def row_lock(conversation: int) -> QuerySet[Conversation, tuple[int]]:
    rows = Conversation.objects.select_for_update(no_key=True)
    return rows.filter(pk=conversation).values_list("pk")


@prepared
def later_events(conversation: int, seq: int) -> QuerySet[Event]:
    return Event.objects.filter(conversation=conversation, seq__gt=seq).order_by("seq")[:MOST_READ]


def read_after(conversation_id: int, seq: int) -> list[Event]:
    """The events that come after a number, oldest first; at most MOST_READ."""
    return later_events.models(conversation=conversation_id, seq=seq)


def announce(conversation_id: int, event: Document) -> None:
    """Tell whoever is listening that there is something new to read; nobody waits for it."""
    loop = getattr(SyncToAsync.threadlocal, "main_event_loop", None)
    if loop is None or not loop.is_running():
        async_to_sync(send)(conversation_id, [event])
        return
    with _lock:
        _pending.setdefault(conversation_id, []).append(event)
    loop.call_soon_threadsafe(send_soon, conversation_id)


def send_soon(conversation_id: int) -> None:
    with _lock:
        news = _pending.pop(conversation_id, None)
    if news is None:  # sent together with an earlier one
        return
    task = asyncio.ensure_future(send(conversation_id, sorted(news, key=seq_of)))
    _sending.add(task)
    task.add_done_callback(_sending.discard)


def seq_of(event: Document) -> int:
    return cast(int, event["seq"])


async def send(conversation_id: int, news: list[Document]) -> None:
    """A layer that does not answer costs the live view, never the work: readers poll as well."""
    layer = get_channel_layer()
    if layer is None:
        return
    try:
        message = {
            "type": "conversation.event",
            "seq": seq_of(news[-1]),
            "plan": any(str(event["type"]).startswith(ABOUT_PLANS) for event in news),
            "events": news,
        }
        await layer.group_send(group_of(conversation_id), message)
    except Exception:
        log.warning(
            "listeners of conversation %s were not notified", conversation_id, exc_info=True
        )


async def wait_until_sent(seconds: float = 1.0) -> None:
    """Wait for what is being sent; a process calls it last before it ends."""
    await asyncio.sleep(0)
    if _sending:
        await asyncio.wait(_sending, timeout=seconds)


# Waking the workers, at once, when the queue or a wish has changed.
#
# Those of this process are woken; on PostgreSQL a notice that leaves with the transaction reaches
# those of other processes (agents.queue.worker). A worker that misses both looks again within a
# second.

_events: WeakKeyDictionary[asyncio.Event, asyncio.AbstractEventLoop] = WeakKeyDictionary()


def new_wakeup_event() -> asyncio.Event:
    """An event of the running loop that every wake() sets."""
    event = asyncio.Event()
    _events[event] = asyncio.get_running_loop()
    return event


def wake() -> None:
    """Wake this process's workers, from any thread."""
    for event, loop in list(_events.items()):
        if not loop.is_closed():
            loop.call_soon_threadsafe(event.set)


def wake_after_commit() -> None:
    """For a change that no event tells of; those about the queue wake the workers themselves."""
    if is_postgresql():
        fetch_one(f"SELECT {NOTIFY}")
    transaction.on_commit(wake, robust=True)
