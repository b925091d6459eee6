"""What goes in and out of the API, as its OpenAPI document shows it.

Shapes of rows read their fields from the row itself; an alias names an attribute that is called
otherwise there.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Generic, Literal, TypeVar

from django.db.models import Model, QuerySet
from ninja import Query, Schema
from pydantic import ConfigDict, Field, JsonValue

from agents.engine.alternatives import alternatives_of
from agents.models import Conversation, Message, ToolCall
from console.api.fields import Flag, ModelName, NotBlank, Whole
from console.attachments import ShownFile, files_of
from console.call_images import CallImage, images_of
from console.plan_requests import ChatResult
from plans.queries import active_plan_id

PER_PAGE = 50
PageNumber = Annotated[int, Query(ge=1, le=1_000_000)]
T = TypeVar("T")
Row = TypeVar("Row", bound=Model)


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


def page_of(rows: QuerySet[Row], page: int) -> tuple[list[Row], int]:
    """The rows of one page (from 1), and how many there are on all of them."""
    start = (page - 1) * PER_PAGE
    return list(rows[start : start + PER_PAGE]), rows.count()


class AgentShape(Schema):
    """agent.json with its defaults filled in, and what is wrong with the file just now."""

    model_config = ConfigDict(extra="allow")

    id: str
    name: str
    problem: str | None
    problem_line: int | None
    warning: str | None


class ConversationShape(Schema):
    """`unsent` is what stands in the message box: words typed there, or given back by a stop."""

    id: int
    agent: str = Field(alias="agent_id")
    title: str
    model: str | None
    seq: int
    plan: int | None
    unsent: str
    pinned: bool
    archived: bool
    created_at: datetime
    updated_at: datetime

    @staticmethod
    def resolve_pinned(row: Conversation) -> bool:
        return row.pinned_at is not None

    @staticmethod
    def resolve_archived(row: Conversation) -> bool:
        return row.archived_at is not None

    @staticmethod
    def resolve_model(row: Conversation) -> str | None:
        """The one chosen for this conversation; null where the agent's own answers."""
        return f"{row.provider}/{row.model}" if row.model else None

    @staticmethod
    def resolve_plan(row: Conversation) -> int | None:
        if not Conversation.active_plan.is_cached(row):  # lists bring it along
            return active_plan_id(row.pk)
        active = getattr(row, "active_plan", None)
        return active.plan_id if active else None


class NewConversation(Body):
    agent: str


class ConversationPatch(Body):
    """`model` is provider/model, from the next message on; null goes back to the agent's own."""

    title: Annotated[NotBlank, Field(min_length=1, max_length=200)] = ""
    model: ModelName | None = None
    pinned: Flag = False
    archived: Flag = False


class ImageShape(Schema):
    """`url` is a path of this server; `width` and `height` are pixels, where they are known."""

    url: str = Field(alias="address")
    media_type: str
    size: int
    width: int | None
    height: int | None


class FileChangeShape(Schema):
    """From `line` on, the lines `old` gave way to `new`; both begin and end with up to three lines
    that stayed. Where they were not kept `left_out` says why. Sizes are bytes of the whole file."""

    is_new: bool
    line: int
    old: str
    new: str
    left_out: str
    old_size: int
    new_size: int


class AttachmentShape(Schema):
    """A file of the agent's workspace at `path`; `url` is a path of this server.

    What models can be shown has a width and a height, in pixels. `removed` is one that is not in
    the workspace any more.
    """

    id: int
    name: str
    path: str
    media_type: str
    size: int
    width: int | None
    height: int | None
    removed: bool = Field(alias="is_gone")
    url: str = Field(alias="address")


class ToolCallShape(Schema):
    """`progress` is what the tool said last of how far it is, while it runs; `change` what
    write_file or edit_file did to the file."""

    id: int
    tool: str
    arguments: JsonValue
    state: str
    result: str
    progress: str
    images: list[ImageShape]
    change: FileChangeShape | None

    @staticmethod
    def resolve_progress(row: ToolCall) -> str:
        return row.progress["words"] if row.progress else ""

    @staticmethod
    def resolve_images(row: ToolCall) -> list[CallImage]:
        return images_of(row)


