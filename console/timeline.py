"""What happened to a plan, line by line in plain words: from its events and its asked calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from agents.actors import AGENT, PERSON, SYSTEM, Actor, actor_of, kind_of
from agents.models import Event, ToolCall
from console.status_labels import ENDS, name_for
from console.templatetags.messages import argument
from plans.models import Plan

NEWEST = 500  # lines on a page before "Show all"
Data = Mapping[str, Any]
# The calls say these themselves, with what was asked.
TOLD_BY_CALLS = ("approval", "question")
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
    places: dict[int, dict[str, tuple[str, str]]] = field(default_factory=dict)

    def lines(self) -> list[Line]:
        """The newest first."""
        self.places = places_of(self.plan)
        told = [line for event in self.events() if (line := self.tell(event))]
        told += asked_lines(self)
        moments = [line for line in told if line.at is not None]
        return sorted(moments, key=lambda line: (line.at, line.seq), reverse=True)

    def events(self) -> Iterator[Event]:
        rows = Event.objects.filter(subject=f"plan:{self.plan.pk}")
        yield from rows.filter(conversation=self.plan.conversation_id).order_by("seq")

    def tell(self, event: Event) -> Line | None:
        data: Data = event.data
        self.version = int(data.get("version") or self.version)
        line = TELLERS.get(event.type, other)(self, data, event)
        if line is None:
            return None
        line = line.by(doer(event), self.viewer)
        return replace(line, version=self.version, at=event.created_at, seq=event.seq)

    def place(self, key: str) -> tuple[str, str]:
        """A subtask's number and name in the version that held then."""
        now = self.places.get(self.version, {})
        return now.get(key) or next((v[key] for v in self.places.values() if key in v), (key, ""))


def doer(event: Event) -> Actor:
    return actor_of(event.actor_kind, event.actor)


def places_of(plan: Plan) -> dict[int, dict[str, tuple[str, str]]]:
    rows = plan.versions.values_list("version", "snapshot__subtasks")
    return {
        version: {row["key"]: (str(i), row["name"]) for i, row in enumerate(subtasks or [], 1)}
        for version, subtasks in rows
    }


# The plan as a whole


def created(story: Timeline, data: Data, event: Event) -> Line:
    return Line("Plan proposed", icon="plus", is_head=True)


def updated(story: Timeline, data: Data, event: Event) -> Line | None:
    if "subtask" in data:
        return moved(story, data)
    if data.get("waiting") == "child":
        return Line("Waits for another agent", sign="paused")
    if "budget" in data:
        return Line("Budget raised", icon="pen")
    if data.get("held"):
        return Line("Held: the model is not answering", sign="failed")
    if "version" in data:
        said = f": {data['explanation']}" if data.get("explanation") else ""
        return Line(f"Plan is now v{data['version']}{said}", icon="pen")
    return other(story, data, event)


def approved(story: Timeline, data: Data, event: Event) -> Line:
    if data.get("because"):
        return Line(f"v{data['version']} needs no new yes ({data['because']})", icon="check")
    return Line(f"v{data['version']} approved", icon="check", is_head=True)


def finished(story: Timeline, data: Data, event: Event) -> Line:
    if data.get("state") == "done":
        return Line("Plan finished", sign="done", is_head=True)
    kind, _, said = str(data.get("reason") or "").partition(": ")
    words = story.end = f"{ENDS[kind]}: {said}".removesuffix(": ") if kind in ENDS else ""
    return Line(words or f"Plan abandoned{colon(data, 'reason')}", sign="abandoned", is_head=True)


def cleared(story: Timeline, data: Data, event: Event) -> Line | None:
    """Told already where the clearing is what ended the plan."""
    words = ENDS["cleared"]
    return None if story.end == words else Line(words, icon="x")


# Its run


def started(story: Timeline, data: Data, event: Event) -> Line:
    story.runs += 1
    again = "Resumed" if story.rests is not None else "Started again"
    story.rests = None
    words = "Plan started" if story.runs == 1 else again
    alone = ", the next subtask only" if data.get("mode") == "next" else ""
    return Line(words + alone, icon="play", is_head=True)


def paused(story: Timeline, data: Data, event: Event) -> Line | None:
    reason, before = str(data.get("reason") or ""), story.rests
    story.rests = reason
    if reason in TOLD_BY_CALLS or reason == before:  # wished for before, and come to rest now
        return None
    words = {
        "confirm": f"Paused: v{story.version} waits for a yes",
        "budget": "Paused: the budget is used up",
        "": "Waits for another agent",
    }
    return Line(words.get(reason, "Paused"), sign="waiting" if reason == "confirm" else "paused")


