"""A change is an event: a gapless number per conversation, told to listeners after commit."""

from __future__ import annotations

from functools import partial

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from agents.models import Conversation, Event


def group_of(conversation_id: int) -> str:
    return f"conversation-{conversation_id}"


def record(
    conversation: Conversation | int, type: str, subject: str = "", actor: str = "", **data: object
) -> int:
    """Append an event within the caller's transaction and return its number.

    The counter and the event commit or vanish together, so numbers have no gaps.
    """
    pk = conversation if isinstance(conversation, int) else conversation.pk
    with transaction.atomic():
        row = Conversation.objects.filter(pk=pk)
        row.update(seq=F("seq") + 1, updated_at=timezone.now())
        seq = row.values_list("seq", flat=True).get()
        Event.objects.create(
            conversation_id=pk, seq=seq, type=type, subject=subject, actor=actor, data=data
        )
    transaction.on_commit(partial(announce, pk, seq, type), robust=True)
    return seq


def announce(conversation_id: int, seq: int, type: str) -> None:
    """Tell whoever is listening that there is something new to read."""
    layer = get_channel_layer()
    if layer is not None:
        message = {"type": "conversation.event", "seq": seq, "event": type}
        async_to_sync(layer.group_send)(group_of(conversation_id), message)
