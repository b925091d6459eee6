"""/api/search: a person's conversations, messages and plans by their words."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Generic, Literal, TypeVar

from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field

from agents.words import LONGEST_QUESTION, Question, question_of
from console import finding
from console.api.auth import person
from console.api.shapes import PageNumber, answers
from console.finding import Found

router = Router(tags=["search"])
T = TypeVar("T")


class PieceShape(Schema):
    text: str
    found: bool = Field(alias="is_found")


class FoundConversationShape(Schema):
    id: int
    title: str
    agent: str
    archived: bool = Field(alias="is_archived")
    updated_at: datetime
    snippet: list[PieceShape]


class FoundMessageShape(Schema):
    """`shown` is false for what was cleared, and in an alternative that is not shown."""

    id: int
    conversation: int
    title: str
    role: str
    shown: bool = Field(alias="is_shown")
    created_at: datetime
    snippet: list[PieceShape]


class FoundPlanShape(Schema):
    id: int = Field(alias="summary.id")
    conversation: int = Field(alias="summary.conversation_id")
    title: str = Field(alias="summary.title")
    standing: str = Field(alias="summary.status.name")
    created_at: datetime = Field(alias="summary.created_at")
    snippet: list[PieceShape]


class FoundShape(Schema, Generic[T]):
    """`count` ends at 200, or with the page; `more` says whether there are others."""

    items: list[T]
    count: int
    more: bool = Field(alias="is_more")


class SearchShape(Schema):
    conversations: FoundShape[FoundConversationShape]
    messages: FoundShape[FoundMessageShape]
    plans: FoundShape[FoundPlanShape]


Kind = Literal["all", "conversations", "messages", "plans"]
Words = Annotated[str, Query(max_length=LONGEST_QUESTION)]
Limit = Annotated[int, Query(ge=1, le=50)]


@router.get("", response=answers(SearchShape))
def find(
    request: HttpRequest, q: Words = "", kind: Kind = "all", limit: Limit = 5, page: PageNumber = 1
) -> dict[str, object]:
    """What has all words of `q`, or words that begin so; the newest first, `limit` of each kind.

    Letter case and accents do not count, and no sign in `q` means anything.
    """
    question, owner, start = question_of(q), person(request).pk, (page - 1) * limit
    ways: dict[str, Callable[[int, Question, int, int], Found[object]]] = {
        "conversations": finding.find_conversations,
        "messages": finding.find_messages,
        "plans": finding.find_plans,
    }
    return {
        name: way(owner, question, start, limit) if kind in ("all", name) else Found([])
        for name, way in ways.items()
    }
