"""/api/plans/{id}/…/comment: what is said about subtasks before a yes, and its way to the agent."""

from __future__ import annotations

from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Router
from ninja.responses import Status
from pydantic import Field

from agents.models import Turn
from console.api.plans import Version, opened, plan_response
from console.api.shapes import Body, TurnShape, answers
from console.throttling import count_message
from plans import actions
from plans.comments import MOST_CHARACTERS
from plans.schemas import VISIBLE, Text
from plans.snapshot import PlanSnapshot

router = Router(tags=["plans"])


class Comment(Body):
    text: Annotated[str, Field(max_length=MOST_CHARACTERS, json_schema_extra={"pattern": VISIBLE})]


class CommentsSent(Body):
    """`text` is about the plan as a whole; it comes first."""

    text: Text = ""


@router.put("/{id}/subtasks/{key}/comment", response=answers(PlanSnapshot, 404, 409))
def keep_comment(request: HttpRequest, id: int, key: str, body: Comment) -> HttpResponse:
    """Keep it until it is sent; it takes the place of the one that is there."""
    plan, by, _ = opened(request, id, key=key)
    return plan_response(actions.keep_comment(plan, key, body.text, by))


@router.delete("/{id}/subtasks/{key}/comment", response=answers(PlanSnapshot, 404, 409))
def remove_comment(request: HttpRequest, id: int, key: str) -> HttpResponse:
    plan, by, _ = opened(request, id, key=key)
    return plan_response(actions.remove_comment(plan, key, by))


@router.post("/{id}/comments/send", response=answers(TurnShape, 404, 409, 412, status=202))
def send_comments(
    request: HttpRequest, id: int, body: CommentsSent | None = None, if_match: Version = None
) -> Status[Turn]:
    """All kept comments go to the agent in one message; a new version then waits for a yes."""
    plan, by, version = opened(request, id, if_match)
    count_message(plan.conversation.owner_id)
    return Status(202, actions.send_comments(plan, by, version, body.text if body else ""))
