"""What waits for a person, in all of their conversations: the one place that says so.

Title, icon, sidebar, the page "Needs you", notifications and the API read this. What counts is a
thing, not a conversation: a call that asks, a question, a plan to start, one that has failed, one
whose budget is used up or one of whose checks could not be run, one that is not true any more, one
that rests before its end until somebody says go on, and one that was asked for and answered in
words alone. A pause does not count, nor does a proposal of an alternative that is not shown, nor
what rests in a conversation that was put away. What an agent asks that works for another one counts
once, where the person is.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple, cast

from django.db.models import (
    BigIntegerField,
    BooleanField,
    Case,
    CharField,
    Exists,
    F,
    Func,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Cast, Concat

from agents.models import Event, Lane, Message, ToolCall, Turn, TurnState
from agents.statements import one_of_open, prepared
from plans.models import OPEN, ActivePlan, Attempt, CheckResult, Plan, Run, State
from plans.status import failed_subtasks, statuses_of
from plans.verification import maybe_untrue, untrue_since

MOST = 500  # of each kind that are looked at


class NeedKind(StrEnum):
    """What it is that waits."""

    APPROVAL = "approval"
    QUESTION = "question"
    START = "start"
    FAILED = "failed"
    BUDGET = "budget"
    UNANSWERED = "unanswered"
    HALTED = "halted"
    CHECK = "check"
    REGRESSED = "regressed"


class Need(NamedTuple):
    """One thing that waits. `key` names it for as long as it waits, and nothing else ever.

    `conversation` is where the person is; `call` is what asks, `plan` what rests at `version`,
    `asking` the message that asked for a plan.
    """

    key: str
    kind: NeedKind
    conversation: int
    since: datetime
    call: int = 0
    plan: int = 0
    version: int = 0
    asking: int = 0


# What of a plan's status is a need; approvals and questions are needs of their calls.
KINDS = {
    "failed": NeedKind.FAILED,
    "regressed": NeedKind.REGRESSED,
    "budget": NeedKind.BUDGET,
    "check": NeedKind.CHECK,
    "halted": NeedKind.HALTED,
    "confirm": NeedKind.START,
    "document": NeedKind.START,
}


def needs_of(owner: int) -> list[Need]:
    """Failed plans first, then what waits, the oldest first; at most nine queries, two more where
    agents ask in a run, and six where something is no longer true. Of a plan one need, the most
    pressing."""
    resting = {row[0]: RestingPlan(*row) for row in resting_plans.rows(owner=owner)}
    untrue = {row[0]: row for row in maybe_regressed_plans.rows(owner=owner)}
    needs = [AskingCall(*row).need for row in asking_calls.rows(owner=owner)]
    regressed = []
    for plan, status in statuses_of({**resting, **untrue}).items():
        kind = KINDS.get(status.name)
        if kind == NeedKind.REGRESSED and plan in untrue:
            regressed.append(plan)
        elif kind and kind != NeedKind.REGRESSED and plan in resting:
            needs.append(resting[plan].need(kind))
    needs += [need_of_regressed(at, *untrue[plan]) for plan, at in untrue_since(regressed).items()]
    needs += [need_of_request(*row) for row in unanswered_requests.rows(owner=owner)]
    return sorted(needs, key=lambda need: (need.kind != NeedKind.FAILED, need.since, need.key))


class OwnedBy(Func):
    """Whose conversation it is. SQLite is to look that up last: what is open is found by an index
    of its own and is little, while a person's conversations are many. PostgreSQL counts them."""

    template = "%(expressions)s"
    arg_joiner = " = "
    output_field = BooleanField()

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        return self.as_sql(compiler, connection, template="+%(expressions)s", **extra)


class IsUnset(Func):
    """A column without a value, by which SQLite is not to search either."""

    template = "%(expressions)s IS NULL"
    output_field = BooleanField()

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        return self.as_sql(compiler, connection, template="+%(expressions)s IS NULL", **extra)


