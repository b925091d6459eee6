"""Messages of a conversation, the tool calls in them, and how one that asks is put to a person."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django import template
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from agents.models import Message, ToolCall
from console.alternatives import needs
from console.attachments import Tray
from console.call_images import images_of
from console.changes.calls import (
    CallDrawing,
    argument,
    call_status,
    diff_of,
    draw_call,
    question_of,
    result_of,
)
from console.components import component
from console.conversation_state import ConversationState
from console.finish_blocks import finish_blocks
from console.language import agent_name
from console.markdown import render
from console.thread import TurnGroup, visible_calls
from console.typed_text import typed
from console.workspace_images import files_base
from plans.alternatives import why_not_edited

# What a message of each kind looks like; any other is a text.
MESSAGE_TEMPLATES = {
    "plan": "card",
    "error": "error",
    "notice": "notice",
    "question": "question",
    "approval": "asked",
    "reasoning": "reasoning",
}
COMMAND = re.compile(r"\s*([/／][a-zA-Zａ-ｚＡ-Ｚ]+)(.*)", re.DOTALL)

register = template.Library()
register.filter("argument", argument)
register.filter("call_status", call_status)
register.filter("calls", visible_calls)
register.filter("images", images_of)
register.filter("diff", diff_of)
register.filter("result", result_of)
register.filter("question", question_of)
register.filter("finishes", finish_blocks)


@dataclass(frozen=True)
class Asker:
    """The agent that wants to make a call."""

    id: str
    name: str


@register.simple_tag
def message_attributes(message: Message, kind: str = "", seq: int = 0) -> SafeString:
    """By what pages know a message, and which state of it they show."""
    own = {"id": f"message-{message.pk}", "data-role": message.role}
    own |= {"data-kind": kind or message.kind, "data-seq": str(seq or message.changed_seq)}
    return format_html_join(" ", '{}="{}"', own.items())


@register.filter
def message_template(message: Message) -> str:
    name = MESSAGE_TEMPLATES.get(message.kind, "text")
    if message.role == "user":
        name = "yours"
    elif message.meta.get("closing") and name not in ("card", "error"):
        name = "closing"
    return f"conversation/messages/_{name}.html"


@register.filter
def can_be_edited(message: Message) -> bool:
    """Unless that is refused now (`data-at`), or always."""
    return not why_not_edited(message)


register.filter(needs)


@register.filter
def command(message: Message) -> SafeString:
    """What a person typed; the name of a command stands out."""
    match = COMMAND.match(message.text) if message.meta.get("command") else None
    return component("command", name=match[1]) + typed(match[2]) if match else typed(message.text)


@register.filter
def tray(now: ConversationState) -> Tray:
    """What stands attached in the message box."""
    return Tray(now)


@register.filter
def reply(message: Message) -> SafeString:
    """What the model wrote, with the pictures of its workspace."""
    return render(message.text, files=files_base(message.conversation_id))


@register.filter
def changed_file(call: ToolCall) -> str:
    """The path of the file that it has written; empty for any other call."""
    is_writing = call.tool in ("write_file", "edit_file") and call.state == ToolCall.State.DONE
    return str(call.arguments.get("path") or "") if is_writing else ""


@register.filter
def drawn_call(call: ToolCall) -> CallDrawing:
    """Every argument whole, for the decision."""
    return draw_call(call)


@register.filter
def drawn_shortly(call: ToolCall) -> CallDrawing:
    """The same afterwards: what is far from a change is only counted."""
    return draw_call(call, is_short=True)


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
def waits(call: ToolCall) -> bool:
    """Whether it still needs a person's word: then it is a card, else a row."""
    return call.state == ToolCall.State.ASKED and not call.decision


@register.filter
def undecided(calls: list[ToolCall]) -> list[ToolCall]:
    return [call for call in calls if waits(call)]


@register.filter
def decided(calls: list[ToolCall]) -> list[ToolCall]:
    return [call for call in calls if not waits(call)]


@register.filter
def is_told_elsewhere(group: TurnGroup, now: ConversationState) -> bool:
    """Whether another live region says why it ended: the alarm of a failure, the status of what is
    no longer true, the first of attempts that failed alike."""
    fails = now.plan is not None and now.plan.attention == "failed"
    return bool(group.before) or group.shape == "regressed" or (fails and not group.is_inside)
