"""The list of conversations: pinned ones, then by agent, or by the day they last changed."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.db.models import (
    BigIntegerField,
    Count,
    Exists,
    F,
    FilteredRelation,
    Max,
    OuterRef,
    Q,
    QuerySet,
    Sum,
)
from django.db.models.fields.json import KT
from django.db.models.functions import Cast
from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext

from agents.config.ownership import agents_of
from agents.config.store import AgentRecord
from agents.models import Conversation, Turn
from agents.statements import prepared
from console.htmx import person
from console.language import shown_name
from console.status_labels import row_mark
from plans.models import OPEN
from plans.needs import AskingCall, asking_calls
from plans.status import most_urgent, status_of_asking, statuses_of

MOST = 200  # conversations listed

FINISHED = ("done", "own_check", "by_word", "undone")  # marks that are no news once they were seen


def group_of(wanted: str | None) -> str:
    return "date" if wanted == "date" else "agent"


def has_put_away(user: User) -> bool:
    """Whether there are archived conversations, or deleted ones that can be taken back."""
    own = Conversation.objects.filter(owner=user, parent_call=None)
    return own.filter(Q(archived_at__isnull=False) | Q(deleted_at__isnull=False)).exists()


def newest_but(owner: int, current: int) -> QuerySet[Conversation, Any]:
    """How many are listed and how many are pinned, how many events there were in those besides this
    one and when they were last looked at, and the number of this one's last event; no row for none.
    """
    own = Conversation.objects.filter(owner=owner, parent_call=None, deleted_at=None)
    others = ~Q(pk=current)
    of_owner = own.values("owner").annotate(
        count=Count("pk", filter=Q(archived_at=None)),
        pinned=Count("pinned_at"),
        happened=Sum("seq", filter=others),
        looked=Max("looked_at", filter=others),
        shown=Max("seq", filter=Q(pk=current)),
    )
    return of_owner.values_list("count", "pinned", "happened", "looked", "shown")


def sidebar_tag(user: User, group: str, current: int | None) -> tuple[str, int]:
    """Another one when a conversation has come, gone or changed, or a day has ended; one query.

    The conversation on the page does not count, as its socket brings its row; the number of its
    last event comes with the tag.
    """
    nothing = (0, 0, None, None, None)
    found = next(iter(newest_but(user.pk, current or 0)), nothing)
    count, pinned, changes, looked, shown = found
    seen = looked.isoformat() if looked else ""
    return f'"{group}-{count}-{pinned}-{changes or 0}-{seen}-{timezone.now().date()}"', shown or 0


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


class Listed(NamedTuple):
    """A conversation as the list reads it."""

    pk: int
    title: str
    seq: int
    updated_at: datetime
    agent_id: str
    plan: int | None  # the active one
    goal: str | None  # that a plan was asked for
    asking_message: int | None  # gone when it was taken back
    pinned_at: datetime | None
    is_written: bool  # by a turn that is at work on the plan that is asked for
    finished_at: datetime | None  # the active plan
    looked_at: datetime | None
    open_plan: int | None  # of several there is a row each

    @property
    def is_seen(self) -> bool:
        """Whether somebody has looked since its plan was finished."""
        return bool(self.finished_at and self.looked_at and self.finished_at <= self.looked_at)

    @property
    def wants_plan(self) -> bool:
        return bool(self.goal and self.asking_message)


@prepared
def listed_of(owner: int) -> QuerySet[Conversation, Any]:
    """Those of a person that changed last; the columns are those of `Listed`."""
    asked = Cast(KT("checkpoint__asked"), BigIntegerField())  # PostgreSQL has no jsonb = bigint
    at_work = Turn.objects.alias(asked=asked).filter(
        conversation=OuterRef("pk"),
        state__in=Turn.OPEN_STATES,
        asked=OuterRef("active_plan__asked_message"),
    )
    own = Conversation.objects.filter(
        owner=owner, parent_call=None, deleted_at=None, archived_at=None
    )
    own = own.annotate(open=FilteredRelation("plans", condition=Q(plans__state__in=OPEN)))
    rows = own.order_by(F("pinned_at").desc(nulls_last=True), "-updated_at", "-pk").values_list(
        "pk",
        "title",
        "seq",
        "updated_at",
        "agent_id",
        "active_plan__plan",
        "active_plan__asked_goal",
        "active_plan__asked_message",
        "pinned_at",
        Exists(at_work),
        "active_plan__plan__finished_at",
        "looked_at",
        "open",
    )
    return rows[:MOST]


def grouped(
    user: User, agents: list[AgentRecord], *, by_date: bool, current: int | None
) -> list[Group]:
    names = {agent.id: shown_name(agent.file) for agent in agents}
    groups: dict[str, Group] = {}
    listed = {}
    beside: dict[int, set[int]] = defaultdict(set)
    for each in (Listed(*row) for row in listed_of.rows(owner=user.pk)):
        listed[each.pk] = each
        if each.open_plan and each.open_plan != each.plan:
            beside[each.pk].add(each.open_plan)
    plans = {each.plan for each in listed.values() if each.plan}
    statuses = statuses_of(plans.union(*beside.values()))
    asking = defaultdict(list)
    for call in (AskingCall(*row) for row in asking_calls.rows(owner=user.pk)):
        asking[call.place].append(call)
    for each in listed.values():
        name = names.get(each.agent_id, each.agent_id)
        icon = "" if by_date else "agent"
        if each.pinned_at:
            name, icon = gettext("Pinned"), "pin"
        elif by_date:
            name = day_of(each.updated_at.date())
        own = status_of_asking(each.is_written) if each.wants_plan else statuses.get(each.plan or 0)
        others = [statuses[plan] for plan in beside[each.pk] if plan in statuses]
        calls = [call.is_question for call in asking[each.pk]]
        shape, word = row_mark(most_urgent(own, others), calls)
        if each.pk != current and shape in FINISHED and each.is_seen:
            shape, word = "", ""
        row = Row(
            pk=each.pk,
            title=each.title,
            seq=each.seq,
            updated_at=each.updated_at,
            agent_id=each.agent_id,
            shape=shape,
            word=word,
            is_current=each.pk == current,
        )
        groups.setdefault(icon + name, Group(name, icon, [])).rows.append(row)
    return list(groups.values())


def day_of(day: date) -> str:
    today = timezone.now().date()
    if day == today:
        return gettext("Today")
    if day == today - timedelta(days=1):
        return gettext("Yesterday")
    if day > today - timedelta(days=7):
        return gettext("Last 7 days")
    return date_format(day, "YEAR_MONTH_FORMAT")


def sidebar_context(request: HttpRequest, current: int | None) -> dict[str, object]:
    """The list of conversations as every page has it, grouped as this browser remembers."""
    user, group = person(request), group_of(request.COOKIES.get("group"))
    list_tag, _ = sidebar_tag(user, group, current)
    agents = agents_of(user)
    groups = grouped(user, agents, by_date=group == "date", current=current)
    return {
        "group": group,
        "agents": agents,
        "groups": groups,
        "list_tag": list_tag,
        "has_put_away": has_put_away(user),
    }
