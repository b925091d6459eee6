"""/api/needs: what waits for the person, in all of their conversations."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from django.http import HttpRequest
from ninja import Router, Schema

from agents.models import Conversation, ToolCall
from console.api.auth import person
from console.api.shapes import Page, ToolCallShape, answers
from plans.models import Plan
from plans.needs import needs_of

router = Router(tags=["conversations"])
Kind = Literal[
    "approval",
    "question",
    "start",
    "failed",
    "budget",
    "unanswered",
    "halted",
    "check",
    "regressed",
]


class NeedShape(Schema):
    """One thing that waits; `call` is what asks, `plan` and `version` what rests. To `unanswered`,
    a plan that was asked for and answered in words alone, one answers with a message."""

    key: str
    kind: Kind
    conversation: int
    agent: str
    title: str
    since: datetime
    call: ToolCallShape | None
    plan: int | None
    version: int | None


@router.get("", response=answers(Page[NeedShape]))
def list_needs(request: HttpRequest) -> dict[str, object]:
    """Failed plans first, then what waits, the oldest first. It is answered by the verbs of what is
    named: `POST /tool-calls/{id}/decide`, a message, `POST /plans/{id}/approve` and so on."""
    needs = needs_of(person(request).pk)
    talks = Conversation.objects.in_bulk({need.conversation for need in needs})
    calls = ToolCall.objects.in_bulk({need.call for need in needs if need.call})
    titles = dict(Plan.objects.filter(pk__in=[n.plan for n in needs]).values_list("pk", "title"))
    items = [
        {
            **{name: getattr(need, name) for name in ("key", "kind", "conversation", "since")},
            "agent": talks[need.conversation].agent_id,
            "title": titles.get(need.plan) or talks[need.conversation].title,
            "call": calls.get(need.call),
            "plan": need.plan or None,
            "version": need.version or None,
        }
        for need in needs
        if need.conversation in talks  # deleted meanwhile
    ]
    return {"items": items, "count": len(items)}