def resumed(story: Timeline, data: Data, event: Event) -> Line | None:
    """Only where nothing else says it: no start by a person, no answer, no decision."""
    reason, story.rests = story.rests, None
    if reason is None or reason in TOLD_BY_CALLS:
        return None
    return Line("Resumed", icon="play")


def stopping(story: Timeline, data: Data, event: Event) -> None:
    story.stopper = doer(event)


def stopped(story: Timeline, data: Data, event: Event) -> Line:
    by, story.stopper, story.rests = story.stopper or doer(event), None, None
    return Line("Stopped", sign="abandoned").by(by, story.viewer)


def ended(words: str, sign: str) -> Callable[..., Line]:
    """The run is over by itself."""

    def tell(story: Timeline, data: Data, event: Event) -> Line:
        story.rests = None
        return Line(words, sign=sign)

    return tell


def replanning(story: Timeline, data: Data, event: Event) -> Line:
    number, _ = story.place(str(data.get("subtask")))
    return Line(f"Replanned from subtask {number}{colon(data, 'hint')}", icon="route")


# Its subtasks


def moved(story: Timeline, data: Data) -> Line:
    number, name = story.place(str(data["subtask"]))
    state, line = data.get("state"), Line("", number=number)
    if data.get("progress"):
        return replace(line, words=str(data["progress"]), icon="chat")
    if state == "abandoned":
        return replace(line, words=f"skipped{colon(data, 'reason')}", sign="abandoned")
    if state == "in_progress":
        return replace(line, words="started", sign="in_progress")
    if state == "done":
        return replace(line, words=f"{name}: done", sign="done")
    if data.get("error"):
        return replace(line, words=f"failed: {data['error']}", sign="failed")
    return replace(line, words="is to do again", sign="todo")


def colon(data: Data, key: str) -> str:
    return f": {data[key]}" if data.get(key) else ""


def line_with(words: str, *, sign: str = "", icon: str = "") -> Callable[..., Line]:
    return lambda story, data, event: Line(words, sign=sign, icon=icon)


def no_line(story: Timeline, data: Data, event: Event) -> None:
    return None


def other(story: Timeline, data: Data, event: Event) -> Line:
    return Line(event.type.replace(".", " ").capitalize(), icon="dots")


TELLERS: dict[str, Callable[[Timeline, Data, Event], Line | None]] = {
    "plan.created": created,
    "plan.updated": updated,
    "plan.approved": approved,
    "plan.finished": finished,
    "plan.cleared": cleared,
    "plan.activated": line_with("Put into the drawer", icon="undo"),
    "plan.asked_person": no_line,
    "plan.replanning": replanning,
    "run.started": started,
    "run.paused": paused,
    "run.resumed": resumed,
    "run.stopping": stopping,
    "run.stopped": stopped,
    "run.failed": ended("The run has failed", "failed"),
    "run.halted": ended("Halted after one subtask", "paused"),
    "run.repaired": line_with("Taken up again after an interruption", icon="retry"),
}


# What a person was asked


def asked_lines(story: Timeline) -> Iterator[Line]:
    calls = ToolCall.objects.filter(turn__attempt__subtask__plan=story.plan, asked_at__isnull=False)
    for call in calls.select_related("turn__attempt__subtask"):
        attempt = call.turn.attempt
        number, _ = story.place(attempt.subtask.key)
        line = Line("", number=number, version=attempt.version)
        tell = question if call.tool == "ask_user" else approval
        yield from tell(call, line, story)


def question(call: ToolCall, line: Line, story: Timeline) -> Iterator[Line]:
    words = f"asked: {call.arguments.get('question', '')}"
    asked = replace(line, words=words, sign="waiting", at=call.asked_at)
    yield asked.by(AGENT, story.viewer)
    if call.finished_at and call.state == ToolCall.State.DONE:
        words = f"answered: {call.result.removeprefix('The person answered: ')}"
        line = replace(line, words=words, icon="chat", at=call.finished_at)
        yield line.by(story.plan.conversation.owner.username, story.viewer)


def approval(call: ToolCall, line: Line, story: Timeline) -> Iterator[Line]:
    words = f"waited for approval of {call.tool}"
    yield replace(line, words=words, sign="waiting", at=call.asked_at).by(AGENT, story.viewer)
    if call.decision:
        words = DECIDED.get(call.decision, call.decision)
        code = f"{call.tool} {argument(call)}".strip()
        line = replace(line, words=f"{words}:", number="", code=code, icon="shield")
        line = replace(line, at=call.started_at or call.finished_at)
        yield line.by(call.decided_by or SYSTEM, story.viewer)
