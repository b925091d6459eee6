"""Messages of a conversation and the tool calls in them."""

from __future__ import annotations

from django import template

from agents.models import Message, ToolCall
from console.thread import visible_calls

# What a message of each kind looks like; any other is a text.
MESSAGE_TEMPLATES = {
    "plan": "card",
    "error": "error",
    "notice": "notice",
    "question": "question",
    "approval": "asked",
    "reasoning": "reasoning",
}

register = template.Library()


@register.filter
def message_template(message: Message) -> str:
    name = MESSAGE_TEMPLATES.get(message.kind, "text")
    if message.role == "user":
        name = "yours"
    elif message.meta.get("closing") and name not in ("card", "error"):
        name = "closing"
    return f"conversation/messages/_{name}.html"


@register.filter
def calls(message: Message) -> list[ToolCall]:
    return visible_calls(message)


@register.filter
def argument(call: ToolCall) -> str:
    """The one argument that says most: a path, a pattern, a command."""
    values = call.arguments if isinstance(call.arguments, dict) else {}
    if "pattern" in values:
        return f"{values['pattern']} in {values.get('path', '.')}"
    named = (values[name] for name in ("path", "command", "url", "name") if name in values)
    texts = (value for value in values.values() if isinstance(value, str))
    first = next(named, None) or next(texts, "")
    return " ".join(str(first).split())[:200]
