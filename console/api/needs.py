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
    """One thing that waits; `call` is what asks, `plan` and `version` what rests, and `plan` the
    one that a call serves. To `unanswered`, a plan that was asked for and answered in words alone,
    one answers with a message."""

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
    called = ToolCall.objects.select_related("turn")
    calls = called.in_bulk({need.call for need in needs if need.call})
    served = {pk: call.turn.serves or 0 for pk, call in calls.items()}
    plans = {need.key: need.plan or served.get(need.call, 0) for need in needs}
    titles = dict(Plan.objects.filter(pk__in=plans.values()).values_list("pk", "title"))
    items = [
        {
            **{name: getattr(need, name) for name in ("key", "kind", "conversation", "since")},
            "agent": talks[need.conversation].agent_id,
            "title": titles.get(plans[need.key]) or talks[need.conversation].title,
            "call": calls.get(need.call),
            "plan": plans[need.key] or None,
            "version": need.version or None,
        }
        for need in needs
        if need.conversation in talks  # deleted meanwhile
    ]
    return {"items": items, "count": len(items)}
