"""A person's plans, to be found again: filters, search, order and pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from decimal import Decimal

from django.db.models import (
    Case,
    CharField,
    Count,
    DurationField,
    Exists,
    F,
    Field,
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
from agents.models import Message, Turn
from agents.search import Kind, find
from agents.words import question_of
from plans.models import LIVE, Plan, Run, State, Subtask
from plans.progress import done_words
from plans.standing import (
    HALTED,
    Standing,
    asked_calls,
    calls_of_checks,
    failed_subtasks,
    questions,
    questions_below,
    regressed_subtasks,
    standings_of,
)

# How a plan stands, the most pressing first; `standing` is one of these.
STANDINGS = ("failed", "waiting", "running", "paused", "stopped", "done", "abandoned")
NEEDS_ME = ("failed", "waiting")
OPEN = ("failed", "waiting", "running", "paused", "stopped")
NEWEST = "-created"
MOST_FOUND = 1000  # plans with the words that are looked for, the newest


# Of a plan that was given up only what was done counts: it did not come to 3 of 3.
GIVEN_UP = Q(plan__state=State.ABANDONED, state=State.ABANDONED)
COUNTED = Q(state__in=[State.DONE, State.ABANDONED]) & ~GIVEN_UP


@dataclass(frozen=True)
class Query:
    """What is looked for. `states` are standings; `sort` is a key of ORDERS, with - for descending.

    Plans of sub-agents belong to their parent's and are not listed, but for one `conversation`.
    """

    states: Sequence[str] = ()
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
    standing: Standing
    version: int
    run: str
    settled: int
    total: int
    checked: int
    by_word: int
    regressed: int
    tokens: int
    seconds: float
    created_at: datetime
    cost: Decimal | None = None

    @property
    def done_words(self) -> str:
        """4 checked, 2 by word, 1 no longer true: what is done, by what that is known."""
        return done_words(self.checked, self.by_word, self.regressed)


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


def standing_as(rows: QuerySet[Plan], states: Sequence[str]) -> QuerySet[Plan]:
    return rows.alias(standing=standing_group()).filter(standing__in=states) if states else rows


def counts(rows: QuerySet[Plan]) -> dict[str, int]:
    """How many plans stand how."""
    each = rows.order_by().annotate(standing=standing_group())
    counted = each.values_list("standing").annotate(n=Count("pk"))
    return dict.fromkeys(STANDINGS, 0) | dict(counted)


def ordered(rows: QuerySet[Plan], sort: str) -> QuerySet[Plan]:
    """Only what the order needs is computed; equal ones come newest first."""
    key = sort.removeprefix("-")
    order = ORDERS[key]()
    if sort.startswith("-"):
        return rows.order_by(order.desc(nulls_last=True), "-pk")
    return rows.order_by(order.asc(nulls_first=True), "-pk")


def page(rows: QuerySet[Plan], sort: str, start: int, count: int) -> list[PlanSummary]:
    """Three queries: which plans, how they stand, then what is shown of them."""
    chosen = list(ordered(rows, sort).values_list("pk", flat=True)[start : start + count])
    rows_by_id = {row.id: row for row in rows_of(chosen)}
    return [rows_by_id[pk] for pk in chosen if pk in rows_by_id]


def rows_of(plan_ids: Sequence[int]) -> list[PlanSummary]:
    names = [field.name for field in fields(PlanSummary) if field.name != "standing"]
    standings = standings_of(plan_ids)
    plans = Plan.objects.filter(pk__in=plan_ids).annotate(
        agent=F("conversation__agent_id"),
        settled=subtasks(COUNTED),
        total=subtasks(Q()),
        checked=subtasks(Q(state=State.DONE, verified=True)),
        by_word=subtasks(Q(state=State.DONE, verified=None)),
        regressed=subtasks(Q(state=State.DONE, verified=False)),
        tokens=Coalesce(spent(Sum(TOKENS)), 0),
        seconds=seconds(),
        cost=spent(Sum("cost")),
    )
    return [
        PlanSummary(
            **row | {"seconds": (row["seconds"] or timedelta()).total_seconds()},
            standing=standings[row["id"]],
        )
        for row in plans.values(*names)
        if row["id"] in standings
    ]


def standing_group() -> Case:
    """The group of its standing, told in the database for filters: see plans.standing."""
    return by_standing(Value, CharField())


def by_standing(value: Callable[[str], Value], field: Field[object, object]) -> Case:
    waits = Q(run__in=[*LIVE, Run.PAUSED])
    asks = waits & (Exists(questions()) | Exists(asked_calls()) | Exists(questions_below()))
    rests = [Plan.PauseReason.BUDGET, Plan.PauseReason.CHECK]
    over = Q(run=Run.PAUSED, pause_reason__in=rests)
    hidden = Q(Exists(Message.objects.filter(pk=OuterRef("card"), hidden=True)))
    regressed = Q(Exists(regressed_subtasks())) & ~hidden
    looks = Q(Exists(calls_of_checks())) & ~hidden
    is_over = Q(state=State.DONE)
    unconfirmed = Q(approved_version=None) | ~Q(approved_version=F("version"))
    return Case(
        When(is_over & (looks | regressed), then=value("waiting")),
        When(state=State.DONE, then=value("done")),
        When(state=State.ABANDONED, then=value("abandoned")),
        When(Q(run=Run.IDLE) & ~unconfirmed & Exists(failed_subtasks()), then=value("failed")),
        When(Q(run=Run.IDLE) & regressed, then=value("waiting")),
        When(asks | looks | over | (unconfirmed & ~hidden) | HALTED, then=value("waiting")),
        When(run=Run.PAUSED, then=value("paused")),
        When(run=Run.IDLE, then=value("stopped")),
        default=value("running"),
        output_field=field,
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
ORDERS: dict[str, Callable[[], F | Case | Subquery]] = {
    "created": lambda: F("pk"),
    "state": lambda: by_standing(lambda name: Value(STANDINGS.index(name)), IntegerField()),
    "duration": seconds,
    "tokens": lambda: spent(Sum(TOKENS)),
}
