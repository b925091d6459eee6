"""What happened to a plan, line by line in plain words: from its events and its asked calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from agents.models import Event, ToolCall
from console.marks import ENDS
from console.templatetags.planside import argument
from plans.models import Plan
from plans.rows import AGENT, SYSTEM

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
    version: int = 0
    at: datetime | None = None
    seq: int = 0

    @property
    def actor_icon(self) -> str:
        return {"Agent": "agent", "Planside": "cube"}.get(self.actor, "user")


@dataclass
class Story:
    """Goes through what happened in order, and knows which version holds at each point."""

    plan: Plan
    viewer: str
    version: int = 1
    runs: int = 0
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
        actor = line.actor or self.who(event.actor)
        return replace(line, actor=actor, version=self.version, at=event.created_at, seq=event.seq)

    def who(self, name: str) -> str:
        if name == self.viewer:
            return "You"
        return {AGENT: "Agent", SYSTEM: "Planside", "": "Planside"}.get(name, name)

    def place(self, key: str) -> tuple[str, str]:
        """A subtask's number and name in the version that held then."""
        now = self.places.get(self.version, {})
        return now.get(key) or next((v[key] for v in self.places.values() if key in v), (key, ""))


def places_of(plan: Plan) -> dict[int, dict[str, tuple[str, str]]]:
    rows = plan.versions.values_list("version", "snapshot__subtasks")
    return {
        version: {row["key"]: (str(i), row["name"]) for i, row in enumerate(subtasks or [], 1)}
        for version, subtasks in rows
    }


# The plan as a whole


def created(story: Story, data: Data, event: Event) -> Line:
    return Line("Plan proposed", icon="plus", is_head=True)


def updated(story: Story, data: Data, event: Event) -> Line | None:
    if "subtask" in data:
        return moved(story, data)
    if data.get("held"):
        return Line("Held: the model is not answering", sign="failed")
    if "version" in data:
        said = f": {data['explanation']}" if data.get("explanation") else ""
        return Line(f"Plan is now v{data['version']}{said}", icon="pen")
    return other(story, data, event)


def approved(story: Story, data: Data, event: Event) -> Line:
    if data.get("because"):
        return Line(f"v{data['version']} needs no new yes ({data['because']})", icon="check")
    return Line(f"v{data['version']} approved", icon="check", is_head=True)


def finished(story: Story, data: Data, event: Event) -> Line:
    if data.get("state") == "done":
        return Line("Plan finished", sign="done", is_head=True)
    words = ENDS.get(str(data.get("reason") or ""), "")
    return Line(words or f"Plan abandoned{colon(data, 'reason')}", sign="abandoned", is_head=True)


# Its run


def started(story: Story, data: Data, event: Event) -> Line:
    story.runs += 1
    words = "Plan started" if story.runs == 1 else "Started again"
    alone = ", the next subtask only" if data.get("mode") == "next" else ""
    return Line(words + alone, icon="play", is_head=True)


def paused(story: Story, data: Data, event: Event) -> Line | None:
    reason = str(data.get("reason") or "")
    if reason in TOLD_BY_CALLS:
        return None
    words = {
        "confirm": f"Paused: v{story.version} waits for a yes",
        "budget": "Paused: the budget is used up",
        "": "Waits for another agent",
    }
    return Line(words.get(reason, "Paused"), sign="waiting" if reason == "confirm" else "paused")


def replanning(story: Story, data: Data, event: Event) -> Line:
    number, _ = story.place(str(data.get("subtask")))
    return Line(f"Replanned from subtask {number}{colon(data, 'hint')}", icon="route")


# Its subtasks


def moved(story: Story, data: Data) -> Line:
    number, name = story.place(str(data["subtask"]))
    state, line = data.get("state"), Line("", number=number)
    if data.get("progress"):
        return replace(line, words=str(data["progress"]), icon="chat")
    if state == "abandoned":
        return replace(line, words=f"skipped{colon(data, 'reason')}", sign="abandoned")
    line = replace(line, actor="Agent")
    if state == "in_progress":
        return replace(line, words="started", sign="in_progress")
    if state == "done":
        return replace(line, words=f"{name}: done", sign="done")
    if data.get("error"):
        return replace(line, words=f"failed: {data['error']}", sign="failed")
    return replace(line, words="is to do again", sign="todo")


def colon(data: Data, key: str) -> str:
    return f": {data[key]}" if data.get(key) else ""


def says(words: str, *, sign: str = "", icon: str = "") -> Callable[..., Line]:
    return lambda story, data, event: Line(words, sign=sign, icon=icon)


def silent(story: Story, data: Data, event: Event) -> None:
    return None


def other(story: Story, data: Data, event: Event) -> Line:
    return Line(event.type.replace(".", " ").capitalize(), icon="dots")


TELLERS: dict[str, Callable[[Story, Data, Event], Line | None]] = {
    "plan.created": created,
    "plan.updated": updated,
    "plan.approved": approved,
    "plan.finished": finished,
    "plan.cleared": says("Cleared from the conversation", icon="x"),
    "plan.activated": says("Put into the drawer", icon="undo"),
    "plan.asked_person": silent,
    "plan.replanning": replanning,
    "run.started": started,
    "run.paused": paused,
    "run.resumed": says("Went on", icon="play"),
    "run.stopping": silent,
    "run.stopped": says("Stopped", sign="abandoned"),
    "run.failed": says("The run has failed", sign="failed"),
    "run.halted": says("Halted after one subtask", sign="paused"),
    "run.repaired": says("Taken up again after an interruption", icon="retry"),
}


# What a person was asked


def asked_lines(story: Story) -> Iterator[Line]:
    calls = ToolCall.objects.filter(turn__attempt__subtask__plan=story.plan, asked_at__isnull=False)
    owner = story.plan.conversation.owner.username
    for call in calls.select_related("turn__attempt__subtask"):
        attempt = call.turn.attempt
        number, _ = story.place(attempt.subtask.key)
        line = Line("", number=number, version=attempt.version, actor="Agent")
        tell = question if call.tool == "ask_user" else approval
        yield from tell(call, line, story.who(owner))


def question(call: ToolCall, line: Line, person: str) -> Iterator[Line]:
    words = f"asked: {call.arguments.get('question', '')}"
    yield replace(line, words=words, sign="waiting", at=call.asked_at)
    if call.finished_at and call.state == ToolCall.State.DONE:
        words = f"answered: {call.result.removeprefix('The person answered: ')}"
        yield replace(line, words=words, icon="chat", at=call.finished_at, actor=person)


def approval(call: ToolCall, line: Line, person: str) -> Iterator[Line]:
    words = f"waited for approval of {call.tool}"
    yield replace(line, words=words, sign="waiting", at=call.asked_at)
    if call.decision:
        words = DECIDED.get(call.decision, call.decision)
        code = f"{call.tool} {argument(call)}".strip()
        line = replace(line, words=f"{words}:", number="", code=code, icon="shield", actor=person)
        yield replace(line, at=call.started_at or call.finished_at)
