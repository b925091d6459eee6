"""What callers of the API send about plans."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Literal, Self

from ninja import Schema
from pydantic import AliasChoices, ConfigDict, Field, model_validator

from console.api.fields import Amount, AsWritten, Count, Flag, Whole
from console.api.shapes import Body
from plans.models import State
from plans.schemas import (
    FEW,
    LONGEST_TEXT,
    VISIBLE,
    Content,
    GivenName,
    Metadata,
    PlanChange,
    SubtaskChange,
    SubtaskDraft,
    SubtaskText,
    SubtaskTextChange,
    Text,
    Title,
)
from plans.search import NEEDS_ME, Query

Sort = Literal[
    "created", "-created", "state", "-state", "duration", "-duration", "tokens", "-tokens"
]
# What a yes starts.
RunAfter = Literal["all", "next", "no"]
MOST_TOOLS = 500  # that a run may be granted


class Seen(Body):
    """`version` is the one you have seen."""

    version: Whole | None = None


class PlansWanted(Schema):
    """`q`: every word stands in the title, goal, content or a subtask's name. `since` and `until`
    are days in UTC, both included. `attention` is needs-me for all that waits for a person, or
    failed. `sort` goes down with a leading -."""

    state: State | None = None
    attention: Literal["needs-me", "failed"] | None = None
    agent: str = ""
    conversation: int | None = None
    q: str = ""
    since: date | None = None
    until: date | None = None
    sort: Sort = "-created"

    @property
    def standings(self) -> tuple[str, ...]:
        return {"needs-me": NEEDS_ME, "failed": ("failed",)}.get(self.attention or "", ())

    def as_query(self) -> Query:
        since, until = (
            datetime.combine(day, time(), UTC) if day else None for day in (self.since, self.until)
        )
        return Query(
            agent=self.agent,
            conversation=self.conversation,
            text=self.q,
            since=since,
            until=until + timedelta(days=1) if until else None,
        )


class FirstSubtask(SubtaskDraft):
    model_config = ConfigDict(extra="forbid")

    name: GivenName = Field(validation_alias=AliasChoices("name", "title"))


class NewPlan(Body):
    """Either a goal, for which the agent's planner makes the plan, or the plan itself: a title,
    and content or subtasks.

    Without a conversation a new one is opened with the agent. Other plans of the conversation are
    left alone; with `beside` false it takes their place as /plan does: one that was never approved
    is superseded, one that was is paused and stays open, inactive.
    """

    agent: str | None = None
    conversation: Whole | None = None
    goal: Annotated[str, Field(max_length=LONGEST_TEXT)] = ""
    planner: str | None = None
    beside: Flag = True
    title: Title = ""
    content: Content = ""
    expected_outcome: Text = ""
    subtasks: Annotated[list[FirstSubtask], FEW] = []
    metadata: Metadata = {}

    @model_validator(mode="after")
    def says_what_to_plan(self) -> Self:
        if not self.title.strip() and not self.goal.strip():
            raise ValueError("name a goal to plan for, or a title and content or subtasks")
        if (self.agent is None) == (self.conversation is None):
            raise ValueError("name either an agent or a conversation")
        return self


class SubtaskWanted(SubtaskChange, Body):
    """With a key one that is there (what is not named stays), without one a new one."""

    @model_validator(mode="after")
    def new_ones_have_a_name(self) -> Self:
        if self.key is None and self.name is None:
            raise ValueError("a new subtask needs a name")
        return self


class PlanPatch(PlanChange, Body):
    """`subtasks` is the whole list of those not started: in this order, and missing ones are
    removed. `metadata` is a merge-patch and makes no version."""

    subtasks: Annotated[list[SubtaskWanted], FEW] | None = None


class Approval(Body):
    """The version that was read; with another one nothing is approved.

    Without `run` it runs in the mode it ran in before, the first time to its end. Kept comments
    refuse it, unless `without_comments` says that they are meant to stay behind.
    """

    version: Whole
    without_comments: Flag = False
    run: RunAfter | None = None


class Feedback(Body):
    feedback: Annotated[Text, Field(json_schema_extra={"pattern": VISIBLE})]


class Retrying(Body):
    clean: Flag = False


class Reason(Body):
    reason: Annotated[str, Field(max_length=200)] = ""


class RunMode(Body):
    """`executor` is a chain, `allow` are tools granted; both hold for this run alone."""

    mode: Literal["next", "all"] = "all"
    executor: str | None = None
    allow: Annotated[list[str], Field(max_length=MOST_TOOLS)] = []


class NewSubtask(SubtaskText, Body):
    """`after` is the key it follows; without one it comes last."""

    after: str | None = None


class SubtaskPatch(SubtaskTextChange, Body):
    """`position` moves it, counted from 1 in the checklist."""

    position: Annotated[int, Field(ge=1), AsWritten] | None = None


class Anew(Body):
    """`from` is the key of the first subtask to be replanned; without it the next open one."""

    from_key: str | None = Field(default=None, alias="from")
    hint: str = ""


class Limits(Body):
    """New limits; what is not named stays, null takes a limit away."""

    tokens: Count | None = None
    cost_usd: Amount | None = None
    seconds: Amount | None = None
    model_calls: Count | None = None