class AlternativeShape(Schema):
    """Which one of the alternatives at its place this is, from 1."""

    number: int
    count: int


class GivenBackShape(Schema):
    """How many messages were not sent and are in the message box again, and after what."""

    messages: int
    reason: Literal["stopped", "cancelled", "cleared"]


class MessageShape(Schema):
    """`hidden` ones belong to an alternative that is not shown; models do not read them either."""

    id: int
    seq: int
    role: str
    kind: str
    text: str
    turn: int | None = Field(alias="turn_id")
    streaming: bool
    hidden: bool
    alternative: AlternativeShape | None
    model: str | None
    created_at: datetime
    given_back: GivenBackShape | None
    attachments: list[AttachmentShape]
    tool_calls: list[ToolCallShape]

    @staticmethod
    def resolve_attachments(row: Message) -> list[ShownFile]:
        return files_of(row.conversation, row.attachments) if row.has_files else []

    @staticmethod
    def resolve_alternative(row: Message) -> object:
        """Null where there is only one; as `with_alternatives` has read it."""
        return getattr(row, "alternative", None)

    @staticmethod
    def resolve_given_back(row: Message) -> object:
        return row.meta.get("given_back")

    @staticmethod
    def resolve_model(row: Message) -> object:
        """Which model wrote it, as provider/model; null of what none wrote."""
        return row.meta.get("model")

    @staticmethod
    def resolve_tool_calls(row: Message) -> Iterable[ToolCall]:
        """Only what a model says has any: a person's message is not asked for them."""
        return row.tool_calls.all() if row.role == Message.Role.ASSISTANT else ()


def with_alternatives(conversation: Conversation, rows: Iterable[Message]) -> list[Message]:
    """The messages, each with which alternative it belongs to."""
    messages = list(rows)
    found = alternatives_of(conversation, {m.turn_id for m in messages if m.turn_id})
    for message in messages:
        message.alternative = found.get(message.turn_id or 0)  # type: ignore[attr-defined]
    return messages


class MessageEdit(Body):
    """The files that came with the message stay with it."""

    text: NotBlank


class NewMessage(Body):
    """`plan` and `plan_version` are what was read: words approve only together with both.

    `attachments` are the ids of files that stand in the message box; they say enough without a
    text.
    """

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [{"required": ["text"]}, {"required": ["attachments"]}]}
    )

    text: NotBlank = ""
    attachments: Annotated[
        list[Whole], Field(max_length=100, json_schema_extra={"minItems": 1})
    ] = []
    plan: Whole | None = None
    plan_version: Whole | None = None


class TurnShape(Schema):
    """What it has used so far: `tokens_cached` are those of its `tokens` that came from the
    server's cache, `usage_estimated` says that not all were counted by the server."""

    id: int
    lane: str
    kind: str
    state: str
    waiting_for: str
    error: str
    tokens: int
    tokens_cached: int
    usage_estimated: bool
    cost: float | None


class AcceptedMessage(Schema):
    """The message, the turn that will answer it, and where to go on: /new opens another
    conversation. `notice` stands in place of a reply; with `refused` it is why a message that
    was to start or cancel a plan did nothing."""

    message: MessageShape
    turn: TurnShape | None
    conversation: int
    notice: str | None
    refused: bool


def accepted(result: ChatResult) -> dict[str, object]:
    """What was taken in, as AcceptedMessage shows it."""
    with_alternatives(result.conversation, [result.message])
    return {
        "message": result.message,
        "turn": result.turn,
        "conversation": result.conversation.pk,
        "notice": result.notice or None,
        "refused": result.refused is not None,
    }


class EventShape(Schema):
    seq: int
    type: str
    subject: str
    actor: str
    actor_kind: str
    data: dict[str, JsonValue]
    created_at: datetime