class AskingCall(NamedTuple):
    """A call that waits for a word; `root` is the person's conversation above that of the call."""

    pk: int
    tool: str
    asked_at: datetime | None
    queued_at: datetime
    conversation: int
    root: int | None

    @property
    def place(self) -> int:
        return self.root or self.conversation

    @property
    def is_question(self) -> bool:
        return self.tool == "ask_user"

    @property
    def need(self) -> Need:
        kind = NeedKind.QUESTION if self.is_question else NeedKind.APPROVAL
        since = self.asked_at or self.queued_at
        return Need(f"{kind}-{self.pk}", kind, self.place, since, call=self.pk)


@prepared
def asking_calls(owner: int) -> QuerySet[ToolCall, Any]:
    """The columns are those of `AskingCall`."""
    rows = ToolCall.objects.filter(
        one_of_open(Turn.OPEN_STATES, "turn__state"),
        OwnedBy("turn__conversation__owner", cast(Any, owner)),
        turn__state=TurnState.WAITING,
        turn__hidden=False,
        turn__conversation__deleted_at=None,
        state=ToolCall.State.ASKED,
        decision="",
    )
    facts = ("pk", "tool", "asked_at", "turn__queued_at")
    places = ("turn__conversation", "turn__conversation__root")
    return rows.order_by().values_list(*facts, *places)[:MOST]


class RestingPlan(NamedTuple):
    """An open plan in view that is not at work with a yes."""

    pk: int
    version: int
    conversation: int
    updated_at: datetime
    last_attempt: int | None
    rests_for: int | None  # what a check came to, or the event of the pause at a limit

    def need(self, kind: NeedKind) -> Need:
        occasions = {NeedKind.START: self.version, NeedKind.FAILED: self.last_attempt}
        occasions |= {NeedKind.HALTED: self.last_attempt or 0}
        key = f"{kind}-{self.pk}-{occasions.get(kind, self.rests_for or 0)}"
        since, where = self.updated_at, self.conversation
        return Need(key, kind, where, since, plan=self.pk, version=self.version)


@prepared
def resting_plans(owner: int) -> QuerySet[Plan, Any]:
    """The columns are those of `RestingPlan`."""
    own = Plan.objects.filter(
        one_of_open(OPEN, "state"), OwnedBy("conversation__owner", cast(Any, owner))
    )
    own = own.filter(IsUnset("conversation__parent_call"), IsUnset("conversation__deleted_at"))
    own = own.filter(Q(card=None) | Q(card__hidden=False))
    # Who puts a conversation away has seen what rests in it; what is in the midst of work counts.
    own = own.filter(Q(conversation__archived_at=None) | ~Q(run=Run.IDLE))
    # Another one is being asked for in its place: there is nothing to press.
    pointer = Q(conversation__active_plan__plan=F("pk"))
    asked = Q(conversation__active_plan__asked_message__isnull=False)
    own = own.exclude(pointer & asked & ~Q(conversation__active_plan__asked_goal=""))
    unconfirmed = Q(approved_version=None) | ~Q(approved_version=F("version"))
    rests = [Plan.PauseReason.BUDGET, Plan.PauseReason.CHECK]
    over = Q(run=Run.PAUSED, pause_reason__in=rests)
    replanning = Turn.objects.filter(
        one_of_open(Turn.OPEN_STATES, "state"),
        conversation=OuterRef("conversation"),
        checkpoint__has_key="replan",
    )
    halted = Q(run=Run.IDLE, run_options__halted=True)
    failed = Q(run=Run.IDLE) & Exists(failed_subtasks()) & ~Exists(replanning)
    last = Attempt.objects.filter(subtask__plan=OuterRef("pk")).order_by("-pk").values("pk")
    # Not those of what is done, which anybody may have checked again meanwhile.
    not_run = CheckResult.objects.filter(attempt__subtask__plan=OuterRef("pk"), passed=None)
    rests_for = Case(
        When(pause_reason=Plan.PauseReason.CHECK, then=newest(not_run, "pk")),
        When(pause_reason=Plan.PauseReason.BUDGET, then=newest(pauses_at_a_limit(), "seq")),
        output_field=BigIntegerField(),
    )
    rows = own.filter(unconfirmed | over | (halted & ~Exists(replanning)) | failed)
    facts = ("pk", "version", "conversation_id", "updated_at")
    return rows.values_list(*facts, Subquery(last[:1]), rests_for)[:MOST]


