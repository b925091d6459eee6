"""How a call that asks first is put to a person."""

from __future__ import annotations

import json
from pathlib import Path

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from agents.agent_file import AgentRecord, files_folder
from agents.errors import Refused
from agents.models import Message, ToolCall
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


@register.filter
def folder(agent: AgentRecord | None) -> str:
    """Where its commands run, as a person writes it."""
    if agent is None:
        return ""
    try:
        path = files_folder(agent)
    except Refused:
        return ""
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


@register.filter
def asked_calls(message: Message) -> list[ToolCall]:
    """Those that wait for a person's word: cards; the others are rows."""
    return [call for call in visible_calls(message) if waits(call)]


@register.filter
def told_calls(message: Message) -> list[ToolCall]:
    return [call for call in visible_calls(message) if not waits(call)]


def waits(call: ToolCall) -> bool:
    return call.state == ToolCall.State.ASKED and not call.decision
