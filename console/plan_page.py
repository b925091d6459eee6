"""A plan's page: how long each subtask was worked on, every attempt, and what it all took."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property

from django.db.models import Count, Q
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy

from agents.engine.usage import Times, duration, times_of
from agents.models import TurnState
from agents.sentences import commas
from plans.attempts import Cost, limit_of
from plans.models import Attempt, Plan, State, Subtask
from plans.status import mark_of_done
from plans.verification import Word, verified_in

WIDE = 1000  # units of the gantt's drawing
THINNEST = 6  # units, so that a short attempt can be seen
LEAST_REST = 2  # seconds between attempts and without a server, that are worth a word
MOST_REST = WIDE // 2  # units for all waits and pauses
SHAPES = {
    "failed": gettext_lazy("Failed"),
    "abandoned": gettext_lazy("Stopped or skipped"),
    "waited": gettext_lazy("Waited for you"),
    "paused": gettext_lazy("Paused"),
}
WHY = {
    "transient": gettext_lazy("The model was not to be had"),
    "capacity": gettext_lazy("The model was too busy"),
    "logic": gettext_lazy("Failed"),
    "timeout": gettext_lazy("Took too long"),
    "interrupted": gettext_lazy("Stopped"),
    "check": gettext_lazy("Refused by a check"),
}


@dataclass(frozen=True)
class Bar:
    """The work of an attempt, or a wait or a pause in it, in units."""

    x: int
    width: int
    shape: str


@dataclass
class SubtaskTiming:
    """A subtask and the attempts at it."""

    subtask: Subtask
    attempts: list[Attempt] = field(default_factory=list)
    word: Word = Word.BY_WORD
    bars: list[Bar] = field(default_factory=list)

    @cached_property
    def used(self) -> Cost:
        """Its times, tokens and money."""
        used = Cost()
        for attempt in self.attempts:
            used.add(attempt.turn)
        return used

    @property
    def seconds(self) -> float | None:
        has_begun = any(attempt.turn.started_at for attempt in self.attempts)
        return self.used.times.worked if has_begun else None


@dataclass
class Span:
    """From the first start to the last end (or now)."""

    started_at: datetime | None
    ended_at: datetime | None

    @property
    def seconds(self) -> float:
        if self.started_at is None or self.ended_at is None:
            return 0.0
        return (self.ended_at - self.started_at).total_seconds()

    def parts(self, times: Times) -> str:
        """What it was made up of; the rest is when nothing ran, such as while no server did."""
        rest = self.seconds - times.worked - times.waited - times.paused
        if rest < LEAST_REST:
            return times.words
        nothing = gettext("{time} with nothing running").format(time=duration(rest))
        return commas([times.words, nothing])


def subtask_timings(plan: Plan) -> list[SubtaskTiming]:
    """All subtasks that are in the list or were ever tried, in the list's order."""
    attempts: defaultdict[int, list[Attempt]] = defaultdict(list)
    calls = Count("turn__tool_calls", filter=~Q(turn__tool_calls__state=""))
    rows = Attempt.objects.filter(subtask__plan=plan).select_related("turn")
    for attempt in rows.annotate(calls=calls).order_by("number"):
        attempts[attempt.subtask_id].append(attempt)
    subtasks = plan.subtasks.filter(Q(position__isnull=False) | Q(pk__in=attempts))
    ordered = sorted(subtasks, key=lambda s: (s.position is None, s.position or 0, s.pk))
    words = {done.pk: known.word for done, known in verified_in([plan.pk])}
    return [
        SubtaskTiming(each, attempts[each.pk], words.get(each.pk, Word.BY_WORD)) for each in ordered
    ]


def span_of(works: Iterable[SubtaskTiming]) -> Span:
    turns = [attempt.turn for work in works for attempt in work.attempts]
    begun = [turn for turn in turns if turn.started_at]
    if not begun:
        return Span(None, None)
    started = min(turn.started_at for turn in begun if turn.started_at)
    return Span(started, max(turn.finished_at or timezone.now() for turn in begun))


