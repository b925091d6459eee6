"""A plan's page: how long each subtask was worked on, every attempt, what it all took,
and the timeline of what happened to it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.db.models import Count, Q
from django.utils import timezone

from agents.actors import AGENT, PERSON, SYSTEM, Actor, actor_of, kind_of
from agents.engine.usage import times_of
from agents.models import Event, ToolCall, TurnState
from console.status_labels import ENDS, name_for
from console.templatetags.messages import argument
from plans.comments import count_words
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
    """An attempt's part of the time that was worked, in units of the drawing."""

    x: int
    width: int
    shape: str


@dataclass
class SubtaskTiming:
    """A subtask and the attempts at it."""

    subtask: Subtask
    attempts: list[Attempt] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)

    @property
    def seconds(self) -> float | None:
        times = [times_of(a.turn).worked for a in self.attempts if a.turn.started_at]
        return sum(times) if times else None


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


def subtask_timings(plan: Plan) -> list[SubtaskTiming]:
    """All subtasks that are in the list or were ever tried, in the list's order."""
    attempts: defaultdict[int, list[Attempt]] = defaultdict(list)
    calls = Count("turn__tool_calls", filter=~Q(turn__tool_calls__state=""))
    rows = Attempt.objects.filter(subtask__plan=plan).select_related("turn")
    for attempt in rows.annotate(calls=calls).order_by("number"):
        attempts[attempt.subtask_id].append(attempt)
    subtasks = plan.subtasks.filter(Q(position__isnull=False) | Q(pk__in=attempts))
    ordered = sorted(subtasks, key=lambda s: (s.position is None, s.position or 0, s.pk))
    return [SubtaskTiming(subtask, attempts[subtask.pk]) for subtask in ordered]


def span_of(works: Iterable[SubtaskTiming]) -> Span:
    turns = [attempt.turn for work in works for attempt in work.attempts]
    begun = [turn for turn in turns if turn.started_at]
    if not begun:
        return Span(None, None)
    started = min(turn.started_at for turn in begun if turn.started_at)
    return Span(started, max(turn.finished_at or timezone.now() for turn in begun))


def draw(works: list[SubtaskTiming]) -> None:
    """One attempt begins where the one before it ended; each is as long as it was worked on.

    On a clock's axis a bar would count pauses as work, and the time in which no worker lived:
    when those were is not known, only how long was worked.
    """
    begun = [
        (started, attempt.pk, attempt, work)
        for work in works
        for attempt in work.attempts
        if (started := attempt.turn.started_at)
    ]
    begun.sort(key=lambda each: each[:2])
    worked = [times_of(attempt.turn).worked for _, _, attempt, _ in begun]
    whole = sum(worked) or 1.0
    before = 0.0
    for (_, _, attempt, work), seconds in zip(begun, worked, strict=True):
        width = max(THINNEST, round(WIDE * seconds / whole))
        x = min(round(WIDE * before / whole), WIDE - width)
        work.bars.append(Bar(x, width, shape_of(attempt)))
        before += seconds


def shape_of(attempt: Attempt) -> str:
    if attempt.turn.is_open:
        return "waiting" if attempt.turn.state == TurnState.WAITING else "in_progress"
    if attempt.failure_class == Attempt.FailureClass.INTERRUPTED:
        return "abandoned"
    return "failed" if attempt.error else "done"


def attempt_words(attempt: Attempt) -> str:
    """How an attempt went, in a few words."""
    if attempt.turn.is_open:
        return "Waiting for you" if attempt.turn.state == TurnState.WAITING else "Under way"
    return WHY.get(attempt.failure_class, "Done")


# The timeline: what happened to a plan.

MOST_LINES = 500  # lines on a page before "Show all"
Data = Mapping[str, Any]
# Reasons of a pause for which the call has lines of its own, with what was asked.
SHOWN_BY_CALLS = ("approval", "question")
DECIDED = {"allow_once": "Allowed once", "always": "Always allowed", "deny": "Denied"}


