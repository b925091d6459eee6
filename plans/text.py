"""One text of a plan for models: all of it within so many tokens, and every part whole by its key.

What is open comes first and whole, then the rest as far as there is room. What has no room is named
in a line that says how many characters it leaves out: `- [done +1,240] s3 Mend the links`; where
not all names have room, a last line counts the others.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from textwrap import indent
from typing import NamedTuple

from django.db.models import OuterRef, QuerySet, Subquery
from django.utils import translation

from agents.actors import PERSON
from agents.statements import prepared
from agents.text.tokens import BYTES_PER_TOKEN, estimate_tokens
from plans.check_text import looks_at
from plans.comments import takes_comments
from plans.models import (
    PLAN_TEXT,
    SETTLED,
    SUBTASK_FIELDS,
    SUBTASK_LABELS,
    Attempt,
    Plan,
    PlanVersion,
    State,
    Subtask,
    SubtaskComment,
)
from plans.status import statuses_of
from plans.verification import Verification, Word, results_in, verify

MOST_TOKENS = 12_000  # of what get_plan answers: 500 subtasks are named in less
NAME_BYTES = (2000, 120, 30)  # names are shortened where not all of them fit
ANY = ("", *State)
# What of a plan is read by key beside its subtasks, and what stands before it.
PARTS = {
    "goal": "Goal: ",
    "content": "",
    "expected_outcome": "Expected outcome: ",
    "outcome": "Outcome: ",
}
LEFT_OUT = (
    '[+n]: n characters of it are not shown here. Read them with get_plan {"keys": ["…"]} before '
    "you change or judge it."
)
MORE = "… and {count:,} more"
# What the system knows of it beside the agent's word, which needs none of its own.
KNOWN = {
    Word.CHECKED: " (checked)",
    Word.LOOKED: " (the person has looked at it)",
    Word.OWN_CHECK: " (checked by its own check)",
    Word.BY_WORD: "",
    Word.UNDONE: " (the person has undone its changes)",
    Word.REGRESSED: " (its checks say no now)",
}
FIRST, THEN, LAST, NEVER = range(4)  # in which order parts get the room


class Part(NamedTuple):
    """A piece of the text, and what the line says that stands for it where it has no room."""

    rank: int
    whole: str
    state: str
    name: str
    mark: str = ""

    @property
    def naming(self) -> tuple[bool, bool, int]:
        """Who is named first: the plan's own texts, then what is open; of outcomes the newest."""
        return self.name not in PARTS, self.state in SETTLED, min(self.rank, FIRST)

    def line(self, width: int) -> str:
        """Names it, with how many characters that leaves out; all of it where it says no more."""
        name = f"{beginning(self.name, width)}…" if size(self.name) > width else self.name
        state = f"[{self.state}] " if self.state else ""
        if self.whole == (plain := f"- {state}{name}{self.mark}"):
            return plain
        left = max(1, len(self.whole) - len(plain))
        return f"- [{f'{self.state} +{left:,}'.strip()}] {name}{self.mark}"


def fitted(parts: Sequence[Part], room: int | None) -> list[str]:
    """Each part whole, as far as there is room for so many tokens, by rank; else named, and counted
    where there is no room for a name either, what is settled first."""
    left = 0
    for width in NAME_BYTES:
        lines = [part.line(width) for part in parts]
        most = sys.maxsize if room is None else room * BYTES_PER_TOKEN
        left = most - sum(map(cost, [*lines, LEFT_OUT]))
        if left >= 0:
            break
    order = sorted(range(len(parts)), key=lambda n: parts[n].naming)
    named = len(order)
    if left < 0:
        left -= cost(MORE)
    while left < 0 and named and parts[order[named - 1]].name not in PARTS:
        named -= 1
        left += cost(lines[order[named]])
    kept = sorted(order[:named])
    for n in sorted(kept, key=lambda n: parts[n].rank):
        more = cost(parts[n].whole) - cost(lines[n])
        if parts[n].rank != NEVER and more <= left:
            lines[n], left = parts[n].whole, left - more
    counted = [MORE.format(count=len(parts) - named)] if named < len(parts) else []
    return [*(lines[n] for n in kept), *counted]


def cost(text: str) -> int:
    """Bytes of a text and the end of its line."""
    return size(text) + 1


def size(text: str) -> int:
    return len(text.encode(errors="replace"))


def beginning(text: str, width: int) -> str:
    """Of so many bytes at most."""
    return text[: len(text.encode(errors="replace")[:width].decode(errors="ignore"))]


