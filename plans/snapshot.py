"""The plan as one typed value: page, socket, poll, API, commands and export all read this."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, InstanceOf, JsonValue

from agents.engine.usage import Times
from agents.stored_text import gettext, ngettext
from agents.timestamps import Moment
from plans.changes.undone import ChangedSnapshot
from plans.check_results import CheckSnapshot
from plans.comments import digest_of
from plans.models import PLAN_TEXT, SUBTASK_TEXT, Plan, Run, State
from plans.progress import ProgressSnapshot
from plans.schemas import why_too_many
from plans.status import ENDED, MARKS, STATUSES, Status, mark_of_done
from plans.verification import GONE, Word

Json = dict[str, JsonValue]
OF_ROW = (
    *("goal", *PLAN_TEXT, "state", "reason", "outcome", "version", "approved_version"),
    *("approved_by", "run", "pause_reason", "paused_by", "budget", "metadata"),
)


class ApprovalSnapshot(BaseModel, extra="forbid"):
    id: int
    tool: str
    arguments: JsonValue
    asked_at: Moment | None


class ActivitySnapshot(BaseModel, extra="forbid"):
    """The tool that runs now, since when, and when anything was last heard.

    `progress` is what the tool said last of how far it is, if it says so.
    """

    tool: str | None
    call: int | None
    arguments: JsonValue
    progress: str
    since: Moment | None
    last_at: Moment | None


class CheckingSnapshot(BaseModel, extra="forbid"):
    """Checks of what is done are being run again: so many of so many, of these subtasks."""

    done: int
    total: int
    subtasks: list[str]


class SecondsSnapshot(BaseModel, extra="forbid"):
    """Of all attempts, and between them: working, waiting for a person, paused."""

    worked: float
    waited: float
    paused: float

    @property
    def times(self) -> Times:
        return Times(self.worked, self.waited, self.paused)


# A dataclass, as a plan may have 500: a model takes several times as long to make.
@dataclass(slots=True)
class SubtaskSnapshot:
    __pydantic_config__ = ConfigDict(extra="forbid")

    key: str
    position: int | None
    name: str
    description: str
    expected_outcome: str
    state: str
    reason: str
    progress: str
    outcome: str
    result: JsonValue
    checks: list[CheckSnapshot]
    verification: str | None
    verified: bool | None
    looked_by: str
    looked_at: Moment | None
    untrue_since: Moment | None
    undone_by: str
    undone_at: Moment | None
    comment: str
    error: str
    failed: bool
    failure: str
    attempts: int
    changes: ChangedSnapshot | None
    plan: int | None
    started_at: Moment | None
    finished_at: Moment | None
    seconds: float
    counts_from: Moment | None
    tokens: int
    tokens_cached: int
    usage_estimated: bool
    cost: float | None

    @property
    def is_open(self) -> bool:
        return self.state in (State.TODO, State.IN_PROGRESS)

    @property
    def is_by_word(self) -> bool:
        """Done, and nothing but the agent's word says so."""
        return self.verification == Word.BY_WORD

    @property
    def is_unseen(self) -> bool:
        """Done, and no person has approved its checks or looked."""
        return self.verification in (Word.BY_WORD, Word.OWN_CHECK)

    @property
    def is_regressed(self) -> bool:
        return self.verification == Word.REGRESSED

    @property
    def is_gone(self) -> bool:
        """Done, but what it was to bring about is not there."""
        return self.verification in GONE

    @property
    def mark(self) -> str:
        """The shape that stands for it."""
        if self.verification:
            return mark_of_done(self.verification)
        if self.failed:
            return "check_failed" if self.failure == "check" else "failed"
        return self.state

    @property
    def mark_name(self) -> str:
        """What a screen reader says for it."""
        return name_of_mark(self.mark, self.reason)

    @property
    def result_words(self) -> str:
        """The data that its finish brought, as a person may read them."""
        if self.result is None:
            return ""
        is_flat = not isinstance(self.result, dict | list)
        return str(self.result) if is_flat else json.dumps(self.result, ensure_ascii=False)

    @property
    def text(self) -> list[tuple[str, str]]:
        """Each field with its text, for the editor to begin with."""
        return [(field, getattr(self, field)) for field in SUBTASK_TEXT]

    @property
    def digest(self) -> str:
        """What a start from this page names its comment by."""
        return digest_of(self.key, self.comment)

    @property
    def checks_words(self) -> str:
        count = len(self.checks)
        words = ngettext("{n} check", "{n} checks", count) if count else gettext("no check")
        return words.format(n=count)

    @property
    def not_run(self) -> CheckSnapshot | None:
        """The check for which the run rests: the last that could not be run."""
        left = [each for each in self.checks if each.state == "could_not_run"]
        return max(left, key=lambda each: each.result.at if each.result else "", default=None)

    @property
    def checked_at(self) -> str:
        """When it was checked last, or looked at; empty where neither has been."""
        results = [each.result.at for each in self.checks if each.result]
        return max([*results, self.looked_at or ""])


