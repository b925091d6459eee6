"""A whole conversation to keep or to send: as Markdown for people, as JSON for programs.

In the order of the page, with what was cleared, alternatives that are not shown, tool calls, plans,
and files by their names.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress

from django.db.models import F, Min, Window
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.utils.http import content_disposition_header
from django.utils.translation import gettext, gettext_lazy

from agents.errors import NotFound
from agents.models import Conversation, Message, ToolCall
from agents.sentences import commas
from agents.timestamps import timestamp
from console.call_images import plan_markdown
from console.language import agent_name
from plans.models import Plan
from plans.snapshot_reading import plan_snapshots

NAMES = {"user": gettext_lazy("You"), "system": "Planside"}
# Other kinds of messages than a text and a notice, as headings name them.
KINDS = {
    Message.Kind.PLAN: gettext_lazy("plan"),
    Message.Kind.QUESTION: gettext_lazy("question"),
    Message.Kind.APPROVAL: gettext_lazy("approval"),
    Message.Kind.ERROR: gettext_lazy("error"),
    Message.Kind.REASONING: gettext_lazy("reasoning"),
}
STATES = {
    "": gettext_lazy("not run"),
    ToolCall.State.ASKED: gettext_lazy("asked"),
    ToolCall.State.RUNNING: gettext_lazy("running"),
    ToolCall.State.DONE: gettext_lazy("done"),
    ToolCall.State.FAILED: gettext_lazy("failed"),
    ToolCall.State.DENIED: gettext_lazy("denied"),
    ToolCall.State.REFUSED: gettext_lazy("refused"),
    ToolCall.State.INTERRUPTED: gettext_lazy("interrupted"),
}
UNSAFE = '\\/:*?"<>|'  # in the name of a file, here or elsewhere
MOST_OF_NAME = 60  # characters: of three bytes each they fit every system
AT_ONCE = 500  # messages that are read at a time


def exported(request: HttpRequest, conversation: Conversation, form: str) -> HttpResponse:
    """`form` is md or json; the file is called as the conversation is."""
    site = request.build_absolute_uri("/").rstrip("/")
    pieces = as_json(conversation) if form == "json" else as_markdown(conversation, site)
    kind = "application/json" if form == "json" else "text/markdown; charset=utf-8"
    response = HttpResponse("".join(pieces), kind)
    name = f"{file_name(conversation)}.{form}"
    response.headers["Content-Disposition"] = content_disposition_header(True, name) or "attachment"
    return response


def file_name(conversation: Conversation) -> str:
    """Its title, as far as every system takes it for the name of a file."""
    title = conversation.title
    signs = (sign if sign.isprintable() and sign not in UNSAFE else " " for sign in title)
    name = " ".join("".join(signs).split())[:MOST_OF_NAME].strip(" .")
    return name or f"conversation-{conversation.pk}"


def messages_of(conversation: Conversation) -> Iterator[Message]:
    rows = conversation.messages.filter(streaming=False).select_related("turn")
    rows = rows.defer("turn__config", "turn__checkpoint", "wanted_back")
    # As on the page: what belongs to a turn together, where its first message stands.
    group = Coalesce(F("turn_id"), -F("pk"))
    rows = rows.alias(place=Window(Min("seq"), partition_by=group)).order_by("place", "seq")
    return rows.prefetch_related("tool_calls").iterator(chunk_size=AT_ONCE)


def plans_of(conversation: Conversation) -> list[Plan]:
    return list(Plan.objects.filter(conversation=conversation).order_by("pk"))


# JSON


def as_json(conversation: Conversation) -> Iterator[str]:
    """One document, message by message."""
    about = {
        "id": conversation.pk,
        "title": conversation.title,
        "agent": conversation.agent_id,
        "created_at": timestamp(conversation.created_at),
        "updated_at": timestamp(conversation.updated_at),
    }
    yield written(about)[:-1] + ', "messages": ['
    between = ""
    for message in messages_of(conversation):
        yield between + written(message_document(conversation, message))
        between = ",\n"
    plans = [plan.document() for plan in plan_snapshots(plans_of(conversation))]
    yield f'], "plans": {written(plans)}}}\n'


def written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def message_document(conversation: Conversation, message: Message) -> dict[str, object]:
    return {
        "id": message.pk,
        "role": message.role,
        "kind": message.kind,
        "text": message.text,
        "model": message.meta.get("model"),
        "created_at": timestamp(message.created_at),
        "turn": message.turn_id,
        "after_turn": message.turn.parent_id if message.turn else None,
        "hidden": message.hidden,
        "cleared": message.seq <= conversation.cleared_seq,
        "attachments": [each.name for each in message.attachments],
        "tool_calls": [call_document(call) for call in message.tool_calls.all()],
    }


def call_document(call: ToolCall) -> dict[str, object]:
    names = ("tool", "arguments", "state", "decision", "result")
    return {name: getattr(call, name) for name in names}


# Markdown


def as_markdown(conversation: Conversation, site: str) -> Iterator[str]:
    agent = agent_name(conversation.agent_id)
    talks_with = gettext("With {agent}.").format(agent=agent)
    yield f"# {conversation.title or gettext('New chat')}\n\n{talks_with}\n"
    for message in messages_of(conversation):
        yield "".join(f"\n{part}\n" for part in message_parts(conversation, message, agent))
    for plan in plans_of(conversation):
        with suppress(NotFound):  # deleted meanwhile
            yield f"\n---\n\n{plan_markdown(plan, site)}"


def message_parts(conversation: Conversation, message: Message, agent: str) -> Iterator[str]:
    calls = list(message.tool_calls.all())
    files = [each.name for each in message.attachments]
    if not (message.text.strip() or calls or files):
        return
    name = NAMES.get(message.role, agent)
    about = [str(name), f"{message.created_at:%Y-%m-%d %H:%M} UTC"]
    if message.kind not in (Message.Kind.TEXT, Message.Kind.NOTICE):
        about.append(str(KINDS.get(Message.Kind(message.kind), message.kind)))
    if message.seq <= conversation.cleared_seq:
        about.append(gettext("cleared"))
    if message.hidden:
        about.append(gettext("in an alternative that is not shown"))
    yield f"## {commas(about)}"
    if message.text.strip():
        yield message.text.strip()
    if files:
        yield gettext("Attached: {files}").format(files=commas(files))
    for call in calls:
        yield call_markdown(call)


def call_markdown(call: ToolCall) -> str:
    """Fenced by more backticks than stand within."""
    arguments = json.dumps(call.arguments, ensure_ascii=False, indent=2)
    body = f"{arguments}\n\n{call.result}".rstrip()
    fence = "```"
    while fence in body:
        fence += "`"
    return f"**{call.tool}** ({STATES.get(call.state, call.state)})\n\n{fence}\n{body}\n{fence}"
