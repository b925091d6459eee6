"""The timeline: what happened to a plan, one line for each thing, and which of it is wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy, ngettext, pgettext_lazy

from agents.actors import AGENT, PERSON, SYSTEM, Actor, actor_of, kind_of
from agents.models import Event, ToolCall, Undo
from agents.sentences import commas, detailed
from console.changes.calls import argument
from console.form_parsing import number
from console.status_labels import DECIDED, ENDS, name_for
from plans.changes.undone import undos_about
from plans.comments import count_words
from plans.documents import DONE
from plans.models import Plan
from plans.status import mark_of_done, status_of_plan
from plans.verification import Word

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
GIVEN = object()  # in Row.when: anything but empty
VERDICTS = {"verification", "verified"}  # the second in older events, by these words
OLD_WORDS = {True: Word.CHECKED, False: Word.REGRESSED, None: Word.BY_WORD}


class Row(NamedTuple):
    """How an event is told: its words, with values in braces, and a state's mark or a picture.

    `detail` names the value that follows the words, `when` what the event's values have to be.
    Without words it has no line: another one says it.
    """

    words: str | Promise = ""
    sign: str = ""
    icon: str = ""
    is_head: bool = False
    detail: str = ""
    when: Data = {}

    def fits(self, values: Data) -> bool:
        """What is not there is as good as empty."""
        given = {name: values.get(name) or "" for name in self.when}
        return all(bool(given[n]) if w is GIVEN else given[n] == w for n, w in self.when.items())


NO_LINE = Row()
UNDONE = [
    Row(gettext_lazy("undid an undo"), icon="undo", detail="files", when={"reverses": GIVEN}),
    Row(gettext_lazy("undid its changes"), icon="undo", detail="files"),
]
WAITS_FOR_CHILD = Row(gettext_lazy("Waits for another agent"), "paused")
# The first row that fits tells it; an event without one is named by its type. Beside what an event
# brings along its values are those of Timeline.values.
ROWS: dict[str, list[Row]] = {
    "plan.created": [Row(gettext_lazy("Plan proposed"), icon="plus", is_head=True)],
    "plan.updated": [
        Row(when={"checked": GIVEN}),
        Row(when={"waiting": "check"}),
        WAITS_FOR_CHILD._replace(when={"waiting": "child"}),
        Row(gettext_lazy("Budget raised"), icon="pen", when={"budget": GIVEN}),
        Row(gettext_lazy("Held: the model is not answering"), "failed", when={"held": GIVEN}),
        Row(
            gettext_lazy("Plan is now v{version}"),
            icon="pen",
            detail="explanation",
            when={"is_version": True},
        ),
    ],
    "plan.approved": [
        Row(
            gettext_lazy("v{version} needs no new yes ({because})"),
            icon="check",
            when={"because": GIVEN},
        ),
        Row(
            gettext_lazy("v{version} approved, in force from here on"),
            icon="check",
            is_head=True,
            when={"is_document": True},
        ),
        Row(gettext_lazy("v{version} approved"), icon="check", is_head=True),
    ],
    "plan.finished": [
        # Of a document its yes says that it is in force from then on.
        Row(when={"state": "done", "is_document": True}),
        Row(gettext_lazy("Plan finished"), "{weakest}", is_head=True, when={"state": "done"}),
        Row("{end}", "abandoned", is_head=True, detail="note", when={"end": GIVEN}),
        Row(gettext_lazy("Plan abandoned"), "abandoned", is_head=True, detail="reason"),
    ],
    "plan.cleared": [Row(when={"was_cleared": True}), Row(ENDS["cleared"], icon="x")],
    "plan.asked_person": [NO_LINE],  # the call has its own
    "plan.commented": [NO_LINE],
    "plan.comments_sent": [Row(gettext_lazy("{comments} sent to the agent"), icon="comment")],
    "plan.replanning": [
        Row(gettext_lazy("Replanned from subtask {number}"), icon="route", detail="hint")
    ],
    "plan.checking": [Row(gettext_lazy("What is done is checked again"), icon="retry")],
    "plan.activated": [Row(gettext_lazy("Put into the drawer"), icon="undo")],
    "plan.put_aside": [
        Row(gettext_lazy("Out of the drawer: another alternative was shown"), icon="undo")
    ],
    "plan.undone": UNDONE,
    "run.started": [
        Row(gettext_lazy("Plan started"), icon="play", is_head=True, when={"runs": 1}),
        Row(gettext_lazy("Resumed"), icon="play", is_head=True, when={"rested": GIVEN}),
        Row(gettext_lazy("Started again"), icon="play", is_head=True),
    ],
    "run.paused": [
        Row(when={"reason": "approval"}),  # the call has lines of its own, with what was asked
        Row(when={"reason": "question"}),
        Row(when={"is_told": True}),  # asked to pause, and paused now
        Row(
            gettext_lazy("Paused: v{version} waits for a yes"),
            "waiting",
            when={"reason": "confirm"},
        ),
        Row(gettext_lazy("Paused: the budget is used up"), "paused", when={"reason": "budget"}),
        Row(gettext_lazy("Paused: a check could not be run"), "paused", when={"reason": "check"}),
        Row(gettext_lazy("Paused: another plan was asked for"), "paused", when={"reason": "aside"}),
        WAITS_FOR_CHILD._replace(when={"reason": ""}),
        Row(gettext_lazy("Paused"), "paused"),
    ],
    # Only where nothing else has a line: no start by a person, no answer, no decision.
    "run.resumed": [
        Row(when={"rested": ""}),
        Row(when={"rested": "approval"}),
        Row(when={"rested": "question"}),
        Row(gettext_lazy("Resumed"), icon="play"),
    ],
    "run.stopping": [NO_LINE],  # that it stopped has one
    "run.stopped": [Row(gettext_lazy("Stopped"), "abandoned")],
    "run.failed": [Row(gettext_lazy("The run has failed"), "failed")],
    "run.halted": [Row(gettext_lazy("Halted after one subtask"), "paused")],
    "run.repaired": [Row(gettext_lazy("Taken up again after an interruption"), icon="retry")],
    "subtask.updated": [
        *(Row(DONE[word], mark_of_done(word), when={"verdict": word.value}) for word in Word),
        Row("{progress}", icon="chat", when={"progress": GIVEN}),
        Row(gettext_lazy("skipped"), "abandoned", detail="reason", when={"state": "abandoned"}),
        Row(gettext_lazy("started"), "in_progress", when={"state": "in_progress"}),
        Row(gettext_lazy("{name}: done"), "{mark}", when={"state": "done"}),
        Row(gettext_lazy("failed: {error}"), "failed", when={"error": GIVEN}),
        Row(gettext_lazy("is to do again"), "todo"),
    ],
    "subtask.undone": UNDONE,
    "check.passed": [
        Row(gettext_lazy("looked at, and counts as checked"), "done", when={"words": ""}),
        Row(gettext_lazy("checked: {words}"), "done"),
    ],
    "check.taken_back": [Row(gettext_lazy("does not count as looked at any more"), icon="undo")],
    "check.taken": [Row(gettext_lazy("{words} taken as it is now"), "done")],
    "check.failed": [Row(gettext_lazy("check failed: {words}"), "check_failed", detail="said")],
    "check.not_run": [
        Row(gettext_lazy("check could not be run: {words}"), "waiting", detail="said")
    ],
    "asked.question": [Row(gettext_lazy("asked: {question}"), "waiting")],
    "asked.answered": [Row(gettext_lazy("answered: {answer}"), icon="chat")],
    "asked.approval": [Row(gettext_lazy("waited for approval of {tool}"), "waiting")],
    "asked.decided": [Row(gettext_lazy("{decided}:"), icon="shield")],
}


class Line(NamedTuple):
    """One change. `sign` is a state's mark or `icon` a picture; `number` the subtask's place."""

    words: str
    sign: str
    icon: str
    number: str
    code: str
    is_head: bool
    actor: str
    actor_icon: str
    version: int
    at: datetime
    seq: int = 0
    kind: str = "plan"
    by_kind: str = ""  # person, agent or system
    key: str = ""  # of the subtask it is about
    error: str = ""  # of the attempt that has failed
    failures: int = 1  # how many attempts it stands for
    parts: tuple[Line, ...] = ()  # the lines of these, with what lies between them

    @property
    def sign_name(self) -> str:
        """What its mark is called: one stands for all ways to be abandoned, told by the words."""
        return self.words if self.sign == "abandoned" else ""


@dataclass
class Timeline:
    """Goes through what happened in order, and knows at each point which version holds, why the
    run rests (empty while it does not), and who has asked it to stop: one thing is one line, though
    the wish and its fulfilment are two events."""

    plan: Plan
    viewer: str
    version: int = 1
    runs: int = 0
    rested: str = ""
    stopper: Actor | None = None
    was_cleared: bool = False
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
        lines = [line for event in events if (line := self.line_of_event(event))]
        calls = ToolCall.objects.filter(
            turn__attempt__subtask__plan=self.plan, asked_at__isnull=False
        )
        for call in calls.select_related("turn__attempt__subtask"):
            lines += filter(None, self.lines_of_call(call))
        lines += filter(None, self.lines_of_undos(lines))
        return sorted(lines, key=lambda line: (line.at, line.seq), reverse=True)

    def line_of_event(self, event: Event) -> Line | None:
        type, data, by = event.type, event.data, actor_of(event.actor_kind, event.actor)
        self.version = int(data.get("version") or self.version)
        if type == "plan.updated" and "subtask" in data:
            type = "subtask.updated"
        values = self.values(event)
        match type:
            case "plan.finished" if data.get("state") != "done":
                self.was_cleared = data.get("reason") == "cleared"
            case "run.paused":
                self.rested = str(data.get("reason") or "child")
            case "run.stopping":
                self.stopper = by
            case "run.stopped":
                by, self.stopper = self.stopper or by, None
        if type in ("run.started", "run.resumed", "run.stopped", "run.failed", "run.halted"):
            self.rested = ""
        return self.line(type, values, by, event.created_at)

    def values(self, event: Event) -> Data:
        """What the event brings along, and what follows from that and from those before it."""
        data = event.data
        word = str(data.get("verification") or OLD_WORDS[data.get("verified")])
        mark, reason = mark_of_done(word), str(data.get("reason") or "")
        ended, _, note = reason.partition(": ")
        self.runs += event.type == "run.started"
        return {
            "version": self.version,
            "seq": event.seq,
            "is_version": "version" in data,
            "runs": self.runs,
            "rested": self.rested,
            "is_told": (reason or "child") == self.rested,
            "was_cleared": self.was_cleared,
            "weakest": self.weakest,
            "is_document": not self.places.get(self.version),
            "mark": mark,
            "verdict": word if data.keys() & VERDICTS and "state" not in data else "",
            "end": ENDS.get(ended),
            "note": note,
            "comments": count_words(data["count"]) if "count" in data else "",
            **data,
        }

    def line(self, type: str, values: Data, by: Actor, at: datetime | None) -> Line | None:
        """None where another one says it, or it has no time yet.

        `values` also have the line's own `version`, and maybe its `seq` and `code`."""
        named = Row(type.replace(".", " ").capitalize(), icon="dots")
        row = next((row for row in ROWS.get(type, ()) if row.fits(values)), named)
        if not row.words or at is None:
            return None
        key, code = str(values.get("subtask") or ""), str(values.get("code") or "")
        kind = type.partition(".")[0].replace("check", "subtask")
        number, name = self.place(key)
        values = {"number": number, "name": name, **values}
        words = str(row.words).format(**values)
        if values.get("mode") == "next":
            words = gettext("{words}, the next subtask only").format(words=words)
        return Line(
            detailed(words, values.get(row.detail)),
            row.sign.format(**values),
            row.icon,
            number if kind in ("subtask", "asked") and not code else "",
            code,
            row.is_head,
            name_for(by, self.viewer),
            "user" if kind_of(by) == PERSON else "agent" if by is AGENT else "cube",
            values["version"],
            at,
            values.get("seq", 0),
            kind,
            kind_of(by),
            key,
            str(values["error"]) if row.sign == "failed" and values.get("error") else "",
        )

    def lines_of_call(self, call: ToolCall) -> Iterator[Line | None]:
        """A person was asked, and answered or decided."""
        attempt, asked_at = call.turn.attempt, call.asked_at
        is_question = call.tool == "ask_user"
        values = {
            "version": attempt.version,
            "subtask": attempt.subtask.key,
            "tool": call.tool,
            "question": call.arguments.get("question", ""),
            "answer": call.result.removeprefix("The person answered: "),
            "decided": DECIDED.get(call.decision, call.decision),
        }
        yield self.line(
            "asked.question" if is_question else "asked.approval", values, AGENT, asked_at
        )
        if is_question and call.finished_at and call.state == ToolCall.State.DONE:
            owner = self.plan.conversation.owner.username
            yield self.line("asked.answered", values, owner, call.finished_at)
        elif not is_question and call.decision:
            values["code"] = f"{call.tool} {argument(call)}".strip()
            by, at = call.decided_by or SYSTEM, call.started_at or call.finished_at
            yield self.line("asked.decided", values, by, at)

    def lines_of_undos(self, others: list[Line]) -> Iterator[Line | None]:
        """What was taken back of the plan or one of its subtasks, and brought back."""
        held = sorted((line.at, line.version) for line in others)
        for row, key in undos_about(self.plan):
            values = {
                "version": next((v for at, v in reversed(held) if at <= row.created_at), 1),
                "subtask": key,
                "reverses": row.reverses_id,
                "files": file_counts(row),
            }
            type = "subtask.undone" if key else "plan.undone"
            yield self.line(type, values, row.by or SYSTEM, row.created_at)

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