def newest(rows: QuerySet[Any], name: str) -> Subquery:
    return Subquery(rows.order_by(f"-{name}").values(name)[:1])


def pauses_at_a_limit() -> QuerySet[Event]:
    """Of one attempt there may be several, each at another limit."""
    subject = Concat(Value("plan:"), Cast(OuterRef("pk"), CharField()))
    events = Event.objects.filter(conversation=OuterRef("conversation"), type="run.paused")
    return events.filter(subject=subject, data__reason=Plan.PauseReason.BUDGET)


def need_of_regressed(
    since: datetime, plan: int, version: int, conversation: int, result: int | None
) -> Need:
    """Each time that a check says no it is a thing of its own."""
    key = f"{NeedKind.REGRESSED}-{plan}-{result or 0}"
    return Need(key, NeedKind.REGRESSED, conversation, since, plan=plan, version=version)


@prepared
def maybe_regressed_plans(owner: int) -> QuerySet[Plan, Any]:
    """Plans at rest, or finished, in which something that was done may not be true any more."""
    own = Plan.objects.filter(
        OwnedBy("conversation__owner", cast(Any, owner)),
        pk__in=maybe_untrue().values("plan"),
        run=Run.IDLE,
    )
    own = own.exclude(state=State.ABANDONED)
    own = own.filter(IsUnset("conversation__parent_call"), IsUnset("conversation__deleted_at"))
    own = own.filter(IsUnset("conversation__archived_at"))
    own = own.filter(Q(card=None) | Q(card__hidden=False))
    said = CheckResult.objects.filter(subtask__plan=OuterRef("pk"), passed=False)
    return own.values_list("pk", "version", "conversation_id", newest(said, "pk"))[:MOST]


def need_of_request(conversation: int, asking: int, since: datetime, last: int | None) -> Need:
    """Each answer in words is a thing of its own."""
    key = f"{NeedKind.UNANSWERED}-{asking}-{last or 0}"
    return Need(key, NeedKind.UNANSWERED, conversation, since, asking=asking)


@prepared
def unanswered_requests(owner: int) -> QuerySet[ActivePlan, Any]:
    """Plans that were asked for, where nobody is at work on one: the person's words are next."""
    own = ActivePlan.objects.filter(OwnedBy("conversation__owner", cast(Any, owner)))
    own = own.filter(asked_message__isnull=False).exclude(asked_goal="")
    own = own.filter(IsUnset("conversation__parent_call"), IsUnset("conversation__deleted_at"))
    own = own.filter(IsUnset("conversation__archived_at"))
    chat = Turn.objects.filter(conversation=OuterRef("pk"), lane=Lane.CHAT)
    at_work = chat.filter(one_of_open(Turn.OPEN_STATES, "state"))
    last = chat.filter(hidden=False).order_by("-pk")
    return own.exclude(Exists(at_work)).values_list(
        "pk", "asked_message", "conversation__updated_at", Subquery(last.values("pk")[:1])
    )[:MOST]


def last_words(conversation: int) -> str:
    """What the agent said last, of what is shown."""
    said = Message.objects.filter(
        conversation=conversation,
        role=Message.Role.ASSISTANT,
        kind=Message.Kind.TEXT,
        hidden=False,
    )
    return said.exclude(text="").order_by("-seq").values_list("text", flat=True).first() or ""


# What has ended lately, which is told but waits for nobody


def ended_of(owner: int, since: datetime, *, replies: bool) -> list[str]:
    """The keys of plans that have finished since then, and of replies in chats without a plan."""
    # What is newer than its conversation's last event is not there: few are looked at.
    own = Q(
        conversation__owner=owner,
        conversation__deleted_at=None,
        conversation__parent_call=None,
        conversation__updated_at__gt=since,
        finished_at__gt=since,
    )
    plans = Plan.objects.filter(own, state=State.DONE)
    keys = [f"done-{pk}" for pk in plans.values_list("pk", flat=True)[:MOST]]
    if replies:
        turns = Turn.objects.filter(own, lane=Lane.CHAT, state=TurnState.DONE)
        turns = turns.filter(conversation__active_plan__plan=None)
        keys += [f"reply-{pk}" for pk in turns.values_list("pk", flat=True)[:MOST]]
    return keys
