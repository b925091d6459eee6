"""How a call that asks first is put to a person."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from agents.agent_file.record import files_folder, read_agent
from agents.errors import Refused
from agents.models import Message, ToolCall
from console.present import agent_name
from console.thread import visible_calls

register = template.Library()

LONGEST_RULE = 80  # characters of a command that are said again below it


@register.filter
def question(call: ToolCall) -> str:
    return "Run this shell command?" if is_shell(call) else f"Run {call.tool}?"


@register.filter
def is_shell(call: ToolCall) -> bool:
    return call.tool == "shell" and isinstance(call.arguments.get("command"), str)


@register.filter
def readable(call: ToolCall) -> list[tuple[str, str]]:
    """Each argument by name: texts as they are, the rest as JSON."""
    values = call.arguments if isinstance(call.arguments, dict) else {"arguments": call.arguments}
    return [(str(name), told(value)) for name, value in values.items()]


def told(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


@register.filter
def rule(call: ToolCall) -> SafeString | str:
    """What “Always allow” covers: this call and no other."""
    if not is_shell(call):
        return "exactly this call"
    words = " ".join(str(call.arguments["command"]).split())
    if len(words) > LONGEST_RULE:
        return "exactly this command"
    return format_html('<span class="mono">{}</span>', words)


@dataclass(frozen=True)
class Asker:
    """The agent that wants to make the call, and where its commands run."""

    id: str
    name: str
    folder: str


@register.filter
def asker(call: ToolCall) -> Asker:
    """Not always the conversation's own agent: it may be one that works for it."""
    id = call.turn.conversation.agent_id
    return Asker(id, agent_name(id), folder(id))


def folder(agent_id: str) -> str:
    """As a person writes it; nothing where there is none."""
    try:
        path = files_folder(read_agent(agent_id))
    except Refused:
        return ""
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


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
