"""What becomes of a whole conversation: pinned, archived, deleted, taken back, gone for good."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from agents import events
from agents.actors import Actor
from agents.conversation_tree import tree
from agents.engine.lifecycle import request_stop
from agents.engine.subagents import GONE, deliver
from agents.errors import NotFound
from agents.events import lock_conversation, wake_after_commit
from agents.models import Conversation, Turn
from agents.statements import prepared
from agents.stored_text import gettext
from agents.workspace import attachments

RESTORABLE = timedelta(days=1)  # how long a deleted conversation can be taken back
MOST_PURGED = 10  # conversations at a time


@prepared
def conversation_by_key(conversation: int) -> QuerySet[Conversation]:
    return Conversation.objects.filter(pk=conversation)


@transaction.atomic
def pin_conversation(conversation: Conversation, pinned: bool, by: Actor = "") -> None:
    """Keep it at the top of the list, or no more."""
    with in_its_place(conversation, "pinned_at", pinned) as is_new:
        if is_new:
            events.record(conversation, "conversation.pinned", "", by, pinned=pinned)


@transaction.atomic
def archive_conversation(conversation: Conversation, archived: bool, by: Actor = "") -> None:
    """Take it out of the list, or put it back. It is found, and what runs in it goes on."""
    with in_its_place(conversation, "archived_at", archived) as is_new:
        if is_new:
            events.record(conversation, "conversation.archived", "", by, archived=archived)


@contextmanager
def unmoved(pk: int) -> Iterator[None]:
    """What is done within is recorded, and the place in the list stays: that is by the time of what
    happened last in the conversation."""
    lock_conversation(pk)
    rows = Conversation.objects.filter(pk=pk)
    updated_at = rows.values_list("updated_at", flat=True).get()
    yield
    rows.update(updated_at=updated_at)


@contextmanager
def in_its_place(conversation: Conversation, field: str, so: bool) -> Iterator[bool]:
    """Set or empty the column, unless it is so already."""
    with unmoved(conversation.pk):
        row = Conversation.objects.get(pk=conversation.pk)
        is_new = (getattr(row, field) is not None) != so
        yield is_new
        if is_new:
            changed = {field: timezone.now() if so else None}
            Conversation.objects.filter(pk=row.pk).update(**changed)


@transaction.atomic
def delete_conversation(conversation: Conversation, by: Actor = "") -> None:
    """It does not exist for anybody, and can be taken back for a day. What runs is stopped.

    One that another agent has called goes for good.
    """
    with unmoved(conversation.pk):
        stop_all(conversation, by)
        if conversation.parent_call_id is not None:
            erase(conversation)
            return
        now = timezone.now()
        tree(conversation.pk).update(deleted_at=now)
        events.record(conversation, "conversation.deleted", "", by)
    wake_after_commit()  # who runs a turn of it sees that it is to stop


def stop_all(conversation: Conversation, by: Actor) -> None:
    for turn in Turn.objects.filter(conversation=conversation, state__in=Turn.OPEN_STATES):
        request_stop(turn, by)


def deleted_of(owner: User) -> QuerySet[Conversation]:
    """What a person can take back, the last deleted first."""
    own = Conversation.objects.filter(owner=owner, parent_call=None)
    since = timezone.now() - RESTORABLE
    return own.filter(deleted_at__gt=since).order_by("-deleted_at")


@transaction.atomic
def restore_conversation(owner: User, pk: int, by: Actor = "") -> Conversation:
    """Take back that it was deleted; what was stopped stays stopped."""
    conversation = deleted_of(owner).filter(pk=pk).first()
    if conversation is None:
        raise NotFound(gettext("There is no deleted conversation of this number."))
    with unmoved(pk):
        tree(pk).update(deleted_at=None)
        events.record(conversation, "conversation.restored", "", by)
    conversation.refresh_from_db()
    return conversation


@transaction.atomic
def erase(conversation: Conversation) -> None:
    """For good, with all its messages and plans, and files that were attached and never sent."""
    deliver(conversation, GONE, failed=True)
    attachments.delete_unused(attachments.in_box(conversation))
    conversation.delete()
    wake_after_commit()  # who runs a turn of it sees that the row is gone


def erase_old() -> None:
    """What was deleted a day ago, some at a time."""
    late = timezone.now() - RESTORABLE
    rows = Conversation.objects.filter(deleted_at__lt=late, parent_call=None)
    for conversation in rows.order_by("deleted_at")[:MOST_PURGED]:
        erase(conversation)
