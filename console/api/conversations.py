"""/api/conversations: what is said, and the plan of a conversation."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseNotModified, JsonResponse
from ninja import Router
from ninja.responses import Status

from agents import actions
from agents.agent_file.owners import agent_of
from agents.models import Conversation
from console import commands
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
def list_messages(request: HttpRequest, id: int, after: int = 0) -> Document:
    """Oldest first, from the last /clear on; `count` is how many come after `after`."""
    conversation = conversation_of(request, id)
    start = max(after, conversation.cleared_seq)
    rows = conversation.messages.filter(seq__gt=start).prefetch_related("tool_calls")
    items = [message_shape(row) for row in rows.order_by("seq")[:MOST_MESSAGES]]
    return {"items": items, "count": rows.count()}


@router.post("/{id}/messages", response=answers(Said, 404, 409, status=202))
def say(request: HttpRequest, id: int, body: NewMessage) -> Status[Document]:
    """What a person types: a message, a command, or a word that approves a plan."""
    conversation = conversation_of(request, id)
    said = commands.say(conversation, body.text, person(request).username, body.plan_version)
    document = {"message": message_shape(said.message), "turn": turn_shape(said.turn)}
    return Status(202, document | {"conversation": said.conversation.pk})


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
def cancel_asking(request: HttpRequest, id: int) -> Status[None]:
    """Ends the asking for a plan that is not there yet."""
    plan_actions.cancel_asking(conversation_of(request, id), person(request).username)
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
