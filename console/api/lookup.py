"""Rows by id, for the person they belong to: everybody else gets the same 404 as for none."""

from __future__ import annotations

from django.http import HttpRequest

from agents.errors import NotFound
from agents.models import Conversation, ToolCall
from agents.statements import fetch_models
from console.api.auth import person
from plans.models import Plan, Subtask

CONVERSATION = "SELECT * FROM agents_conversation WHERE id = %s AND owner_id = %s"
PLAN = """
SELECT p.* FROM plans_plan p JOIN agents_conversation c ON c.id = p.conversation_id
WHERE p.id = %s AND c.owner_id = %s
"""
SUBTASK = "SELECT * FROM plans_subtask WHERE plan_id = %s AND key = %s AND position IS NOT NULL"


def conversation_of(request: HttpRequest, id: int) -> Conversation:
    mine = fetch_models(Conversation, CONVERSATION, [id, person(request).pk])
    if not mine:
        raise NotFound(f"There is no conversation {id}.")
    return mine[0]


def plan_of(request: HttpRequest, id: int) -> Plan:
    mine = fetch_models(Plan, PLAN, [id, person(request).pk])
    if not mine:
        raise NotFound(f"There is no plan {id}.")
    return mine[0]


def subtask_of(plan: Plan, key: str) -> Subtask:
    """A subtask of the checklist; removed ones live in versions and timeline only."""
    listed = fetch_models(Subtask, SUBTASK, [plan.pk, key])
    if not listed:
        raise NotFound(f"The plan has no subtask {key[:20]!r}.")
    return listed[0]


def call_of(request: HttpRequest, id: int) -> ToolCall:
    calls = ToolCall.objects.select_related("turn__conversation")
    row = calls.filter(pk=id, turn__conversation__owner=person(request)).first()
    if row is None:
        raise NotFound(f"There is no tool call {id}.")
    return row
