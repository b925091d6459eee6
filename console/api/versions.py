"""/api/plans/{id}/versions, /diff and /go-back: the plan's text over time."""

from __future__ import annotations

from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Schema
from pydantic import Field

from agents.errors import NotFound
from console.api.auth import person
from console.api.lookup import plan_of
from console.api.plan_shapes import PlanShape, VersionShape, VersionTextShape
from console.api.plans import Version, shown, version_seen
from console.api.shapes import Body, Page, answers
from plans import actions
from plans.diff import Change, PlanText, Rewording, Row, diff
from plans.models import Plan, PlanVersion
from plans.text_diff import Op

router = Router(tags=["plans"])
Document = dict[str, object]
Number = Annotated[int, Field(ge=1, lt=2**31)]


class RunShape(Schema):
    """A piece of text: kept and deleted ones together are the old text, kept and inserted the
    new one."""

    op: Op
    text: str


class RowShape(Schema):
    """A subtask in both versions; `position` is where it stands and `was` where it stood.

    `fields` has the texts that were reworded. One that came back under a new key with its old
    words is the same; `old_key` is what it was.
    """

    key: str
    old_key: str
    change: Change
    moved: bool
    position: int | None
    was: int | None
    name: str
    description: str
    expected_outcome: str
    fields: dict[str, list[RunShape]]


class CountsShape(Schema):
    added: int
    reworded: int
    moved: int
    removed: int


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


class GoingBack(Body):
    version: Number


@router.get("/{id}/versions", response=answers(Page[VersionShape], 404))
def versions(request: HttpRequest, id: int) -> Document:
    rows = plan_of(request, id).versions.defer("snapshot")
    return {"items": [version_shape(row) for row in rows], "count": len(rows)}


@router.get("/{id}/versions/{n}", response=answers(VersionTextShape, 404))
def version(request: HttpRequest, id: int, n: int) -> Document:
    """The plan's text as it was."""
    row = version_of(plan_of(request, id), n)
    return version_shape(row) | {"snapshot": row.snapshot}


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
    return {"from": old.version, "to": new.version} | diff_shape(old.snapshot, new.snapshot)


@router.post("/{id}/go-back", response=answers(PlanShape, 404, 409, 412))
def go_back(
    request: HttpRequest, id: int, body: GoingBack, if_match: Version = None
) -> HttpResponse:
    """A new version with the text of an earlier one, as far as what has started allows."""
    plan = plan_of(request, id)
    seen = version_seen(plan, if_match)
    return shown(actions.restore_version(plan, body.version, person(request).username, seen))


def version_of(plan: Plan, n: int) -> PlanVersion:
    row = plan.versions.filter(version=n).first() if n < 2**31 else None
    if row is None:
        raise NotFound(f"The plan has no version {n}.")
    return row


def version_shape(row: PlanVersion) -> Document:
    return {
        "version": row.version,
        "author": row.author,
        "author_kind": row.author_kind,
        "explanation": row.explanation,
        "created_at": row.created_at,
    }


def diff_shape(old: PlanText, new: PlanText) -> Document:
    found = diff(old, new)
    return {
        "changes": found.changes,
        "sentence": found.sentence,
        "counts": found.counts,
        "fields": fields_shape(found.fields),
        "subtasks": [row_shape(row) for row in found.rows],
    }


def row_shape(row: Row) -> Document:
    return {
        **row.text,
        "key": row.key,
        "old_key": row.old_key,
        "change": row.change,
        "moved": row.moved,
        "position": row.place,
        "was": row.was,
        "fields": fields_shape(row.fields),
    }


def fields_shape(fields: tuple[Rewording, ...]) -> Document:
    return {each.field: [{"op": run.op, "text": run.text} for run in each.runs] for each in fields}
