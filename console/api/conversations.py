"""/api/conversations and /api/tool-calls: what is said, and decisions on calls that ask."""

from __future__ import annotations

from typing import Literal

from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseNotModified, JsonResponse
from ninja import Router
from ninja.responses import Status

from agents import actions, conversations
from agents.config.ownership import agent_of
from agents.models import Conversation, ToolCall, Turn
from agents.tools.images import SIZES
from console import chat_commands
from console.api.auth import call_of, conversation_of, person
from console.api.shapes import (
    AcceptedMessage,
    Body,
    ConversationPatch,
    ConversationShape,
    MessageShape,
    NewConversation,
    NewMessage,
    Page,
    PageNumber,
    ToolCallShape,
    TurnShape,
    accepted,
    answers,
    page_of,
    with_alternatives,
)
from console.call_images import image_response
from console.call_progress import progress_tag
from console.exports import exported
from plans import actions as plan_actions
from plans.expected_version import Expected, VersionConflict
from plans.snapshot import PlanSnapshot
from plans.snapshot_reading import conversation_snapshot

router = Router(tags=["conversations"])
tool_calls = Router(tags=["conversations"])
Document = dict[str, object]
BINARY = {"type": "string", "format": "binary"}
# Generators of clients leave out an answer of which they know no type: bytes they know.
IMAGE_CONTENT = {kind: {"schema": BINARY} for kind in (*SIZES, "application/octet-stream")}
EXPORTED = {
    "text/markdown": {"schema": {"type": "string"}},
    "application/json": {"schema": {"type": "object"}},
}
# What one answer brings at most; the next one goes on after its last seq.
MOST_MESSAGES = 500


class Decision(Body):
    decision: Literal["allow_once", "always", "deny"]
    reason: str = ""


@router.get("", response=answers(Page[ConversationShape]))
def list_conversations(request: HttpRequest, agent: str = "", page: PageNumber = 1) -> Document:
    """Newest first; those of sub-agents are not among them."""
    rows = Conversation.objects.filter(owner=person(request), deleted_at=None, parent_call=None)
    rows = rows.filter(agent_id=agent) if agent else rows
    items, count = page_of(rows.select_related("active_plan").order_by("-updated_at"), page)
    return {"items": items, "count": count}


@router.post("", response=answers(ConversationShape, 404, status=201))
def create_conversation(request: HttpRequest, body: NewConversation) -> Status[Conversation]:
    agent = agent_of(person(request), body.agent)
    return Status(201, actions.create_conversation(person(request), agent.id))


@router.get("/{id}", response=answers(ConversationShape, 404))
def get_conversation(request: HttpRequest, id: int) -> Conversation:
    return conversation_of(request, id)


@router.patch("/{id}", response=answers(ConversationShape, 404))
def change_conversation(request: HttpRequest, id: int, body: ConversationPatch) -> Conversation:
    """Changes what the body names, and nothing else."""
    conversation, by = conversation_of(request, id), person(request).username
    with transaction.atomic():
        if "title" in body.model_fields_set:
            actions.rename_conversation(conversation, body.title, by)
        if "model" in body.model_fields_set:
            actions.choose_model(conversation, body.model or "", by)
        if "pinned" in body.model_fields_set:
            conversations.pin_conversation(conversation, body.pinned, by)
        if "archived" in body.model_fields_set:
            conversations.archive_conversation(conversation, body.archived, by)
    return conversation_of(request, id)


@router.delete("/{id}", response=answers(None, 404, 409, status=204))
def delete_conversation(request: HttpRequest, id: int) -> Status[None]:
    """It does not exist from now on; for a day `restore` takes that back. What runs is stopped."""
    conversations.delete_conversation(conversation_of(request, id), person(request).username)
    return Status(204, None)


@router.post("/{id}/restore", response=answers(ConversationShape, 404))
def restore_conversation(request: HttpRequest, id: int) -> Conversation:
    """Takes back that it was deleted; what was stopped stays stopped."""
    user = person(request)
    return conversations.restore_conversation(user, id, user.username)


@router.get(
    "/{id}/export",
    response=answers(None, 404),
    openapi_extra={"responses": {200: {"content": EXPORTED}}},
)
def export(request: HttpRequest, id: int, format: Literal["md", "json"] = "md") -> HttpResponse:
    """The whole conversation: what was cleared, all alternatives, tool calls and plans too."""
    return exported(request, conversation_of(request, id), format)


