"""A plan's page: when each subtask was worked on, every attempt, and what it all took."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Count, Q
from django.utils import timezone

from agents.models import ToolCall, Turn, TurnState
from plans.models import Attempt, Plan, Subtask

WIDE = 1000  # units of the gantt's drawing
THINNEST = 6  # units, so that a short attempt can be seen
WHY = {
    "transient": "The model was not to be had",
    "capacity": "The model was too busy",
    "logic": "Failed",
    "timeout": "Took too long",
    "interrupted": "Stopped",
}


@dataclass(frozen=True)
class Bar:
    """An attempt's place in time, in units of the drawing."""

    x: int
    width: int
    shape: str


@dataclass
class Work:
    """A subtask and the attempts at it."""

    subtask: Subtask
    attempts: list[Attempt] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)

    @property
    def seconds(self) -> float | None:
        times = [lasted(attempt.turn) for attempt in self.attempts if attempt.turn.started_at]
        return sum(times) if times else None


@dataclass
class Span:
    """From the first start to the last end (or now), in seconds, and what of it was waiting."""

    started_at: datetime | None
    ended_at: datetime | None
    worked: float = 0.0
    waited: float = 0.0

    @property
    def seconds(self) -> float:
        if self.started_at is None or self.ended_at is None:
            return 0.0
        return (self.ended_at - self.started_at).total_seconds()

    @property
    def says_waiting(self) -> bool:
        return self.waited >= 1


def works_of(plan: Plan) -> list[Work]:
    """All subtasks that are in the list or were ever tried, in the list's order."""
    attempts: defaultdict[int, list[Attempt]] = defaultdict(list)
    calls = Count("turn__tool_calls", filter=~Q(turn__tool_calls__state=""))
    rows = Attempt.objects.filter(subtask__plan=plan).select_related("turn")
    for attempt in rows.annotate(calls=calls).order_by("number"):
        attempts[attempt.subtask_id].append(attempt)
    subtasks = plan.subtasks.filter(Q(position__isnull=False) | Q(pk__in=attempts))
    ordered = sorted(subtasks, key=lambda s: (s.position is None, s.position or 0, s.pk))
    return [Work(subtask, attempts[subtask.pk]) for subtask in ordered]


def span_of(plan: Plan, works: Iterable[Work]) -> Span:
    turns = [attempt.turn for work in works for attempt in work.attempts]
    begun = [turn for turn in turns if turn.started_at]
    if not begun:
        return Span(None, None)
    started = min(turn.started_at for turn in begun if turn.started_at)
    span = Span(started, max(end_of(turn) for turn in begun))
    span.waited = waited(plan)
    span.worked = max(0.0, sum(lasted(turn) for turn in begun) - span.waited)
    return span


def draw(works: Iterable[Work], span: Span) -> None:
    """Put each attempt at its place between the first start and the last end."""
    whole = span.seconds or 1.0
    for work in works:
        work.bars = [bar_of(a, span, whole) for a in work.attempts if a.turn.started_at]


def bar_of(attempt: Attempt, span: Span, whole: float) -> Bar:
    turn = attempt.turn
    assert turn.started_at
    assert span.started_at
    before = (turn.started_at - span.started_at).total_seconds()
    width = max(THINNEST, round(WIDE * lasted(turn) / whole))
    return Bar(min(round(WIDE * before / whole), WIDE - width), width, shape_of(attempt))


def shape_of(attempt: Attempt) -> str:
    if attempt.turn.is_open:
        return "waiting" if attempt.turn.state == TurnState.WAITING else "in_progress"
    if attempt.failure_class == Attempt.FailureClass.INTERRUPTED:
        return "abandoned"
    return "failed" if attempt.error else "done"


def said_of(attempt: Attempt) -> str:
    """How an attempt went, in a few words."""
    if attempt.turn.is_open:
        return "Waiting for you" if attempt.turn.state == TurnState.WAITING else "Under way"
    return WHY.get(attempt.failure_class, "Done")


def waited(plan: Plan) -> float:
    """Seconds in which its calls waited for a person's answer."""
    calls = ToolCall.objects.filter(turn__attempt__subtask__plan=plan, asked_at__isnull=False)
    return sum(wait_of(call) for call in calls)


def wait_of(call: ToolCall) -> float:
    """A question's `started_at` lies before it was asked; its answer closes it."""
    assert call.asked_at
    ends = [end for end in (call.started_at, call.finished_at) if end and end > call.asked_at]
    return (min(ends, default=timezone.now()) - call.asked_at).total_seconds()


def lasted(turn: Turn) -> float:
    if turn.started_at is None:
        return 0.0
    return (end_of(turn) - turn.started_at).total_seconds()


def end_of(turn: Turn) -> datetime:
    return turn.finished_at or timezone.now()
