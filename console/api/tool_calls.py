"""/api/tool-calls: a person's word on a call that asks first."""

from __future__ import annotations

from typing import Literal

from django.http import HttpRequest
from ninja import Router

from agents.actions import decide_call
from console.api.auth import person
from console.api.lookup import call_of
from console.api.messages import call_shape
from console.api.shapes import Body, ToolCallShape, answers

router = Router(tags=["conversations"])


class Decision(Body):
    decision: Literal["allow_once", "always", "deny"]
    reason: str = ""


@router.post("/{id}/decide", response=answers(ToolCallShape, 404, 409))
def decide(request: HttpRequest, id: int, body: Decision) -> dict[str, object]:
    """The same answer twice is harmless; another one after it is refused."""
    by = person(request).username
    return call_shape(decide_call(call_of(request, id), body.decision, by, body.reason))