@router.get("/{id}/messages", response=answers(Page[MessageShape], 404))
def list_messages(
    request: HttpRequest,
    id: int,
    after: int = 0,
    cleared: bool = False,
    alternatives: Literal["shown", "all"] = "shown",
) -> Document:
    """Oldest first, from the last /clear on; `count` is how many come after `after`.

    With `cleared`, what was said before that /clear instead. With `alternatives=all` those that are
    not shown too, each with `alternative` and `hidden`.
    """
    conversation = conversation_of(request, id)
    rows = conversation.messages.filter(seq__gt=after).prefetch_related("tool_calls__file_change")
    rows = rows if alternatives == "all" else rows.filter(hidden=False)
    limit = conversation.cleared_seq
    rows = rows.filter(seq__lte=limit) if cleared else rows.filter(seq__gt=limit)
    items = with_alternatives(conversation, rows.order_by("seq")[:MOST_MESSAGES])
    return {"items": items, "count": rows.count()}


@router.post("/{id}/messages", response=answers(AcceptedMessage, 404, 409, status=202))
def say(request: HttpRequest, id: int, body: NewMessage) -> Status[Document]:
    """What a person types: a message, a command, or an approval of the plan.

    An approval of another plan or version than the current one is refused, and not kept.
    One that names no plan and version is kept like any message, starts nothing, and is `refused`.
    """
    conversation, by = conversation_of(request, id), person(request).username
    seen = None
    if body.plan is not None and body.plan_version is not None:
        seen = Expected(body.plan, body.plan_version)
    with transaction.atomic():
        result = chat_commands.handle_message(
            conversation, body.text, by, seen, attached=body.attachments
        )
        if isinstance(result.refused, VersionConflict):
            raise result.refused
    return Status(202, accepted(result))


@router.post("/{id}/stop", response=answers(TurnShape | None, 404, 409, status=202))
def stop(request: HttpRequest, id: int) -> Status[Turn | None]:
    """Ends the reply that is being written; null when there is none."""
    turn = actions.stop_reply(conversation_of(request, id), person(request).username)
    return Status(202, turn)


@router.get("/{id}/plan", response=answers(PlanSnapshot | None, 404) | {304: None})
def get_plan(request: HttpRequest, id: int) -> HttpResponse:
    """The active plan or null. Its ETag is the conversation's seq, and how far a running call is:
    nothing else is read for a 304."""
    conversation = conversation_of(request, id)
    told = progress_tag(conversation.pk)
    tag = f'W/"{conversation.seq}-{told}"' if told else f'W/"{conversation.seq}"'
    if tag in request.headers.get("If-None-Match", ""):
        response: HttpResponse = HttpResponseNotModified()
    else:
        now = conversation_snapshot(conversation)
        response = JsonResponse(now.document() if now else None, safe=False)
    response.headers["ETag"] = tag
    response.headers["Cache-Control"] = "private, no-cache"
    return response


@router.post("/{id}/plan/cancel", response=answers(None, 404, 409, status=204))
def cancel_asking(request: HttpRequest, id: int, asking: int | None = None) -> Status[None]:
    """Ends the asking for a plan that is not there yet.

    With `asking`, the id of the message that asked, only that one: 409 when another is asked for.
    """
    plan_actions.cancel_request(conversation_of(request, id), person(request).username, asking)
    return Status(204, None)


@tool_calls.get(
    "/{id}/images/{number}",
    response=answers(None, 404),
    url_name="tool_call_image",
    openapi_extra={"responses": {200: {"content": IMAGE_CONTENT}}},
)
def get_image(request: HttpRequest, id: int, number: int) -> HttpResponse:
    """An image that the result of the call brought, counted from 1, as it came."""
    return image_response(call_of(request, id), number)


@tool_calls.post(
    "/{id}/decide",
    response=answers(ToolCallShape, 404, 409),
    operation_id="console_api_tool_calls_decide",
)
def decide(request: HttpRequest, id: int, body: Decision) -> ToolCall:
    """The same answer twice is harmless; another one after it is refused."""
    by = person(request).username
    return actions.decide_call(call_of(request, id), body.decision, by, body.reason)