def draw(works: list[SubtaskTiming]) -> bool:
    """One attempt begins where the one before it ended; whether the rests had to be shortened.

    On a clock's axis a bar would count the time in which no worker lived: when that was is not
    known, only how long was worked, waited and paused. A rest follows the work of its attempt, on
    the same scale, unless the rests would leave the work less than half of the drawing.
    """
    begun = [
        (started, attempt.pk, attempt, work)
        for work in works
        for attempt in work.attempts
        if (started := attempt.turn.started_at)
    ]
    begun.sort(key=lambda each: each[:2])
    times = [times_of(attempt.turn) for _, _, attempt, _ in begun]
    worked = sum(each.worked for each in times)
    rested = sum(seconds for each in times for _, seconds in rests_of(each))
    to_scale = WIDE * rested / (worked + rested or 1.0)
    for_rests = min(to_scale, MOST_REST)
    at = 0.0
    for (_, _, attempt, work), each in zip(begun, times, strict=True):
        shape = "abandoned" if work.subtask.state == State.ABANDONED else shape_of(attempt)
        if shape == "waiting":  # for how long stands behind its work
            shape = "in_progress"
        parts = [(shape, each.worked, (WIDE - for_rests) / (worked or 1.0))]
        parts += [(name, length, for_rests / rested) for name, length in rests_of(each)]
        for name, seconds, scale in parts:
            width = max(THINNEST, round(at + seconds * scale) - round(at))
            work.bars.append(Bar(min(round(at), WIDE - width), width, name))
            at += seconds * scale
    return to_scale > MOST_REST


def rests_of(times: Times) -> list[tuple[str, float]]:
    """Those of a second and more, with their seconds."""
    rests = (("waited", times.waited), ("paused", times.paused))
    return [(name, seconds) for name, seconds in rests if seconds >= 1]


def key_of(works: Iterable[SubtaskTiming]) -> dict[str, str]:
    """What is drawn other than work that went well, each with its words."""
    drawn = {bar.shape for work in works for bar in work.bars}
    return {shape: str(words) for shape, words in SHAPES.items() if shape in drawn}


def shape_of(attempt: Attempt) -> str:
    if attempt.turn.is_open:
        return "waiting" if attempt.turn.state == TurnState.WAITING else "in_progress"
    if attempt.failure_class == Attempt.FailureClass.INTERRUPTED:
        return "abandoned"
    return "failed" if attempt.error else "done"


def mark_of_attempt(attempt: Attempt, work: SubtaskTiming) -> str:
    """A tick is filled only where the last attempt made the subtask what its checks say it is."""
    shape = shape_of(attempt)
    if shape != "done":
        return shape
    stands = work.subtask.state == State.DONE and attempt == work.attempts[-1]
    return mark_of_done(work.word if stands else Word.BY_WORD)


def attempt_name(attempt: Attempt) -> str:
    """Attempt 2 of 3: how many there are before the run fails; a person's retry adds further."""
    most = limit_of(attempt.turn, "max_attempts")
    if attempt.number > most:
        return gettext("Attempt {number}").format(number=attempt.number)
    return gettext("Attempt {number} of {most}").format(number=attempt.number, most=most)


def attempt_words(attempt: Attempt) -> str:
    """How an attempt went, in a few words."""
    if attempt.turn.is_open:
        return (
            gettext("Waiting for you")
            if attempt.turn.state == TurnState.WAITING
            else gettext("Under way")
        )
    return str(WHY.get(attempt.failure_class) or gettext("Done"))


@dataclass(frozen=True)
class AttemptRow:
    """An attempt with its mark, its name and what it says of itself; or the last of several that
    failed in a row with the same error, with all of them inside."""

    attempt: Attempt
    shape: str
    name: str
    words: str
    inside: tuple[AttemptRow, ...] = ()

    @property
    def calls(self) -> int:
        """Counted by subtask_timings."""
        return sum(vars(row.attempt)["calls"] for row in self.inside or (self,))


def attempts_in(work: SubtaskTiming) -> list[AttemptRow]:
    rows: list[AttemptRow] = []
    for attempt in work.attempts:
        shape = mark_of_attempt(attempt, work)
        row = AttemptRow(attempt, shape, attempt_name(attempt), attempt_words(attempt))
        if rows and attempt.error and attempt.error == rows[-1].attempt.error:
            last = rows.pop()
            row = replace(row, inside=(*(last.inside or (last,)), row))
        rows.append(row)
    return rows
