"""Rows by id, for the person they belong to: everybody else gets the same 404 as for none."""

from __future__ import annotations

from django.http import HttpRequest

from agents.errors import Missing
from agents.models import Conversation, ToolCall
from console.api.auth import person
from plans.models import Plan, Subtask


def conversation_of(request: HttpRequest, id: int) -> Conversation:
    row = Conversation.objects.filter(pk=id, owner=person(request)).first()
    if row is None:
        raise Missing(f"There is no conversation {id}.")
    return row


def plan_of(request: HttpRequest, id: int) -> Plan:
    plans = Plan.objects.select_related("conversation")
    row = plans.filter(pk=id, conversation__owner=person(request)).first()
    if row is None:
        raise Missing(f"There is no plan {id}.")
    return row


def subtask_of(plan: Plan, key: str) -> Subtask:
    """A subtask of the checklist; removed ones live in versions and timeline only."""
    row = plan.subtasks.filter(key=key, position__isnull=False).first()
    if row is None:
        raise Missing(f"The plan has no subtask {key[:20]!r}.")
    return row


def call_of(request: HttpRequest, id: int) -> ToolCall:
    calls = ToolCall.objects.select_related("turn__conversation")
    row = calls.filter(pk=id, turn__conversation__owner=person(request)).first()
    if row is None:
        raise Missing(f"There is no tool call {id}.")
    return row
