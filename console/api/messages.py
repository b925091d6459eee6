"""How a message and its tool calls are shown."""

from __future__ import annotations

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
        "tool_calls": [call_shape(call) for call in message.tool_calls.all()],
    }


def call_shape(call: ToolCall) -> Document:
    return {
        "id": call.pk,
        "tool": call.tool,
        "arguments": call.arguments,
        "state": call.state,
        "result": call.result,
    }
