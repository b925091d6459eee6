"""What a person says, and what they do with a reply."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse

from agents import actions
from agents.models import Conversation, Message, ToolCall
from agents.turns.children import ancestors
from console import commands
from console.answers import verb
from console.views.conversations import person


@verb(alert="say-alert")
def say(request: HttpRequest, conversation: Conversation) -> HttpResponse | None:
    """Whatever is typed goes through one door; the page names the plan's version it shows."""
    version = request.POST.get("plan_version", "")
    said = commands.say(
        conversation,
        request.POST.get("text", ""),
        person(request).username,
        plan_version=int(version) if version.isdecimal() else None,
    )
    actions.save_draft(conversation, "")
    if said.conversation.pk == conversation.pk:
        return None
    new = reverse("conversation", args=[said.conversation.pk])
    return HttpResponse(headers={"HX-Redirect": new})


@verb(alert="say-alert")
def stop(request: HttpRequest, conversation: Conversation) -> None:
    actions.stop_reply(conversation, person(request).username)


@verb(alert="say-alert")
def retry(request: HttpRequest, conversation: Conversation) -> None:
    actions.retry_reply(conversation, person(request).username)


@verb(alert="say-alert")
def discard(request: HttpRequest, conversation: Conversation, message: int) -> None:
    row = get_object_or_404(conversation.messages, pk=message, role=Message.Role.USER)
    actions.discard_queued(row, person(request).username)


@verb(alert="say-alert")
def try_now(request: HttpRequest, conversation: Conversation, message: int) -> None:
    """The model call that is held back goes at once."""
    row = get_object_or_404(conversation.messages, pk=message)
    if row.turn is None:
        raise Http404
    actions.try_now(row.turn, person(request).username)


@verb(alert="say-alert")
def decide(request: HttpRequest, conversation: Conversation, call: int) -> None:
    """A call of the conversation's own agent, or of one that works for it."""
    row = get_object_or_404(ToolCall, pk=call)
    above = [turn.conversation_id for turn in ancestors(row.turn.conversation)]
    if conversation.pk not in (row.turn.conversation_id, *above):
        raise Http404
    decision, reason = request.POST.get("decision", ""), request.POST.get("reason", "")
    actions.decide_call(row, decision, person(request).username, reason)
