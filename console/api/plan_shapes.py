"""Plans as the API shows and takes them; `plans.snapshot` is what fills PlanShape."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, Self

from ninja import Schema
from pydantic import ConfigDict, Field, JsonValue, model_validator

from console.api.shapes import Body
from plans.schemas import LONGEST_TEXT, Content, Name, SubtaskDraft, Text, Title

Json = dict[str, JsonValue]
# What a yes starts.
RunAfter = Literal["all", "next", "no"]


class Shown(Schema):
    """Exactly these fields: the test of the snapshot fails when the two drift apart."""

    model_config = ConfigDict(extra="forbid")


class ApprovalShape(Shown):
    id: int
    tool: str
    arguments: JsonValue
    asked_at: datetime | None


class ActivityShape(Shown):
    """The tool that runs now, since when, and when anything was last heard."""

    tool: str | None
    arguments: JsonValue
    since: datetime | None
    last_at: datetime | None


class ProgressShape(Shown):
    done: int
    abandoned: int
    total: int
    percent: int


class SubtaskShape(Shown):
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
    error: str
    failed: bool
    attempts: int
    plan: int | None
    started_at: datetime | None
    finished_at: datetime | None
    seconds: float
    counts_from: datetime | None
    tokens: int
    cost: float | None


class SecondsShape(Shown):
    """Of all attempts, and between them: working, waiting for a person, paused."""

    worked: float
    waited: float
    paused: float


class PlanShape(Shown):
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
    pause_reason: str
    retry_at: datetime | None
    attention: str
    standing: str
    question: str
    approvals: list[ApprovalShape]
    activity: ActivityShape | None
    progress: ProgressShape
    seconds: SecondsShape
    counts_from: datetime | None
    tokens: int
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
    subtask: str
    number: int
    version: int
    turn: int
    state: str
    failure_class: str
    error: str
    started_at: datetime | None
    finished_at: datetime | None
    seconds: SecondsShape
    tokens: int
    cost: float | None


class AskedShape(Schema):
    """A plan is being asked for: it appears as the conversation's plan."""

    conversation: int
    turn: int | None


class NewPlan(Body):
    """Either a goal, for which the agent's planner makes the plan, or the plan itself: a title,
    and content or subtasks.

    Without a conversation a new one is opened with the agent. Other plans of the conversation are
    left alone; with `beside` false it takes their place as /plan does: one that was never approved
    is superseded, one that was is paused and stays open, inactive.
    """

    agent: str | None = None
    conversation: int | None = None
    goal: Annotated[str, Field(max_length=LONGEST_TEXT)] = ""
    planner: str | None = None
    beside: bool = True
    title: Title = ""
    content: Content = ""
    expected_outcome: Text = ""
    subtasks: list[SubtaskDraft] = []
    metadata: Json = {}

    @model_validator(mode="after")
    def says_what_to_plan(self) -> Self:
        if not self.title.strip() and not self.goal.strip():
            raise ValueError("name a goal to plan for, or a title and content or subtasks")
        if (self.agent is None) == (self.conversation is None):
            raise ValueError("name either an agent or a conversation")
        return self


class SubtaskWanted(Body):
    """With a key one that is there (what is not named stays), without one a new one."""

    key: str | None = None
    name: Annotated[Name, Field(min_length=1)] | None = None
    description: Text | None = None
    expected_outcome: Text | None = None

    @model_validator(mode="after")
    def new_ones_have_a_name(self) -> Self:
        if self.key is None and self.name is None:
            raise ValueError("a new subtask needs a name")
        return self


class PlanPatch(Body):
    """`subtasks` is the whole list of those not started: in this order, and missing ones are
    removed. `metadata` is a merge-patch and makes no version."""

    title: Annotated[Title, Field(min_length=1)] | None = None
    content: Content | None = None
    expected_outcome: Text | None = None
    metadata: Json | None = None
    subtasks: list[SubtaskWanted] | None = None


class Approval(Body):
    """The version that was read; with another one nothing is approved.

    Without `run` it runs in the mode it ran in before, the first time to its end.
    """

    version: int
    run: RunAfter | None = None


class Feedback(Body):
    feedback: Text


class Reason(Body):
    reason: Annotated[str, Field(max_length=200)] = ""


class RunMode(Body):
    """`executor` is a chain, `allow` are tools granted; both hold for this run alone."""

    mode: Literal["next", "all"] = "all"
    executor: str | None = None
    allow: list[str] = []


class NewSubtask(Body):
    """`after` is the key it follows; without one it comes last."""

    name: Annotated[Name, Field(min_length=1)]
    description: Text = ""
    expected_outcome: Text = ""
    after: str | None = None


class SubtaskPatch(Body):
    """`position` moves it, counted from 1 in the checklist."""

    name: Annotated[Name, Field(min_length=1)] | None = None
    description: Text | None = None
    expected_outcome: Text | None = None
    position: Annotated[int, Field(ge=1)] | None = None
