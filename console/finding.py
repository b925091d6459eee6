"""A person's own conversations, messages and plans, found by their words: for palette and API."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from django.db.models.functions import Substr
from django.utils.translation import gettext

from agents import search
from agents.models import Conversation, Message
from agents.search import Kind
from agents.words import Question
from console.snippets import MOST_READ, Piece, marked, snippet, spans_of
from plans.models import SUBTASK_TEXT, Plan, Subtask
from plans.search import PlanSummary, rows_of

MOST_COUNTED = 200  # of each kind, the newest; who turns pages comes further
Item = TypeVar("Item", covariant=True)


@dataclass(frozen=True)
class Found(Generic[Item]):
    """Some of what was found; with `is_more` there is more than was counted."""

    items: list[Item]
    count: int = 0
    is_more: bool = False


@dataclass(frozen=True)
class FoundConversation:
    id: int
    title: str
    agent: str
    is_archived: bool
    updated_at: datetime
    snippet: list[Piece]


@dataclass(frozen=True)
class FoundMessage:
    """`is_shown` while it is neither cleared nor in an alternative that is not shown."""

    id: int
    conversation: int
    title: str
    role: str
    is_shown: bool
    created_at: datetime
    snippet: list[Piece]


@dataclass(frozen=True)
class FoundPlan:
    """`snippet` is its title, or what else of it was found, which `where` names then."""

    summary: PlanSummary
    title: list[Piece]
    where: str
    snippet: list[Piece]


def find_conversations(
    owner: int, question: Question, start: int, count: int
) -> Found[FoundConversation]:
    hits, is_more = counted(owner, Kind.TITLE, question, start + count)
    rows = Conversation.objects.filter(pk__in=[hit.conversation for hit in hits])
    items = [
        FoundConversation(
            id=row.pk,
            title=row.title,
            agent=row.agent_id,
            is_archived=row.archived_at is not None,
            updated_at=row.updated_at,
            snippet=marked(row.title, question),
        )
        for row in rows.order_by("-updated_at", "-pk")[start : start + count]
    ]
    return Found(items, len(hits), is_more)


def find_messages(owner: int, question: Question, start: int, count: int) -> Found[FoundMessage]:
    hits, is_more = counted(owner, Kind.MESSAGE, question, start + count)
    wanted = [hit.message for hit in hits[start : start + count] if hit.message is not None]
    rows = Message.objects.filter(pk__in=wanted).select_related("conversation")
    rows = rows.only(
        "role", "seq", "hidden", "created_at", "conversation__title", "conversation__cleared_seq"
    )
    by_key = {row.pk: row for row in rows.annotate(beginning=Substr("text", 1, MOST_READ))}
    items = [
        FoundMessage(
            id=row.pk,
            conversation=row.conversation_id,
            title=row.conversation.title,
            role=row.role,
            is_shown=not row.hidden and row.seq > row.conversation.cleared_seq,
            created_at=row.created_at,
            snippet=snippet(row.beginning, question),
        )
        for key in wanted
        if (row := by_key.get(key)) is not None
    ]
    return Found(items, len(hits), is_more)


def find_plans(owner: int, question: Question, start: int, count: int) -> Found[FoundPlan]:
    hits, is_more = counted(owner, Kind.PLAN, question, start + count)
    wanted = [hit.plan for hit in hits[start : start + count] if hit.plan is not None]
    summaries = {row.id: row for row in rows_of(wanted)}
    plans = Plan.objects.in_bulk(list(summaries))
    items = [found_plan(plans[key], summaries[key], question) for key in wanted if key in plans]
    return Found(items, len(hits), is_more)


def found_plan(plan: Plan, summary: PlanSummary, question: Question) -> FoundPlan:
    """Where most of its words stand; the title is enough where they all do."""
    title = marked(plan.title, question)
    where, text = "", ""
    if found_in(plan.title, question) < len(question.parts):
        named = [("", text) for text in (plan.goal, plan.content, plan.outcome)]
        named += [("", plan.expected_outcome), *subtask_texts(plan)]
        best = max(named, key=lambda each: found_in(each[1], question))
        where, text = best if found_in(best[1], question) else ("", "")
    return FoundPlan(summary, title, where, snippet(text, question) if text else [])


def subtask_texts(plan: Plan) -> list[tuple[str, str]]:
    rows = Subtask.objects.filter(plan=plan, position__isnull=False).order_by("position")
    return [
        (gettext("Subtask {number}: ").format(number=row.position), text)
        for row in rows
        for text in (*(getattr(row, field) for field in SUBTASK_TEXT), row.outcome)
    ]


def found_in(text: str, question: Question) -> int:
    """How many places of the text have words of the question, each word once."""
    spans = spans_of(text[:MOST_READ], question)
    return len({text[start:end].casefold() for start, end in spans})


def counted(
    owner: int, kind: str, question: Question, wanted: int
) -> tuple[Sequence[search.Hit], bool]:
    most = max(MOST_COUNTED, wanted)
    hits = search.find(owner, kind, question, most + 1)
    return hits[:most], len(hits) > most