class PlanSnapshot(BaseModel, extra="forbid"):
    """A plan as it is now; a reader ignores one with a lower seq than it has seen."""

    id: int
    conversation: int
    active: bool
    seq: int
    in_force: bool
    goal: str
    title: str
    content: str
    expected_outcome: str
    state: str
    reason: str
    outcome: str
    version: int
    approved_version: int | None
    approved_by: str
    approved_at: Moment | None
    run: str
    run_mode: str | None
    halted: bool
    hidden: bool
    pause_reason: str
    paused_by: str
    retry_at: Moment | None
    attention: str
    standing: str
    question: str
    approvals: list[ApprovalSnapshot]
    activity: ActivitySnapshot | None
    checking: CheckingSnapshot | None
    progress: ProgressSnapshot
    changes: ChangedSnapshot | None
    seconds: SecondsSnapshot
    counts_from: Moment | None
    tokens: int
    tokens_cached: int
    usage_estimated: bool
    cost: float | None
    budget: Json
    metadata: Json
    subtasks: list[SubtaskSnapshot]
    created_at: Moment
    updated_at: Moment
    finished_at: Moment | None
    status: Annotated[InstanceOf[Status], Field(exclude=True)]  # in words: attention and standing
    counted: Annotated[list[str], Field(exclude=True)] = []  # keys of what `progress` is about

    def document(self) -> dict[str, Any]:
        """As JSON has it: a check with the fields of its kind alone."""
        return self.model_dump(exclude_unset=True)

    @property
    def row(self) -> Plan:
        """Enough of its row to ask the database about it; the plan may be gone by now."""
        now = {name: getattr(self, name) for name in OF_ROW}
        return Plan(pk=self.id, conversation_id=self.conversation, **now)

    @property
    def is_open(self) -> bool:
        return self.state in (State.TODO, State.IN_PROGRESS)

    @property
    def is_confirmed(self) -> bool:
        return self.version == self.approved_version

    @property
    def is_proposed(self) -> bool:
        """Whether its present version waits for a yes: then all of its text is shown."""
        return self.is_open and not self.is_confirmed

    @property
    def is_pausing(self) -> bool:
        """A person has asked it to pause, which it does with or after what it waits for."""
        return self.pause_reason == Plan.PauseReason.USER

    @property
    def works(self) -> bool:
        """Whether something goes on now: not while it rests, waits for a person or a next try."""
        return self.status.mark == "in_progress"

    @property
    def takes_edits(self) -> bool:
        """By hand, while nothing runs; of a document in force a next version is made."""
        return (self.is_open or self.in_force) and self.run in (Run.IDLE, Run.PAUSED)

    @property
    def takes_retry(self) -> list[str]:
        """The keys of what has failed, is not true any more or undone, and may be done again:
        nothing runs or comes before it."""
        at_rest = self.is_confirmed and self.state != State.ABANDONED and self.run == Run.IDLE
        first = self.number(State.TODO)
        rows = self.subtasks[: first or None]
        keys = [each.key for each in rows if at_rest and each.is_gone]
        if self.is_confirmed and self.takes_edits and first and rows[-1].failed:
            keys.append(rows[-1].key)
        return keys

    @property
    def takes_subtasks(self) -> bool:
        """Not a document, which is a text alone."""
        is_text = self.in_force or (self.is_document and bool(self.content))
        return self.takes_edits and not is_text

    @property
    def is_document(self) -> bool:
        """A plan of text alone."""
        return not self.subtasks

    @property
    def why_full(self) -> str:
        """Why no subtask is added; empty where one may be."""
        return why_too_many(len(self.subtasks) + 1)

    @property
    def current(self) -> SubtaskSnapshot | None:
        """The subtask that is worked on, or would be next."""
        return next((each for each in self.subtasks if each.is_open), None)

    def number(self, *states: str) -> int:
        """The place, counted from 1, of the first subtask in one of these; 0 for none."""
        rows = enumerate(self.subtasks, 1)
        return next((place for place, each in rows if each.state in states), 0)

    @property
    def failed_number(self) -> int:
        rows = enumerate(self.subtasks, 1)
        return next((place for place, each in rows if each.failed), 0)

    @property
    def segments(self) -> list[str]:
        """The mark of each subtask that is counted; one that a version takes away is to do until
        that is approved."""
        marks = {each.key: each.mark for each in self.subtasks}
        return [marks.get(key, "todo") for key in self.counted]

    @property
    def done(self) -> list[SubtaskSnapshot]:
        return [each for each in self.subtasks if each.state == State.DONE]

    @property
    def done_by_word(self) -> list[SubtaskSnapshot]:
        return [each for each in self.subtasks if each.is_by_word]

    @property
    def left_out(self) -> list[SubtaskSnapshot]:
        return [each for each in self.subtasks if each.state == State.ABANDONED]

    @property
    def comments(self) -> int:
        """Subtasks with a comment that has not gone out."""
        return sum(bool(each.comment) for each in self.subtasks)

    @property
    def checked_at(self) -> str:
        """When what is done was checked last, or looked at."""
        return max((each.checked_at for each in self.subtasks), default="")

    @property
    def checked(self) -> dict[str, Any]:
        """Its progress, with the numbers of what is done by word or no longer true, and when that
        was seen."""
        rows = list(enumerate(self.subtasks, 1))
        return {
            **self.progress.model_dump(),
            "by_word_at": [place for place, each in rows if each.is_by_word],
            "regressed_at": [place for place, each in rows if each.is_regressed],
            "at": self.checked_at,
        }

    @property
    def runnable_checks(self) -> int:
        """How many checks of what is done can be run again."""
        return sum(len(each.checks) for each in self.done)

    @property
    def not_run_words(self) -> str:
        """1 check could not be run, of what is done; nothing where all of them could."""
        n = sum(check.state == "could_not_run" for each in self.done for check in each.checks)
        words = ngettext("{n} check could not be run", "{n} checks could not be run", n)
        return words.format(n=n) if n else ""

    @property
    def with_checks(self) -> int:
        """How many subtasks have a check."""
        return sum(bool(each.checks) for each in self.subtasks)

    @property
    def and_checks(self) -> str:
        """What follows the number of subtasks: , 6 checks."""
        n = sum(len(each.checks) for each in self.subtasks)
        return ngettext(", {n} check", ", {n} checks", n).format(n=n) if n else ""


def name_of_mark(mark: str, reason: str) -> str:
    """What a screen reader says for a subtask's mark."""
    kind = reason.partition(":")[0] if mark == "abandoned" else ""
    if kind in ENDED:  # with its plan, and in the same word
        return STATUSES[kind].word
    return gettext("Skipped") if kind == "skipped" else str(MARKS[mark])
