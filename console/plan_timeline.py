"""The timeline: what happened to a plan, one line for each thing, and which of it is wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext, gettext_lazy, ngettext, pgettext_lazy

from agents.actors import AGENT, SYSTEM, Actor, actor_of
from agents.models import Event, ToolCall, Undo
from agents.sentences import commas, detailed
from console.check_lines import SIGNS, check_words, verdict_words
from console.form_parsing import number
from console.status_labels import ENDS
from console.templatetags.messages import argument
from console.timeline_lines import Line, approved_line, plain_line, updated_line
from plans.changes.undone import undos_about
from plans.comments import count_words
from plans.models import Plan
from plans.status import mark_of_done, status_of_plan

LINES_PER_PAGE = 500
# What a line is about, and who did it, as a person chooses them.
KINDS = {
    "": gettext_lazy("Everything"),
    "plan": gettext_lazy("Text and approval"),
    "run": gettext_lazy("Starts and stops"),
    "subtask": gettext_lazy("Subtasks"),
    "asked": gettext_lazy("What it asked you"),
}
ACTORS = {
    "": gettext_lazy("Anybody"),
    "person": pgettext_lazy("who did it", "People"),
    "agent": gettext_lazy("The agent"),
    "system": gettext_lazy("Planside"),
}
Data = Mapping[str, Any]
# Reasons of a pause for which the call has lines of its own, with what was asked.
SHOWN_BY_CALLS = ("approval", "question")
DECIDED = {
    "allow_once": gettext_lazy("Allowed once"),
    "always": gettext_lazy("Always allowed"),
    "deny": gettext_lazy("Denied"),
}


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
    weakest: str = "done"  # the mark of a plan that is finished
    # by version and a subtask's key: its number and name
    places: dict[int, dict[str, tuple[str, str]]] = field(default_factory=dict)

    def lines(self) -> list[Line]:
        """The newest first."""
        versions = self.plan.versions.values_list("version", "snapshot__subtasks")
        self.places = {
            version: {row["key"]: (str(i), row["name"]) for i, row in enumerate(subtasks or [], 1)}
            for version, subtasks in versions
        }
        self.weakest = status_of_plan(self.plan).mark
        events = Event.objects.filter(subject=f"plan:{self.plan.pk}")
        events = events.filter(conversation=self.plan.conversation_id).order_by("seq")
        lines = [line for event in events if (line := self.line_of(event))]
        calls = ToolCall.objects.filter(
            turn__attempt__subtask__plan=self.plan, asked_at__isnull=False
        )
        for call in calls.select_related("turn__attempt__subtask"):
            lines += self.lines_of_call(call)
        lines += self.lines_of_undos(lines)
        moments = [line for line in lines if line.at is not None]
        return sorted(moments, key=lambda line: (line.at, line.seq), reverse=True)

    def line_of(self, event: Event) -> Line | None:
        data: Data = event.data
        actor = actor_of(event.actor_kind, event.actor)
        self.version = int(data.get("version") or self.version)
        kind = "plan"
        if event.type.startswith("run."):
            kind, line = "run", self.run_line(event.type, data, actor)
        elif event.type in SIGNS:
            kind, line = "subtask", self.check_line(event.type, data)
        elif event.type == "plan.updated" and "subtask" in data:
            kind, line = "subtask", self.subtask_line(data)
        else:
            line = self.plan_line(event.type, data)
        if line is None:
            return None
        line = line.by(actor, self.viewer)
        key = str(data.get("subtask") or "")
        return line._replace(
            kind=kind, key=key, version=self.version, at=event.created_at, seq=event.seq
        )

    def check_line(self, type: str, data: Data) -> Line:
        number, _ = self.place(str(data["subtask"]))
        return Line(check_words(type, data), sign=SIGNS[type], number=number)

    def plan_line(self, type: str, data: Data) -> Line | None:
        """What happened to the plan as a whole."""
        match type:
            case "plan.updated" if "checked" in data or data.get("waiting") == "check":
                return None  # each result has its own line
            case "plan.updated":
                return updated_line(data) or plain_line(type)
            case "plan.approved":
                return approved_line(data)
            case "plan.finished" if data.get("state") == "done":
                return Line(gettext("Plan finished"), sign=self.weakest, is_head=True)
            case "plan.finished":
                kind, _, note = str(data.get("reason") or "").partition(": ")
                self.end = detailed(ENDS[kind], note) if kind in ENDS else ""
                words = self.end or detailed(gettext("Plan abandoned"), data.get("reason"))
                return Line(words, sign="abandoned", is_head=True)
            case "plan.cleared":  # no second line where the clearing is what ended the plan
                cleared = str(ENDS["cleared"])
                return None if self.end == cleared else Line(cleared, icon="x")
            case "plan.asked_person" | "plan.commented":  # the call has its own line
                return None
            case "plan.comments_sent":
                words = gettext("{comments} sent to the agent").format(
                    comments=count_words(data["count"])
                )
                return Line(words, icon="comment")
            case "plan.replanning":
                number, _ = self.place(str(data.get("subtask")))
                words = gettext("Replanned from subtask {number}").format(number=number)
                words = detailed(words, data.get("hint"))
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
                again = gettext("Resumed") if before is not None else gettext("Started again")
                words = gettext("Plan started") if self.runs == 1 else again
                if data.get("mode") == "next":
                    words = gettext("{words}, the next subtask only").format(words=words)
                return Line(words, icon="play", is_head=True)
            case "run.paused":
                reason = self.rests = str(data.get("reason") or "")
                if reason in SHOWN_BY_CALLS or reason == before:  # asked to pause, and paused now
                    return None
                return Line(
                    self.paused_words(reason), sign="waiting" if reason == "confirm" else "paused"
                )
            case "run.resumed":
                # Only where nothing else has a line: no start by a person, no answer, no decision.
                is_known = before is None or before in SHOWN_BY_CALLS
                return None if is_known else Line(gettext("Resumed"), icon="play")
            case "run.stopping":
                self.stopper = actor
                return None
            case "run.stopped":
                stopper, self.stopper = self.stopper or actor, None
                return Line(gettext("Stopped"), sign="abandoned").by(stopper, self.viewer)
        return plain_line(type)

    def paused_words(self, reason: str) -> str:
        match reason:
            case "confirm":
                words = gettext("Paused: v{version} waits for a yes")
                return words.format(version=self.version)
            case "budget":
                return gettext("Paused: the budget is used up")
            case "check":
                return gettext("Paused: a check could not be run")
            case "aside":
                return gettext("Paused: another plan was asked for")
            case "":
                return gettext("Waits for another agent")
        return gettext("Paused")

    def subtask_line(self, data: Data) -> Line:
        number, name = self.place(str(data["subtask"]))
        state, line = data.get("state"), Line("", number=number)
        if "verified" in data and "state" not in data:
            sign = mark_of_done(data["verified"])
            return line._replace(words=verdict_words(data["verified"]), sign=sign)
        if data.get("progress"):
            return line._replace(words=str(data["progress"]), icon="chat")
        if state == "abandoned":
            return line._replace(
                words=detailed(gettext("skipped"), data.get("reason")), sign="abandoned"
            )
        if state == "in_progress":
            return line._replace(words=gettext("started"), sign="in_progress")
        if state == "done":
            return line._replace(
                words=gettext("{name}: done").format(name=name),
                sign=mark_of_done(data.get("verified")),
            )
        if data.get("error"):
            return line._replace(
                words=gettext("failed: {error}").format(error=data["error"]),
                sign="failed",
                error=str(data["error"]),
            )
        return line._replace(words=gettext("is to do again"), sign="todo")

    def lines_of_call(self, call: ToolCall) -> Iterator[Line]:
        """A person was asked, and answered or decided."""
        attempt = call.turn.attempt
        number, _ = self.place(attempt.subtask.key)
        key = attempt.subtask.key
        line = Line("", number=number, version=attempt.version, kind="asked", key=key)
        is_question = call.tool == "ask_user"
        words = gettext("waited for approval of {tool}").format(tool=call.tool)
        if is_question:
            words = gettext("asked: {question}").format(question=call.arguments.get("question", ""))
        asked = line._replace(words=words, sign="waiting", at=call.asked_at)
        yield asked.by(AGENT, self.viewer)
        if is_question and call.finished_at and call.state == ToolCall.State.DONE:
            answer = call.result.removeprefix("The person answered: ")
            words = gettext("answered: {answer}").format(answer=answer)
            line = line._replace(words=words, icon="chat", at=call.finished_at)
            yield line.by(self.plan.conversation.owner.username, self.viewer)
        elif not is_question and call.decision:
            words = gettext("{decided}:").format(decided=DECIDED.get(call.decision, call.decision))
            code = f"{call.tool} {argument(call)}".strip()
            at = call.started_at or call.finished_at
            line = line._replace(words=words, number="", code=code, icon="shield", at=at)
            yield line.by(call.decided_by or SYSTEM, self.viewer)

    def lines_of_undos(self, others: list[Line]) -> Iterator[Line]:
        """What was taken back of the plan or one of its subtasks, and brought back."""
        held = sorted((line.at, line.version) for line in others if line.at is not None)
        for row, key in undos_about(self.plan):
            words = gettext("undid an undo") if row.reverses_id else gettext("undid its changes")
            versions = [version for at, version in held if at <= row.created_at]
            line = Line(
                detailed(words, file_counts(row)),
                number=self.place(key)[0] if key else "",
                icon="undo",
                kind="subtask" if key else "plan",
                key=key,
                version=versions[-1] if versions else 1,
                at=row.created_at,
            )
            yield line.by(row.by or SYSTEM, self.viewer)

    def place(self, key: str) -> tuple[str, str]:
        """A subtask's number and name in the version that held then."""
        now = self.places.get(self.version, {})
        return now.get(key) or next((v[key] for v in self.places.values() if key in v), (key, ""))


