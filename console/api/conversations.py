"""/api/conversations: what is said, and the plan of a conversation."""

from __future__ import annotations

from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseNotModified, JsonResponse
from ninja import Router
from ninja.responses import Status

from agents import actions
from agents.config.ownership import agent_of
from agents.models import Conversation
from console import chat_commands
from console.api.auth import person
from console.api.lookup import conversation_of
from console.api.messages import message_shape
from console.api.paging import PageNumber, page_of
from console.api.plan_shapes import PlanShape
from console.api.shapes import (
    ConversationPatch,
    ConversationShape,
    MessageShape,
    NewConversation,
    NewMessage,
    Page,
    Said,
    TurnShape,
    answers,
)
from console.api.turns import turn_shape
from plans import actions as plan_actions
from plans.expected_version import Expected, VersionConflict
from plans.snapshot import conversation_snapshot

router = Router(tags=["conversations"])
Document = dict[str, object]
# What one answer brings at most; the next one goes on after its last seq.
MOST_MESSAGES = 500


@router.get("", response=answers(Page[ConversationShape]))
def list_conversations(request: HttpRequest, agent: str = "", page: PageNumber = 1) -> Document:
    """Newest first; those of sub-agents are not among them."""
    rows = Conversation.objects.filter(owner=person(request), parent_call=None)
    rows = rows.filter(agent_id=agent) if agent else rows
    return page_of(rows.select_related("active_plan").order_by("-updated_at"), page, shape)


@router.post("", response=answers(ConversationShape, 404, status=201))
def create_conversation(request: HttpRequest, body: NewConversation) -> Status[Document]:
    agent = agent_of(person(request), body.agent)
    return Status(201, shape(actions.create_conversation(person(request), agent.id)))


@router.get("/{id}", response=answers(ConversationShape, 404))
def get_conversation(request: HttpRequest, id: int) -> Document:
    return shape(conversation_of(request, id))


@router.patch("/{id}", response=answers(ConversationShape, 404))
def rename_conversation(request: HttpRequest, id: int, body: ConversationPatch) -> Document:
    conversation = conversation_of(request, id)
    actions.rename_conversation(conversation, body.title, person(request).username)
    return shape(conversation_of(request, id))


@router.delete("/{id}", response=answers(None, 404, 409, status=204))
def delete_conversation(request: HttpRequest, id: int) -> Status[None]:
    actions.delete_conversation(conversation_of(request, id), person(request).username)
    return Status(204, None)


@router.get("/{id}/messages", response=answers(Page[MessageShape], 404))
def list_messages(request: HttpRequest, id: int, after: int = 0, cleared: bool = False) -> Document:
    """Oldest first, from the last /clear on; `count` is how many come after `after`.

    With `cleared`, what was said before that /clear instead.
    """
    conversation = conversation_of(request, id)
    rows = conversation.messages.filter(seq__gt=after).prefetch_related("tool_calls")
    limit = conversation.cleared_seq
    rows = rows.filter(seq__lte=limit) if cleared else rows.filter(seq__gt=limit)
    items = [message_shape(row) for row in rows.order_by("seq")[:MOST_MESSAGES]]
    return {"items": items, "count": rows.count()}


@router.post("/{id}/messages", response=answers(Said, 404, 409, status=202))
def say(request: HttpRequest, id: int, body: NewMessage) -> Status[Document]:
    """What a person types: a message, a command, or a word that approves a plan.

    A word that approves another plan or version than the current one is refused, and not kept.
    One that names no plan and version is kept like any message, starts nothing, and is `refused`.
    """
    conversation, by = conversation_of(request, id), person(request).username
    with transaction.atomic():
        said = chat_commands.handle_message(conversation, body.text, by, read_before(body))
        if isinstance(said.refused, VersionConflict):
            raise said.refused
    document: Document = {"message": message_shape(said.message), "turn": turn_shape(said.turn)}
    document |= {"notice": said.notice or None, "refused": said.refused is not None}
    return Status(202, document | {"conversation": said.conversation.pk})


def read_before(body: NewMessage) -> Expected | None:
    """The plan and version that were read, if both are named."""
    if body.plan is None or body.plan_version is None:
        return None
    return Expected(body.plan, body.plan_version)


@router.post("/{id}/stop", response=answers(TurnShape | None, 404, 409, status=202))
def stop(request: HttpRequest, id: int) -> Status[Document | None]:
    """Ends the reply that is being written; null when there is none."""
    turn = actions.stop_reply(conversation_of(request, id), person(request).username)
    return Status(202, turn_shape(turn))


@router.get("/{id}/plan", response=answers(PlanShape | None, 404) | {304: None})
def get_plan(request: HttpRequest, id: int) -> HttpResponse:
    """The active plan or null. Its ETag is the conversation's seq: nothing is read for a 304."""
    conversation = conversation_of(request, id)
    tag = f'W/"{conversation.seq}"'
    if tag in request.headers.get("If-None-Match", ""):
        response: HttpResponse = HttpResponseNotModified()
    else:
        response = JsonResponse(conversation_snapshot(conversation), safe=False)
    response.headers["ETag"] = tag
    response.headers["Cache-Control"] = "no-cache"
    return response


@router.post("/{id}/plan/cancel", response=answers(None, 404, 409, status=204))
def cancel_asking(request: HttpRequest, id: int, asking: int | None = None) -> Status[None]:
    """Ends the asking for a plan that is not there yet.

    With `asking`, the id of the message that asked, only that one: 409 when another is asked for.
    """
    plan_actions.cancel_request(conversation_of(request, id), person(request).username, asking)
    return Status(204, None)


def shape(conversation: Conversation) -> Document:
    active = getattr(conversation, "active_plan", None)
    return {
        "id": conversation.pk,
        "agent": conversation.agent_id,
        "title": conversation.title,
        "seq": conversation.seq,
        "plan": active.plan_id if active else None,
        "created_at": conversation.created_at,
        "updated_at": conversation.updated_at,
    }
