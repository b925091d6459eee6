"""A person's plans, to be found again: filters, search, order and pages."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import (
    Case,
    Count,
    DurationField,
    Exists,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
    When,
)
from django.db.models.functions import Coalesce

from agents.engine.usage import worked_by_now
from agents.models import Lane, Turn, TurnState
from agents.search import Kind, find
from agents.search import index_plan as index_text
from agents.words import question_of
from plans.models import OPEN as PLAN_OPEN
from plans.models import SETTLED, SUBTASK_TEXT, Plan, State, Subtask
from plans.progress import approved_keys, done_words
from plans.status import Group, Status, facts_of, status_of, statuses_of
from plans.verification import maybe_untrue

NEEDS_ME = (Group.FAILED, Group.WAITING)
OPEN = (*NEEDS_ME, Group.RUNNING, Group.PAUSED, Group.STOPPED)
NEWEST = "-created"
MOST_FOUND = 1000  # plans with the words that are looked for, the newest


@dataclass(frozen=True)
class Query:
    """What is looked for. `sort` is a key of ORDERS, with - for descending.

    Plans of sub-agents belong to their parent's and are not listed, but for one `conversation`.
    """

    agent: str = ""
    conversation: int | None = None
    text: str = ""
    since: datetime | None = None
    until: datetime | None = None
    sort: str = NEWEST


@dataclass(frozen=True)
class PlanSummary:
    """One plan in a list; `seconds` and `tokens` are those of all attempts."""

    id: int
    conversation_id: int
    agent: str
    title: str
    status: Status
    version: int
    run: str
    settled: int
    total: int
    tokens: int
    seconds: float
    created_at: datetime
    parts: str  # 4 checked, 2 by word, 1 no longer true, 1 abandoned: what is settled, and how
    cost: Decimal | None = None


def search_plans(owner_id: int, wanted: Query) -> QuerySet[Plan]:
    """The plans that fit in all but how they stand."""
    rows = Plan.objects.filter(conversation__owner_id=owner_id, conversation__deleted_at=None)
    if wanted.conversation is not None:
        rows = rows.filter(conversation_id=wanted.conversation)
    else:
        rows = rows.filter(conversation__parent_call=None)
    rows = rows.filter(conversation__agent_id=wanted.agent) if wanted.agent else rows
    rows = rows.filter(created_at__gte=wanted.since) if wanted.since else rows
    rows = rows.filter(created_at__lt=wanted.until) if wanted.until else rows
    if wanted.text.replace("\0", " ").strip():
        hits = find(owner_id, Kind.PLAN, question_of(wanted.text), MOST_FOUND)
        rows = rows.filter(pk__in=[hit.plan for hit in hits])
    return rows


def in_groups(rows: QuerySet[Plan], groups: Sequence[str]) -> QuerySet[Plan]:
    if not groups:
        return rows
    found, _ = groups_of(rows)
    fits = Q(pk__in=[plan for plan, group in found.items() if group in groups])
    return rows.filter(fits | (Q(state__in=groups) & ~Q(pk__in=found)))


def counts(rows: QuerySet[Plan]) -> dict[str, int]:
    """How many plans are in which group."""
    found, settled = groups_of(rows)
    return dict.fromkeys(map(str, Group), 0) | (settled + Counter(map(str, found.values())))


def groups_of(rows: QuerySet[Plan]) -> tuple[dict[int, Group], Counter[str]]:
    """By plan, where a column does not say it: of those that are open, that may not be true any
    more or are being looked at again. Then how many all others are, which are called as their
    state is."""
    looked = Turn.objects.filter(lane=Lane.CHECK, plan=OuterRef("pk"), state=TurnState.WAITING)
    untrue = Q(pk__in=maybe_untrue().values("plan"))
    done = Q(state=State.DONE) & (untrue | Exists(looked))
    unsaid = Case(When(Q(state__in=PLAN_OPEN) | done, then="pk"))
    read = list(rows.order_by().values_list(unsaid, "state").annotate(n=Count("pk")))
    statuses = statuses_of(plan for plan, _, _ in read if plan)
    settled = Counter({state: n for plan, state, n in read if not plan})
    return {plan: status.group for plan, status in statuses.items()}, settled


def ordered(rows: QuerySet[Plan], sort: str) -> QuerySet[Plan]:
    """Only what the order needs is computed; equal ones come newest first."""
    key = sort.removeprefix("-")
    order = ORDERS[key](rows)
    if sort.startswith("-"):
        return rows.order_by(order.desc(nulls_last=True), "-pk")
    return rows.order_by(order.asc(nulls_first=True), "-pk")


def page(rows: QuerySet[Plan], sort: str, start: int, count: int) -> list[PlanSummary]:
    """Three queries: which plans, how they stand, then what is shown of them."""
    chosen = list(ordered(rows, sort).values_list("pk", flat=True)[start : start + count])
    rows_by_id = {row.id: row for row in rows_of(chosen)}
    return [rows_by_id[pk] for pk in chosen if pk in rows_by_id]


def rows_of(plan_ids: Sequence[int]) -> list[PlanSummary]:
    names = [each.name for each in fields(PlanSummary) if each.name not in ("status", "parts")]
    facts = facts_of(plan_ids)
    plans = Plan.objects.filter(pk__in=plan_ids).annotate(
        agent=F("conversation__agent_id"),
        settled=subtasks(Q(state__in=SETTLED)),
        total=subtasks(Q()),
        tokens=Coalesce(spent(Sum(TOKENS)), 0),
        seconds=seconds(),
        cost=spent(Sum("cost")),
    )
    return [
        PlanSummary(
            **row | {"seconds": (row["seconds"] or timedelta()).total_seconds()},
            status=status_of(of := facts[row["id"]]),
            parts=done_words(of.words, row["settled"] - sum(of.words.values())),
        )
        for row in as_approved(list(plans.values(*names)))
        if row["id"] in facts
    ]


def as_approved(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Where a version waits for its yes, what is counted is the one before it."""
    keys = approved_keys([row["id"] for row in rows if row["version"] > 1])
    settled = Subtask.objects.filter(plan__in=keys, state__in=SETTLED, position__isnull=False)
    found = set(settled.values_list("plan", "key")) if keys else set()
    for row in rows:
        if now := keys.get(row["id"]):
            row["total"], row["settled"] = len(now), sum((row["id"], key) in found for key in now)
    return rows