# Which of it is wanted, as it stands in the address.


@dataclass(frozen=True)
class Wanted:
    """Empty for all; `page` 1 has the newest."""

    subtask: str = ""
    kind: str = ""
    actor: str = ""
    page: int = 1

    def fits(self, line: Line) -> bool:
        return (
            self.subtask in ("", line.key)
            and self.kind in ("", line.kind)
            and self.actor in ("", line.by_kind)
        )

    def query(self, page: int) -> str:
        return urlencode(
            {name: value for name, value in (asdict(self) | {"page": page}).items() if value}
        )


def file_counts(undo: Undo) -> str:
    """1 file restored, 2 files removed; what is zero is left out."""
    restored, removed = undo.files - undo.removed, undo.removed
    words = (
        restored and ngettext("{n} file restored", "{n} files restored", restored),
        removed and ngettext("{n} file removed", "{n} files removed", removed),
    )
    counts = zip(words, (restored, removed), strict=True)
    return commas([each.format(n=n) for each, n in counts if each])


def wanted_lines(query: Mapping[str, str]) -> Wanted:
    """What it cannot mean is left out."""
    kind, actor = query.get("kind", ""), query.get("actor", "")
    return Wanted(
        subtask=query.get("subtask", "")[:12],
        kind=kind if kind in KINDS else "",
        actor=actor if actor in ACTORS else "",
        page=max(1, number(query.get("page")) or 1),
    )


