"""What goes in and out of the API, as its OpenAPI document shows it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Generic, TypeVar

from ninja import Schema
from pydantic import ConfigDict, Field, JsonValue

T = TypeVar("T")


class Problem(Schema):
    """Why it was refused, in one sentence; `current_version` where the version was the reason."""

    detail: str
    current_version: int | None = None


def answers(shape: object, *refusals: int, status: int = 200) -> dict[int, object]:
    """An operation's answers: its own, the refusals every operation knows, and further ones."""
    return {status: shape} | dict.fromkeys((401, 403, 413, 422, 429, *refusals), Problem)


class Body(Schema):
    """A body names only what the operation knows: a typing error is said, not swallowed."""

    model_config = ConfigDict(extra="forbid")


class Page(Schema, Generic[T]):
    items: list[T]
    count: int


class AgentShape(Schema):
    """agent.json with its defaults filled in, and what is wrong with the file just now."""

    model_config = ConfigDict(extra="allow")

    id: str
    name: str
    problem: str | None
    problem_line: int | None
    warning: str | None


class ConversationShape(Schema):
    id: int
    agent: str
    title: str
    seq: int
    plan: int | None
    created_at: datetime
    updated_at: datetime


class NewConversation(Body):
    agent: str


class ConversationPatch(Body):
    title: Annotated[str, Field(min_length=1, max_length=200)]


class ToolCallShape(Schema):
    id: int
    tool: str
    arguments: JsonValue
    state: str
    result: str


class MessageShape(Schema):
    id: int
    seq: int
    role: str
    kind: str
    text: str
    turn: int | None
    streaming: bool
    created_at: datetime
    tool_calls: list[ToolCallShape]


class NewMessage(Body):
    """`plan` and `plan_version` are what was read: words approve only together with both."""

    text: str
    plan: int | None = None
    plan_version: int | None = None


class TurnShape(Schema):
    id: int
    lane: str
    kind: str
    state: str
    waiting_for: str
    error: str


class Said(Schema):
    """What was taken in, the turn that will answer it, and where to go on: /new opens another
    conversation. `notice` is what was said in place of a reply; with `refused` it is why a word
    that was to start or cancel a plan did nothing."""

    message: MessageShape
    turn: TurnShape | None
    conversation: int
    notice: str | None
    refused: bool


class EventShape(Schema):
    seq: int
    type: str
    subject: str
    actor: str
    actor_kind: str
    data: dict[str, JsonValue]
    created_at: datetime
