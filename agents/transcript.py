"""Rows become the messages of the chat-completions API."""

from __future__ import annotations

from collections.abc import Iterable
from json import dumps

from agents.models import Conversation, Lane, Message, ToolCall, Turn
from agents.toolset import Instruction, OnOffer

Wire = dict[str, object]

NO_RESULT = "Interrupted before it reported back. Its effect is unknown: look before you repeat it."
CHARACTERS_PER_TOKEN = 4


def system_message(parts: Iterable[Instruction]) -> Wire:
    """One system message; what matters most comes last, nearest to the conversation."""
    ordered = sorted((part for part in parts if part.text.strip()), key=lambda part: part.priority)
    return {"role": "system", "content": "\n\n".join(part.text.strip() for part in ordered)}


def system_parts(turn: Turn, chain_author: str, on_offer: OnOffer) -> list[Instruction]:
    agent = str(turn.config.get("instructions") or "")
    return [Instruction(10, chain_author), Instruction(20, agent), *on_offer.offer.instructions]


def own_messages(turn: Turn) -> list[Wire]:
    """What the model said and did in this turn so far."""
    messages = turn.messages.filter(role="assistant", kind=Message.Kind.TEXT).order_by("seq")
    whole = messages.prefetch_related("tool_calls")
    return on_the_wire(message for message in whole if not message.meta.get("unfinished"))


def history(conversation: Conversation, before: Turn) -> list[list[Wire]]:
    """The chat lane up to this turn, turn by turn, from after the last /clear."""
    messages = (
        Message.objects.filter(
            conversation=conversation,
            seq__gt=conversation.cleared_seq,
            kind=Message.Kind.TEXT,
            turn__lane=Lane.CHAT,
            turn__lt=before.pk,
        )
        .order_by("turn_id", "seq")
        .prefetch_related("tool_calls")
    )
    turns: dict[int | None, list[Message]] = {}
    for message in messages:
        turns.setdefault(message.turn_id, []).append(message)
    return [on_the_wire(group) for group in turns.values()]


def opening_of_chat(turn: Turn) -> list[Wire]:
    """Earlier turns, then the person's own text as the last user message."""
    said = turn.messages.filter(role="user").order_by("seq").last()
    person = on_the_wire([said] if said else [])
    return [*fit(history(turn.conversation, turn), turn, person), *person]


def fit(groups: list[list[Wire]], turn: Turn, *kept: list[Wire]) -> list[Wire]:
    """As many of the newest turns as half of the model's window holds; a turn goes whole or not."""
    room = int(turn.config.get("context_window") or 32768) * CHARACTERS_PER_TOKEN // 2
    room -= sum(size(group) for group in kept)
    taken: list[list[Wire]] = []
    for group in reversed(groups):
        room -= size(group)
        if room < 0:
            break
        taken.append(group)
    return [message for group in reversed(taken) for message in group]


def size(group: list[Wire]) -> int:
    return sum(len(str(message)) for message in group)


def on_the_wire(messages: Iterable[Message]) -> list[Wire]:
    wire: list[Wire] = []
    for message in messages:
        text = str(message.meta.get("wire", message.text))
        calls = sorted(message.tool_calls.all(), key=lambda call: call.position)
        if message.role == "user":
            wire.append({"role": "user", "content": text})
        elif calls:
            wire.append({"role": "assistant", "content": text or None, "tool_calls": asked(calls)})
            wire.extend(answered(calls))
        elif text:
            wire.append({"role": "assistant", "content": text})
    return wire


def asked(calls: list[ToolCall]) -> list[Wire]:
    return [
        {
            "id": call.call_id,
            "type": "function",
            "function": {
                "name": call.tool,
                "arguments": dumps(call.arguments, ensure_ascii=False),
            },
        }
        for call in calls
    ]


def answered(calls: list[ToolCall]) -> list[Wire]:
    """Every call has an answer: servers refuse a request in which one is missing."""
    return [
        {"role": "tool", "tool_call_id": call.call_id, "content": result_of(call)} for call in calls
    ]


def result_of(call: ToolCall) -> str:
    return call.result or ("(nothing)" if call.state == ToolCall.State.DONE else NO_RESULT)
