"""What the API shows of plans beside `plans.snapshot`: versions, attempts, an asked plan."""

from __future__ import annotations

from datetime import datetime

from ninja import Schema
from pydantic import ConfigDict, Field

from agents.engine.usage import times_of
from agents.models import TurnState
from plans.models import Attempt
from plans.snapshot import Json, SecondsSnapshot


class ExactShape(Schema):
    """Exactly these fields."""

    model_config = ConfigDict(extra="forbid")


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
    seconds: SecondsSnapshot
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