def by_group(rows: QuerySet[Plan]) -> Case:
    """The place of its group."""
    plans = defaultdict(list)
    for plan, group in groups_of(rows)[0].items():
        plans[group].append(plan)
    places = {group: Value(place) for place, group in enumerate(Group)}
    return Case(
        *(When(pk__in=each, then=places[group]) for group, each in plans.items()),
        *(When(state=each, then=places[Group(each)]) for each in SETTLED),
        output_field=IntegerField(),
    )


def subtasks(which: Q) -> Coalesce:
    """How many subtasks of the checklist are like that."""
    rows = Subtask.objects.filter(which, plan=OuterRef("pk"), position__isnull=False)
    counted = rows.order_by().values("plan").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted), 0)


def spent(total: Sum) -> Subquery:
    """A sum over the turns of all attempts; null when there were none."""
    turns = Turn.objects.filter(attempt__subtask__plan=OuterRef("pk")).order_by()
    return Subquery(turns.values("attempt__subtask__plan").annotate(n=total).values("n"))


def seconds() -> Subquery:
    """How long turns worked, up to now where they still do."""
    return spent(Sum(worked_by_now(), output_field=DurationField()))


TOKENS = F("tokens_in") + F("tokens_out")
ORDERS: dict[str, Callable[[QuerySet[Plan]], F | Case | Subquery]] = {
    "created": lambda _: F("pk"),
    "state": by_group,
    "duration": lambda _: seconds(),
    "tokens": lambda _: spent(Sum(TOKENS)),
}


# What a plan is found by: its own text and goal, and of each subtask text and outcome


def index_plan(plan: Plan) -> None:
    """After each change of what it is found by, in the same transaction."""
    rows = Subtask.objects.filter(plan=plan, position__isnull=False).order_by("position")
    subtasks = rows.values_list(*SUBTASK_TEXT, "outcome")
    texts = [*texts_of(plan), *(text for subtask in subtasks for text in subtask)]
    index_text(plan.conversation_id, plan.pk, "\n".join(texts))


def texts_of(plan: Plan) -> Iterator[str]:
    yield from (plan.title, plan.goal, plan.content, plan.expected_outcome, plan.outcome)
