"""How a call that asks first is put to a person."""

from __future__ import annotations

from dataclasses import dataclass

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from agents.models import Message, ToolCall
from console.call_display import MOST_SAID, CallDrawing, covered_words, draw_call, is_shell
from console.call_status import call_status
from console.conversation_state import agent_name
from console.thread import visible_calls

register = template.Library()


register.filter(call_status)


@register.filter
def question(call: ToolCall) -> str:
    return "Run this shell command?" if is_shell(call) else f"Let it use {call.tool}?"


@register.filter
def drawn_call(call: ToolCall) -> CallDrawing:
    """Every argument whole, for the decision."""
    return draw_call(call)


@register.filter
def drawn_shortly(call: ToolCall) -> CallDrawing:
    """The same afterwards: what is far from a change is only counted."""
    return draw_call(call, is_short=True)


@register.filter
def hidden_words(drawing: CallDrawing) -> str:
    if drawing.hidden == 1:
        return "1 hidden character is drawn as a box."
    return f"{drawing.hidden:,} hidden characters are drawn as boxes."


@register.filter
def rule(call: ToolCall) -> SafeString | str:
    """What “Always allow” covers: this call and no other."""
    drawing = draw_call(call)
    if drawing.lines == 1 and is_shell(call) and len(call.arguments["command"]) <= MOST_SAID:
        return format_html(
            '<span class="mono">{}</span>', drawing.arguments[0].drawing.head[0].html
        )
    return covered_words(drawing)


@dataclass(frozen=True)
class Asker:
    """The agent that wants to make the call."""

    id: str
    name: str


@register.filter
def asker(call: ToolCall) -> Asker:
    """Not always the conversation's own agent: it may be one that works for it."""
    id = call.turn.conversation.agent_id
    return Asker(id, agent_name(id))


@register.filter
def call_of(message: Message) -> ToolCall | None:
    """The call of another agent that this message asks about."""
    calls = ToolCall.objects.select_related("turn__conversation")
    return calls.filter(pk=message.meta.get("call")).first()


@register.filter
def asked_calls(message: Message) -> list[ToolCall]:
    """Those that wait for a person's word: cards; the others are rows."""
    return [call for call in visible_calls(message) if waits(call)]


@register.filter
def told_calls(message: Message) -> list[ToolCall]:
    return [call for call in visible_calls(message) if not waits(call)]


@register.filter
def waits(call: ToolCall) -> bool:
    return call.state == ToolCall.State.ASKED and not call.decision