@dataclass(frozen=True)
class PlanText:
    """A plan with its checklist, as models read it. `about` says how it stands, `known` how what is
    done is known to be so; `comments` are those that a person has sent, by the subtask's id."""

    plan: Plan
    subtasks: Sequence[Subtask]
    about: str
    comments: Mapping[int, Sequence[SubtaskComment]] = field(default_factory=dict)
    known: Mapping[int, Verification] = field(default_factory=dict)

    def within(
        self, room: int | None, states: Collection[str] = ANY, *, reads_on: bool = True
    ) -> str:
        """All of it in so many tokens, None for any number. Of what is not in these `states` names
        alone. `reads_on`: who reads it has get_plan."""
        rest = None if room is None else room - estimate_tokens(self.head, "\n")
        parts = [*self.own(states), *self.rows(states)]
        return "\n".join([self.head, *told(parts, rest, reads_on)])

    @property
    def head(self) -> str:
        return f"Plan: {self.plan.title} (v{self.plan.version})\n{self.about}"

    def fits(self, room: int) -> bool:
        return estimate_tokens(self.within(None)) <= room

    def checklist(
        self, room: int | None, states: Collection[str] = ANY, *, reads_on: bool = True
    ) -> str:
        return "\n".join(told(self.rows(states), room, reads_on))

    def own(self, states: Collection[str]) -> list[Part]:
        """The plan's texts beside its subtasks."""
        rank = THEN if states else NEVER
        texts = {key: getattr(self.plan, key) for key in PARTS}
        return [Part(rank, f"{PARTS[key]}{text}", "", key) for key, text in texts.items() if text]

    def rows(self, states: Collection[str]) -> list[Part]:
        return [self.row(each, each.state in states) for each in self.subtasks]

    def row(self, subtask: Subtask, is_shown: bool) -> Part:
        rank = LAST if subtask.is_settled else FIRST
        mark, said = self.mark_of(subtask), f" ({subtask.reason})" if subtask.reason else ""
        if subtask.state == State.DONE:
            said = f": {subtask.outcome}"
        state, name = subtask.state, f"{subtask.key} {subtask.name}"
        head = f"- [{state}] {name}{mark}{said}" if state else f"- {name}"
        whole = indent(fields([head, *self.details(subtask)]), "  ")[2:]
        return Part(rank if is_shown else NEVER, whole, state, name, mark)

    def details(self, subtask: Subtask) -> list[str]:
        """What there is to say of a subtask beside its name, state and outcome."""
        found = texts_of(subtask)
        for each in self.comments.get(subtask.pk, ()):
            answered = f" (answered in v{each.answered_in})" if each.answered_in else ""
            found.append(f"Comment of {each.author}{answered}: {each.text}")
        found += result_of(subtask)
        if subtask.state == State.TODO and (error := getattr(subtask, "last_error", "")):
            found.append(f"Its last attempt failed: {error}")
        return found

    def mark_of(self, subtask: Subtask) -> str:
        known = self.known.get(subtask.pk)
        return KNOWN[known.word] if known else ""

    def whole(self, key: str) -> str | None:
        """All of one part; None where there is none with this key."""
        if key in PARTS:
            return f"{PARTS[key]}{getattr(self.plan, key)}"
        subtask = next((each for each in self.subtasks if each.key == key), None)
        if subtask is None:
            return None
        state = f" [{subtask.state}]" if subtask.state else ""
        said = {"Reason": subtask.reason, "Outcome": subtask.outcome}
        lines = [f"{label}: {text}" for label, text in said.items() if text]
        head = f"{key}{state} {subtask.name}{self.mark_of(subtask)}"
        return fields([head, *lines, *self.details(subtask)])


def fields(texts: Sequence[str]) -> str:
    """Each from the beginning of a line, the lines of a longer one behind it: none can pass for
    another."""
    return "\n".join(indent(text, "  ")[2:] for text in texts)


def told(parts: Sequence[Part], room: int | None, reads_on: bool) -> list[str]:
    """With a word on how to read what is left out, where something is."""
    lines = fitted(parts, room)
    is_whole = lines == [part.whole for part in parts]
    return lines if is_whole or not reads_on else [*lines, LEFT_OUT]


def result_of(subtask: Subtask) -> list[str]:
    """The data that its finish brought, if any."""
    if subtask.result is None:
        return []
    return [f"Result: {json.dumps(subtask.result, ensure_ascii=False)}"]


def outcomes_of(done: Sequence[Subtask], room: int, *, reads_on: bool) -> list[str]:
    """What came of each, the newest first where not all have room."""
    parts = []
    for n, each in enumerate(done):
        name = f"{each.key} {each.name}"
        whole = indent(fields([f"- {name}: {each.outcome}", *result_of(each)]), "  ")[2:]
        parts.append(Part(-n, whole, "", name))
    return told(parts, room, reads_on)


def texts_of(subtask: Subtask) -> list[str]:
    """What an approval of it is about, behind its name: its texts, and how it is known to be
    done."""
    texts = {label: getattr(subtask, name) for name, label in SUBTASK_LABELS.items()}
    lines = [f"{label}: {text}" for label, text in texts.items() if text and label != "Name"]
    with translation.override("en"):
        checks = [f"- {each['key']} {each['kind']}: {looks_at(each)}" for each in subtask.checks]
    return [*lines, "The system checks, when it is finished:", *checks] if checks else lines


