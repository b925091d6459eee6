"""How far the running calls of a conversation are, as their tools say."""

from __future__ import annotations

from hashlib import sha256

from django.db.models import QuerySet

from agents.models import ToolCall, TurnState
from agents.statements import prepared


@prepared
def calls_with_progress(conversation: int) -> QuerySet[ToolCall]:
    calls = ToolCall.objects.filter(
        turn__conversation=conversation,
        turn__state=TurnState.RUNNING,
        state=ToolCall.State.RUNNING,
        progress__isnull=False,
    )
    return calls.order_by("pk")


def running_calls(conversation_id: int) -> dict[int, str]:
    """Words by call, of those whose tools have said something."""
    calls = calls_with_progress.models(conversation=conversation_id)
    return {call.pk: call.progress["words"] for call in calls if call.progress}


def progress_tag(conversation_id: int) -> str:
    """Another one when any of them has said something else; empty while none has."""
    told = running_calls(conversation_id)
    return sha256(repr(told).encode()).hexdigest()[:16] if told else ""
