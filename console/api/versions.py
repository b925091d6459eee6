"""/api/plans/{id}/versions, /diff, /go-back, /events, …: what became of a plan over time."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from django.http import HttpRequest, HttpResponse, JsonResponse
from ninja import Query, Router, Schema
from pydantic import Field, JsonValue

from agents.engine.usage import times_of
from agents.errors import NotFound
from agents.events import MOST_READ, document_of
from agents.models import Event, TurnState
from agents.text.diff import Op, TextRun
from console.api.auth import plan_of
from console.api.fields import AsWritten
from console.api.plans import Version, opened, plan_response
from console.api.shapes import Body, EventShape, Page, answers
from console.call_images import plan_markdown
from plans import actions
from plans.changes.undone import undos_about
from plans.comments import answered_between
from plans.diff import Change, PlanDiff, SubtaskDiff, diff
from plans.models import Attempt, Plan, PlanVersion
from plans.snapshot import Json, PlanSnapshot, SecondsSnapshot

router = Router(tags=["plans"])
Document = dict[str, object]
Number = Annotated[int, Field(ge=1, lt=2**31)]


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


class RunShape(Schema):
    """A piece of text: kept and deleted ones together are the old text, kept and inserted the
    new one."""

    op: Op
    text: str


class CheckChangeShape(Schema):
    """A check that was added, removed, or is another one now; `words` say which."""

    change: Change
    key: str
    words: str
    old: JsonValue
    new: JsonValue


class RowShape(Schema):
    """A subtask in both versions; `position` is where it stands and `was` where it stood.

    `fields` has the texts that were reworded. One that came back under a new key with its old
    words is the same; `old_key` is what it was.
    """

    key: str
    old_key: str
    change: Change
    moved: bool
    position: int | None = Field(validation_alias="place")
    was: int | None
    name: str = Field(validation_alias="text.name")
    description: str = Field(validation_alias="text.description")
    expected_outcome: str = Field(validation_alias="text.expected_outcome")
    checks: JsonValue = Field(validation_alias="text.checks")
    check_changes: list[CheckChangeShape] = Field(validation_alias="checks")
    fields: dict[str, list[RunShape]]

    @staticmethod
    def resolve_fields(row: SubtaskDiff) -> dict[str, tuple[TextRun, ...]]:
        return {each.field: each.runs for each in row.fields}


class CountsShape(Schema):
    added: int
    reworded: int
    moved: int
    removed: int


class AnsweredShape(Schema):
    """A comment that this change came out of; `changed` tells whether its subtask did."""

    subtask: str
    text: str
    answer: str
    changed: bool


class DiffShape(Schema):
    """`fields` are title, content and expected outcome of the plan where they were reworded.

    `subtasks` is in the new order; what was removed stands where it stood.
    """

    from_: int = Field(serialization_alias="from", validation_alias="from")
    to: int
    changes: int
    sentence: str
    counts: CountsShape
    fields: dict[str, list[RunShape]]
    subtasks: list[RowShape]
    comments: list[AnsweredShape]


class GoingBack(Body):
    version: Annotated[int, Field(ge=1, lt=2**31), AsWritten]


@router.get("/{id}/versions", response=answers(Page[VersionShape], 404))
def versions(request: HttpRequest, id: int) -> Document:
    rows = list(plan_of(request, id).versions.defer("snapshot"))
    return {"items": rows, "count": len(rows)}


@router.get("/{id}/versions/{n}", response=answers(VersionTextShape, 404))
def version(request: HttpRequest, id: int, n: int) -> PlanVersion:
    """The plan's text as it was."""
    return version_of(plan_of(request, id), n)


@router.get("/{id}/diff", response=answers(DiffShape, 404), by_alias=True)
def changes(
    request: HttpRequest,
    id: int,
    from_: Annotated[Number | None, Query(alias="from")] = None,
    to: Number | None = None,
) -> Document:
    """What changed between two versions; without any named, since you approved."""
    plan = plan_of(request, id)
    old = version_of(plan, from_ or plan.approved_version or 1)
    new = version_of(plan, to or plan.version)
    changed = diff(old.text, new.text)
    return {
        "from": old.version,
        "to": new.version,
        "changes": changed.changes,
        "sentence": changed.sentence,
        "counts": changed.counts,
        "fields": {each.field: each.runs for each in changed.fields},
        "subtasks": changed.rows,
        "comments": answered(plan, old, new, changed),
    }


def answered(plan: Plan, old: PlanVersion, new: PlanVersion, changed: PlanDiff) -> list[Document]:
    unchanged = {row.key for row in changed.rows if row.change == Change.SAME}
    found = answered_between(plan, old.version, new.version)
    return [
        {
            "subtask": key,
            "text": comment.text,
            "answer": comment.answer,
            "changed": key not in unchanged,
        }
        for key, comments in found.items()
        for comment in comments
    ]


@router.post("/{id}/go-back", response=answers(PlanSnapshot, 404, 409, 412))
def go_back(
    request: HttpRequest, id: int, body: GoingBack, if_match: Version = None
) -> HttpResponse:
    """A new version with the text of an earlier one, as far as what has started allows."""
    plan, by, seen = opened(request, id, if_match)
    return plan_response(actions.restore_version(plan, body.version, by, seen))


def version_of(plan: Plan, n: int) -> PlanVersion:
    row = plan.versions.filter(version=n).first() if n < 2**31 else None
    if row is None:
        raise NotFound(f"The plan has no version {n}.")
    return row


@router.get("/{id}/events", response=answers(Page[EventShape], 404))
def events(request: HttpRequest, id: int, after: Annotated[int, Query(ge=0)] = 0) -> HttpResponse:
    """Every change, by whom, and every undo of its files (`undo:7`); the numbers are the
    conversation's."""
    plan = plan_of(request, id)
    subjects = [f"plan:{plan.pk}", *(f"undo:{row.pk}" for row, _ in undos_about(plan))]
    rows = Event.objects.filter(
        conversation=plan.conversation_id, subject__in=subjects, seq__gt=after
    )
    items = [document_of(row) for row in rows.order_by("seq")[:MOST_READ]]
    return JsonResponse({"items": items, "count": rows.count()})


@router.get("/{id}/attempts", response=answers(Page[AttemptShape], 404))
def attempts(request: HttpRequest, id: int) -> dict[str, object]:
    """Every try at every subtask, in the order they were made."""
    rows = Attempt.objects.filter(subtask__plan=plan_of(request, id))
    items = list(rows.select_related("subtask", "turn").order_by("pk"))
    return {"items": items, "count": len(items)}


@router.get(
    "/{id}/export.md",
    response=answers(None, 404),
    openapi_extra={
        "responses": {200: {"content": {"text/markdown": {"schema": {"type": "string"}}}}}
    },
)
def export(request: HttpRequest, id: int) -> HttpResponse:
    """The plan as a document to keep or to send."""
    site = request.build_absolute_uri("/").rstrip("/")
    text = plan_markdown(plan_of(request, id), site)
    response = HttpResponse(text, content_type="text/markdown; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="plan-{id}.md"'
    return response