@dataclass(frozen=True)
class Lines:
    """One page of those that are wanted, the newest first."""

    wanted: Wanted
    shown: list[Line]
    count: int
    first: int
    last: int

    @property
    def newer(self) -> str:
        """The address's query for the page before this one; empty for none."""
        return self.wanted.query(self.wanted.page - 1) if self.wanted.page > 1 else ""

    @property
    def older(self) -> str:
        return self.wanted.query(self.wanted.page + 1) if self.last < self.count else ""


def page_of_lines(plan: Plan, viewer: str, wanted: Wanted) -> Lines:
    """A page behind the last one is the last one."""
    fitting = [line for line in Timeline(plan, viewer).lines() if wanted.fits(line)]
    last = max(1, -(-len(fitting) // LINES_PER_PAGE))
    wanted = replace(wanted, page=min(wanted.page, last))
    start = (wanted.page - 1) * LINES_PER_PAGE
    shown = fitting[start : start + LINES_PER_PAGE]
    last = start + len(shown)
    return Lines(wanted, folded(shown), len(fitting), start + 1 if shown else 0, last)


def folded(lines: list[Line]) -> list[Line]:
    """Attempts at a subtask that failed in a row with the same error are one line."""
    rows: list[Line] = []
    for line in reversed(lines):
        failures = (i for i in reversed(range(len(rows))) if rows[i].error)
        earlier = next(failures, None) if line.error else None
        between = rows[earlier + 1 :] if earlier is not None else []
        if (
            earlier is not None
            and (rows[earlier].error, rows[earlier].key) == (line.error, line.key)
            and all((each.kind, each.key) == ("subtask", line.key) for each in between)
        ):
            first = rows[earlier]
            parts = (line, *reversed(between), *(first.parts or (first,)))
            rows[earlier:] = [line._replace(failures=first.failures + 1, parts=parts)]
        else:
            rows.append(line)
    return rows[::-1]
