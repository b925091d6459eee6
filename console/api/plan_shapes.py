"""Plans as the API shows them; `plans.snapshot` is what fills PlanShape."""

from __future__ import annotations

from datetime import datetime

from ninja import Schema
from pydantic import ConfigDict, Field, JsonValue

from agents.engine.usage import times_of
from agents.models import TurnState
from plans.check_text import Kind
from plans.models import Attempt

Json = dict[str, JsonValue]


class ExactShape(Schema):
    """Exactly these fields: the test of the snapshot fails when the two drift apart."""

    model_config = ConfigDict(extra="forbid")


class ApprovalShape(ExactShape):
    id: int
    tool: str
    arguments: JsonValue
    asked_at: datetime | None


class ActivityShape(ExactShape):
    """The tool that runs now, since when, and when anything was last heard.

    `progress` is what the tool said last of how far it is, if it says so.
    """

    tool: str | None
    call: int | None
    arguments: JsonValue
    progress: str
    since: datetime | None
    last_at: datetime | None


class CheckingShape(ExactShape):
    """Checks of what is done are being run again: so many of so many, of these subtasks."""

    done: int
    total: int
    subtasks: list[str]


class ProgressShape(ExactShape):
    """`done` is checked, by_word and regressed together; `looked` counts those of the checked that
    a person has looked at."""

    done: int
    checked: int
    by_word: int
    regressed: int
    looked: int
    abandoned: int
    total: int
    percent: int


class ChangedShape(ExactShape):
    """Files and lines that the attempts changed themselves; `outside` and `unsure` count files that
    others changed meanwhile, and those of which it cannot be told. With `up_to` it may be less: not
    all is kept, and a file that several attempts changed counts for each. `stopped` says why
    nothing is known, `undone_at` when an undo left none of them, `partly_undone` whether it took
    some back."""

    files: int
    added: int
    removed: int
    outside: int
    unsure: int
    up_to: bool
    stopped: str
    undone_at: datetime | None
    partly_undone: bool


class CheckResultShape(ExactShape):
    """`passed` is null where it could not be run; `by` is the person who looked in its place."""

    passed: bool | None
    said: str
    at: datetime
    seconds: float
    cost: float | None
    by: str


class CheckShape(ExactShape):
    """A check with the fields of its kind, and what it came to last."""

    key: str
    kind: Kind
    path: str | None = None
    exists: bool | None = None
    absent: bool | None = None
    unchanged: bool | None = None
    contains: str | None = None
    matches: str | None = None
    command: str | None = None
    exit_code: int | None = None
    timeout_s: int | None = None
    url: str | None = None
    status: int | None = None
    tool: str | None = None
    arguments: JsonValue = None
    value: JsonValue = None
    question: str | None = None
    result: CheckResultShape | None


class SubtaskShape(ExactShape):
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
    checks: list[CheckShape]
    verified: bool | None
    looked_by: str
    looked_at: datetime | None
    untrue_since: datetime | None
    comment: str
    error: str
    failed: bool
    failure: str
    attempts: int
    changes: ChangedShape | None
    plan: int | None
    started_at: datetime | None
    finished_at: datetime | None
    seconds: float
    counts_from: datetime | None
    tokens: int
    tokens_cached: int
    usage_estimated: bool
    cost: float | None


class SecondsShape(ExactShape):
    """Of all attempts, and between them: working, waiting for a person, paused."""

    worked: float
    waited: float
    paused: float


class PlanShape(ExactShape):
    """A plan as it is now; a reader ignores one with a lower seq than it has seen."""

    id: int
    conversation: int
    active: bool
    seq: int
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
    approved_at: datetime | None
    run: str
    run_mode: str | None
    halted: bool
    hidden: bool
    pause_reason: str
    paused_by: str
    retry_at: datetime | None
    attention: str
    standing: str
    question: str
    approvals: list[ApprovalShape]
    activity: ActivityShape | None
    checking: CheckingShape | None
    progress: ProgressShape
    changes: ChangedShape | None
    seconds: SecondsShape
    counts_from: datetime | None
    tokens: int
    tokens_cached: int
    usage_estimated: bool
    cost: float | None
    budget: Json
    metadata: Json
    subtasks: list[SubtaskShape]
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None


class VersionShape(Schema):
    version: int
    author: str
    author_kind: str
    explanation: str
    created_at: datetime


class VersionTextShape(VersionShape):
    """`snapshot` is the text: {title, content, expected_outcome, subtasks}."""

    snapshot: Json


class AttemptShape(Schema):
    subtask: str = Field(alias="subtask.key")
    number: int
    version: int
    turn: int = Field(alias="turn_id")
    state: str
    failure_class: str
    error: str
    started_at: datetime | None = Field(alias="turn.started_at")
    finished_at: datetime | None = Field(alias="turn.finished_at")
    seconds: SecondsShape
    tokens: int = Field(alias="turn.tokens")
    tokens_cached: int = Field(alias="turn.tokens_cached")
    usage_estimated: bool = Field(alias="turn.usage_estimated")
    cost: float | None = Field(alias="turn.cost")

    @staticmethod
    def resolve_state(row: Attempt) -> str:
        """That of its turn, but a turn that went well may have said that the subtask failed."""
        failed = row.turn.state == TurnState.DONE and bool(row.failure_class)
        return str(TurnState.FAILED if failed else row.turn.state)

    @staticmethod
    def resolve_seconds(row: Attempt) -> dict[str, object]:
        return times_of(row.turn).document()


class AskedShape(Schema):
    """A plan is being asked for: it appears as the conversation's plan."""

    conversation: int
    turn: int | None
