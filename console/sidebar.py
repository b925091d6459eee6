"""The list of conversations: by agent, or by the day they last changed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from django.contrib.auth.models import User
from django.db.models import Case, Count, Exists, Max, OuterRef, When
from django.utils import timezone

from agents.config.store import AgentRecord
from agents.models import Conversation, Lane, Turn, TurnState
from console.pending_approvals import asks_a_person
from console.status_labels import UNANSWERED, WRITING
from plans.models import ActivePlan
from plans.standing import Standing, standings_of

MOST = 200  # conversations listed


@dataclass(frozen=True)
class Row:
    """One conversation in the sidebar; `shape` and `word` are its plan's, if it has one."""

    pk: int
    title: str
    seq: int
    updated_at: object
    agent_id: str
    shape: str
    word: str
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
    chat = Turn.objects.filter(conversation=OuterRef("pk"), lane=Lane.CHAT)
    ended = [TurnState.DONE, TurnState.FAILED, TurnState.STOPPED]
    own = Conversation.objects.filter(owner=user, parent_call=None).select_related("active_plan")
    own = own.annotate(asks=Case(When(asks_a_person(), then=True), default=False))
    own = own.annotate(answers=Exists(chat.exclude(state__in=ended)))
    conversations = list(own.order_by("-updated_at", "-pk")[:MOST])
    plans = [pointer.plan_id for c in conversations if (pointer := pointer_of(c)) is not None]
    standings = standings_of(plan for plan in plans if plan)
    for conversation in conversations:
        name = names.get(conversation.agent_id, conversation.agent_id)
        if by_date:
            name = day_of(conversation.updated_at.date())
        shape, word = mark_of(conversation, standings)
        row = Row(
            pk=conversation.pk,
            title=conversation.title,
            seq=conversation.seq,
            updated_at=conversation.updated_at,
            agent_id=conversation.agent_id,
            shape=shape,
            word=word,
            is_current=conversation.pk == current,
        )
        groups.setdefault(name, Group(name, "" if by_date else "agent", [])).rows.append(row)
    return list(groups.values())


def newest_among(user: User, current: int | None) -> str:
    """Other than before when one has come, gone or changed, or a day has ended; one short query.

    The conversation on the page does not count: its socket brings its row.
    """
    others = Conversation.objects.filter(owner=user, parent_call=None).exclude(pk=current or 0)
    newest = others.aggregate(count=Count("pk"), last=Max("updated_at"))
    last = newest["last"].isoformat() if newest["last"] else ""
    return f"{newest['count']}-{last}-{timezone.now().date()}"


def pointer_of(conversation: Conversation) -> ActivePlan | None:
    return getattr(conversation, "active_plan", None)


def mark_of(conversation: Conversation, standings: dict[int, Standing]) -> tuple[str, str]:
    """The mark of its plan and the word for it; a plan that was given up has none.

    What a call or a helper asks in an ordinary reply waits too.
    """
    pointer = pointer_of(conversation)
    standing = standings.get(pointer.plan_id or 0) if pointer else None
    if pointer and pointer.asked and not conversation.asks:  # type: ignore[attr-defined]
        mark = WRITING if conversation.answers else UNANSWERED  # type: ignore[attr-defined]
        return mark.shape, mark.word
    if standing is not None and standing.shape in ("failed", "waiting"):
        return standing.shape, standing.word
    if conversation.asks:  # type: ignore[attr-defined]  # annotated
        return "waiting", "Waiting for you"
    if standing is None or standing.shape == "abandoned":
        return "", ""
    return standing.shape, standing.word


def day_of(day: date) -> str:
    today = timezone.now().date()
    if day == today:
        return "Today"
    if day == today - timedelta(days=1):
        return "Yesterday"
    return "Last 7 days" if day > today - timedelta(days=7) else f"{day:%B %Y}"