@dataclass(frozen=True)
class Line:
    """One change. `sign` is a state's mark or `icon` a picture; `number` the subtask's place."""

    words: str
    sign: str = ""
    icon: str = ""
    number: str = ""
    code: str = ""
    is_head: bool = False
    actor: str = ""
    actor_icon: str = ""
    version: int = 0
    at: datetime | None = None
    seq: int = 0

    def by(self, actor: Actor, viewer: str) -> Line:
        """With who did it; a line that has someone already keeps them."""
        if self.actor:
            return self
        icon = "user" if kind_of(actor) == PERSON else "agent" if actor is AGENT else "cube"
        return replace(self, actor=name_for(actor, viewer), actor_icon=icon)


@dataclass
class Timeline:
    """Goes through what happened in order, and knows at each point which version holds, why the
    run rests (None while it does not), and who has asked it to stop: one thing is one line, though
    the wish and its fulfilment are two events."""

    plan: Plan
    viewer: str
    version: int = 1
    runs: int = 0
    rests: str | None = None
    stopper: Actor | None = None
    end: str = ""
    # by version and a subtask's key: its number and name
    places: dict[int, dict[str, tuple[str, str]]] = field(default_factory=dict)

    def lines(self) -> list[Line]:
        """The newest first."""
        versions = self.plan.versions.values_list("version", "snapshot__subtasks")
        self.places = {
            version: {row["key"]: (str(i), row["name"]) for i, row in enumerate(subtasks or [], 1)}
            for version, subtasks in versions
        }
        events = Event.objects.filter(subject=f"plan:{self.plan.pk}")
        events = events.filter(conversation=self.plan.conversation_id).order_by("seq")
        lines = [line for event in events if (line := self.line_of(event))]
        calls = ToolCall.objects.filter(
            turn__attempt__subtask__plan=self.plan, asked_at__isnull=False
        )
        for call in calls.select_related("turn__attempt__subtask"):
            lines += self.lines_of_call(call)
        moments = [line for line in lines if line.at is not None]
        return sorted(moments, key=lambda line: (line.at, line.seq), reverse=True)

    def line_of(self, event: Event) -> Line | None:
        data: Data = event.data
        actor = actor_of(event.actor_kind, event.actor)
        self.version = int(data.get("version") or self.version)
        if event.type.startswith("run."):
            line = self.run_line(event.type, data, actor)
        elif event.type == "plan.updated" and "subtask" in data:
            line = self.subtask_line(data)
        else:
            line = self.plan_line(event.type, data)
        if line is None:
            return None
        line = line.by(actor, self.viewer)
        return replace(line, version=self.version, at=event.created_at, seq=event.seq)

    def plan_line(self, type: str, data: Data) -> Line | None:
        """What happened to the plan as a whole."""
        match type:
            case "plan.updated" if data.get("waiting") == "child":
                return Line("Waits for another agent", sign="paused")
            case "plan.updated" if "budget" in data:
                return Line("Budget raised", icon="pen")
            case "plan.updated" if data.get("held"):
                return Line("Held: the model is not answering", sign="failed")
            case "plan.updated" if "version" in data:
                words = with_detail(f"Plan is now v{data['version']}", data, "explanation")
                return Line(words, icon="pen")
            case "plan.approved" if data.get("because"):
                words = f"v{data['version']} needs no new yes ({data['because']})"
                return Line(words, icon="check")
            case "plan.approved":
                return Line(f"v{data['version']} approved", icon="check", is_head=True)
            case "plan.finished" if data.get("state") == "done":
                return Line("Plan finished", sign="done", is_head=True)
            case "plan.finished":
                kind, _, note = str(data.get("reason") or "").partition(": ")
                self.end = f"{ENDS[kind]}: {note}".removesuffix(": ") if kind in ENDS else ""
                words = self.end or with_detail("Plan abandoned", data, "reason")
                return Line(words, sign="abandoned", is_head=True)
            case "plan.cleared":  # no second line where the clearing is what ended the plan
                cleared = ENDS["cleared"]
                return None if self.end == cleared else Line(cleared, icon="x")
            case "plan.asked_person" | "plan.commented":  # the call has its own line
                return None
            case "plan.comments_sent":
                return Line(f"{count_words(data['count'])} sent to the agent", icon="comment")
            case "plan.replanning":
                number, _ = self.place(str(data.get("subtask")))
                words = with_detail(f"Replanned from subtask {number}", data, "hint")
                return Line(words, icon="route")
        return plain_line(type)

    def run_line(self, type: str, data: Data, actor: Actor) -> Line | None:
        """What happened to the carrying out; `before` is why it rested until now."""
        before = self.rests
        if type in ("run.started", "run.resumed", "run.stopped", "run.failed", "run.halted"):
            self.rests = None
        match type:
            case "run.started":
                self.runs += 1
                again = "Resumed" if before is not None else "Started again"
                words = "Plan started" if self.runs == 1 else again
                alone = ", the next subtask only" if data.get("mode") == "next" else ""
                return Line(words + alone, icon="play", is_head=True)
            case "run.paused":
                reason = self.rests = str(data.get("reason") or "")
                if reason in SHOWN_BY_CALLS or reason == before:  # asked to pause, and paused now
                    return None
                words = {
                    "confirm": f"Paused: v{self.version} waits for a yes",
                    "budget": "Paused: the budget is used up",
                    "aside": "Paused: another plan was asked for",
                    "": "Waits for another agent",
                }.get(reason, "Paused")
                return Line(words, sign="waiting" if reason == "confirm" else "paused")
            case "run.resumed":
                # Only where nothing else has a line: no start by a person, no answer, no decision.
                is_known = before is None or before in SHOWN_BY_CALLS
                return None if is_known else Line("Resumed", icon="play")
            case "run.stopping":
                self.stopper = actor
                return None
            case "run.stopped":
                stopper, self.stopper = self.stopper or actor, None
                return Line("Stopped", sign="abandoned").by(stopper, self.viewer)
        return plain_line(type)

    def subtask_line(self, data: Data) -> Line:
        number, name = self.place(str(data["subtask"]))
        state, line = data.get("state"), Line("", number=number)
        if data.get("progress"):
            return replace(line, words=str(data["progress"]), icon="chat")
        if state == "abandoned":
            return replace(line, words=with_detail("skipped", data, "reason"), sign="abandoned")
        if state == "in_progress":
            return replace(line, words="started", sign="in_progress")
        if state == "done":
            return replace(line, words=f"{name}: done", sign="done")
        if data.get("error"):
            return replace(line, words=f"failed: {data['error']}", sign="failed")
        return replace(line, words="is to do again", sign="todo")

    def lines_of_call(self, call: ToolCall) -> Iterator[Line]:
        """A person was asked, and answered or decided."""
        attempt = call.turn.attempt
        number, _ = self.place(attempt.subtask.key)
        line = Line("", number=number, version=attempt.version)
        is_question = call.tool == "ask_user"
        words = f"waited for approval of {call.tool}"
        if is_question:
            words = f"asked: {call.arguments.get('question', '')}"
        asked = replace(line, words=words, sign="waiting", at=call.asked_at)
        yield asked.by(AGENT, self.viewer)
        if is_question and call.finished_at and call.state == ToolCall.State.DONE:
            words = f"answered: {call.result.removeprefix('The person answered: ')}"
            line = replace(line, words=words, icon="chat", at=call.finished_at)
            yield line.by(self.plan.conversation.owner.username, self.viewer)
        elif not is_question and call.decision:
            words = f"{DECIDED.get(call.decision, call.decision)}:"
            code = f"{call.tool} {argument(call)}".strip()
            at = call.started_at or call.finished_at
            line = replace(line, words=words, number="", code=code, icon="shield", at=at)
            yield line.by(call.decided_by or SYSTEM, self.viewer)

    def place(self, key: str) -> tuple[str, str]:
        """A subtask's number and name in the version that held then."""
        now = self.places.get(self.version, {})
        return now.get(key) or next((v[key] for v in self.places.values() if key in v), (key, ""))


def with_detail(words: str, data: Data, key: str) -> str:
    return f"{words}: {data[key]}" if data.get(key) else words


def plain_line(type: str) -> Line:
    """The line of an event that needs no data; one that is not known yet is named by its type."""
    return PLAIN_LINES.get(type) or Line(type.replace(".", " ").capitalize(), icon="dots")


PLAIN_LINES = {
    "plan.created": Line("Plan proposed", icon="plus", is_head=True),
    "plan.activated": Line("Put into the drawer", icon="undo"),
    "plan.put_aside": Line("Out of the drawer: another alternative was shown", icon="undo"),
    "run.failed": Line("The run has failed", sign="failed"),
    "run.halted": Line("Halted after one subtask", sign="paused"),
    "run.repaired": Line("Taken up again after an interruption", icon="retry"),
}
