"""The list of conversations: by agent, or by the day they last changed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from agents.agent_file.record import AgentRecord
from agents.models import Conversation
from plans.models import Subtask

MOST = 200  # conversations listed


@dataclass(frozen=True)
class Row:
    """One conversation as the sidebar's row shows it; `shape` is its plan's mark, if it has one."""

    pk: int
    title: str
    seq: int
    updated_at: object
    agent_id: str
    shape: str
    is_current: bool


@dataclass
class Group:
    name: str
    icon: str
    rows: list[Row]


def grouped(
    user: User, agents: list[AgentRecord], *, by_date: bool, current: int | None
) -> list[Group]:
    names = {agent.id: agent.file.name for agent in agents}
    groups: dict[str, Group] = {}
    for conversation in newest(user):
        name = (
            day_of(conversation.updated_at.date())
            if by_date
            else names.get(conversation.agent_id, conversation.agent_id)
        )
        group = groups.setdefault(name, Group(name, "" if by_date else "agent", []))
        group.rows.append(row_of(conversation, current))
    return list(groups.values())


def newest(user: User) -> QuerySet[Conversation]:
    mine = Conversation.objects.filter(owner=user, parent_call=None)
    left = Subtask.objects.filter(plan=OuterRef("active_plan__plan"), state="todo")
    failed = left.filter(position__isnull=False, attempts__error__gt="")
    rows = mine.select_related("active_plan__plan").annotate(has_failed=Exists(failed))
    return rows.order_by("-updated_at", "-pk")[:MOST]


def row_of(conversation: Conversation, current: int | None) -> Row:
    return Row(
        pk=conversation.pk,
        title=conversation.title,
        seq=conversation.seq,
        updated_at=conversation.updated_at,
        agent_id=conversation.agent_id,
        shape=shape_of(conversation),
        is_current=conversation.pk == current,
    )


def shape_of(conversation: Conversation) -> str:
    """Told from the plan's row alone: the list does not read every checklist."""
    pointer = getattr(conversation, "active_plan", None)
    plan = pointer.plan if pointer else None
    if plan is None or plan.state == "abandoned":
        return ""
    if plan.state == "done":
        return "done"
    if conversation.has_failed and plan.run == "idle":  # type: ignore[attr-defined]  # annotated
        return "failed"
    if plan.version != plan.approved_version or plan.pause_reason not in ("", "user"):
        return "waiting"
    return "paused" if plan.run in ("paused", "idle") else "in_progress"


def day_of(day: date) -> str:
    today = timezone.now().date()
    if day == today:
        return "Today"
    if day == today - timedelta(days=1):
        return "Yesterday"
    return "Last 7 days" if day > today - timedelta(days=7) else f"{day:%B %Y}"
