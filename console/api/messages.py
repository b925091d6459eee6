"""How a message and its tool calls are shown."""

from __future__ import annotations

from collections.abc import Iterable

from agents.models import Message, ToolCall

Document = dict[str, object]


def message_shape(message: Message) -> Document:
    return {
        "id": message.pk,
        "seq": message.seq,
        "role": message.role,
        "kind": message.kind,
        "text": message.text,
        "turn": message.turn_id,
        "streaming": message.streaming,
        "created_at": message.created_at,
        "tool_calls": [call_shape(call) for call in calls_of(message)],
    }


def calls_of(message: Message) -> Iterable[ToolCall]:
    """Only what a model says has any."""
    return message.tool_calls.all() if message.role == Message.Role.ASSISTANT else ()


def call_shape(call: ToolCall) -> Document:
    return {
        "id": call.pk,
        "tool": call.tool,
        "arguments": call.arguments,
        "state": call.state,
        "result": call.result,
    }
