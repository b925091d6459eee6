"""How far the running calls of a conversation are, as their tools say."""

from __future__ import annotations

from hashlib import sha256

from agents.models import ToolCall, TurnState


def running_calls(conversation_id: int) -> dict[int, str]:
    """Words by call, of those whose tools have said something."""
    calls = ToolCall.objects.filter(
        turn__conversation=conversation_id,
        turn__state=TurnState.RUNNING,
        state=ToolCall.State.RUNNING,
        progress__isnull=False,
    )
    progress = calls.order_by("pk").values_list("pk", "progress")
    return {pk: told["words"] for pk, told in progress if told}


def progress_tag(conversation_id: int) -> str:
    """Another one when any of them has said something else; empty while none has."""
    told = running_calls(conversation_id)
    return sha256(repr(told).encode()).hexdigest()[:16] if told else ""