# From rows


def text_of(plan: Plan) -> PlanText:
    """Of the plan as it is now."""
    comments: defaultdict[int, list[SubtaskComment]] = defaultdict(list)
    if takes_comments(plan):
        for each in sent_comments.models(plan=plan.pk):
            comments[each.subtask_id].append(each)
    rows = listed_subtasks.models(plan=plan.pk)
    return PlanText(plan, rows, standing(plan), comments, known_of(plan, rows))


def known_of(plan: Plan, subtasks: Sequence[Subtask]) -> dict[int, Verification]:
    has_done = any(each.state == State.DONE for each in subtasks)
    return verify(plan, subtasks, results_in([plan.pk])) if has_done else {}


def standing(plan: Plan) -> str:
    """Its number, whether somebody said yes to it, and its status, as a person reads it."""
    status = statuses_of([plan.pk]).get(plan.pk)
    with translation.override("en"):
        word = status.word if status else "deleted"
    said = f"v{plan.version} waits for a yes. " if plan.is_open and not plan.is_confirmed else ""
    if (version := plan.approved_version) is not None:
        whose = "by" if plan.approved_kind == PERSON else "for"
        said += f"v{version} was approved {whose} {plan.approved_by}. "
    return f"Plan number {plan.pk}. {said}The person reads of it: {word}."


def text_of_version(plan: Plan, kept: PlanVersion) -> PlanText:
    """Of the plan as it was; its subtasks have no states."""
    names = ("key", *SUBTASK_FIELDS)
    texts = kept.text["subtasks"]
    rows = [Subtask(state="", **{name: each[name] for name in names}) for each in texts]
    about = f"Plan number {plan.pk}. This is v{kept.version}; the plan is at v{plan.version}."
    return PlanText(at_version(plan, kept), rows, about)


def approved_text(plan: Plan) -> PlanText:
    """The plan and its checklist for an attempt: the approved version's text, today's states.

    What a model or a person has changed since was not agreed to: it neither instructs the attempt
    that is under way nor can that attempt read it. Copies, not to be saved; where the approval
    holds, they are the plan and checklist as they are.
    """
    if plan.is_confirmed or plan.approved_version is None:
        return text_of(plan)
    kept = PlanVersion.objects.get(plan=plan, version=plan.approved_version)
    now = {subtask.key: subtask for subtask in plan.subtasks.all()}
    subtasks: list[Subtask] = []
    for text in kept.text["subtasks"]:
        subtask = copy(now[text["key"]])
        for name in SUBTASK_FIELDS:
            setattr(subtask, name, text[name])
        if subtask.position is None and subtask.state != State.DONE:
            subtask.state = State.ABANDONED
        subtasks.append(subtask)
    approved = at_version(plan, kept)
    return PlanText(approved, subtasks, standing(approved), known=known_of(plan, subtasks))


def at_version(plan: Plan, kept: PlanVersion) -> Plan:
    """A copy with the texts of that version, not to be saved."""
    then = copy(plan)
    then.version = kept.version
    for name in PLAN_TEXT:
        setattr(then, name, kept.snapshot[name])
    return then


@prepared
def listed_subtasks(plan: int) -> QuerySet[Subtask]:
    """With the error of the last attempt at each."""
    last = Attempt.objects.filter(subtask=OuterRef("pk")).order_by("-number").values("error")
    rows = Subtask.objects.filter(plan=plan, position__isnull=False).order_by("position")
    return rows.annotate(last_error=Subquery(last[:1]))


@prepared
def sent_comments(plan: int) -> QuerySet[SubtaskComment]:
    rows = SubtaskComment.objects.filter(subtask__plan=plan, message__isnull=False)
    return rows.order_by("pk")


# Documents in force

KEEP_TO = "The person has approved what follows. Keep to it in all that you do here."
NOT_SHOWN = """\
[+n]: n characters are not shown here. Read them with get_plan and the plan's number before you do \
anything that they may be about."""


def text_in_force(document: Plan) -> PlanText:
    """As it was approved last, whatever waits."""
    approved = document
    if not document.is_confirmed:
        kept = PlanVersion.objects.get(plan=document, version=document.approved_version or 0)
        approved = at_version(document, kept)
    return PlanText(approved, [], f"A document in force. Plan number {document.pk}.")


def documents_text(documents: Sequence[Plan], room: int, *, reads_on: bool) -> str:
    """Each whole while there is room for so many tokens; of the others no more than that they are
    there."""
    parts, is_whole = [KEEP_TO], True
    for each in map(text_in_force, documents):
        is_whole = is_whole and each.fits(room)
        parts.append(each.within(room, reads_on=False))
        room = max(0, room - estimate_tokens(parts[-1]))
    return "\n\n".join(parts if is_whole or not reads_on else [*parts, NOT_SHOWN])
