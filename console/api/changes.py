"""What attempts, plans and turns changed in their folders: lists, diffs, and taking it back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Literal, TypeVar

from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field, StrictBool

from agents.changes.recording import MOST_DIFF
from agents.changes.undo import Wanted
from agents.errors import NotFound
from agents.models import Turn, Undo
from console.api.auth import person, plan_of, subtask_of
from console.api.shapes import Body, answers
from plans import actions
from plans.changes.recorded import ChangeCounts, Document
from plans.changes.scope import Scope

router = Router(tags=["plans"])
turns = Router(tags=["conversations"])
undos = Router(tags=["conversations"])
Row = TypeVar("Row", Turn, Undo)
MOST_PATHS = 20_000  # of an undo
Paths = Annotated[list[str], Field(max_length=MOST_PATHS, fail_fast=True)]
Path = Annotated[
    str, Query(max_length=20_000, description="One of the paths listed; else all of them")
]


class ChangeShape(Schema, extra="forbid"):
    """`origin` is the turn's `own`, `both` where others wrote it too, `outside` for what others did
    meanwhile, or `unsure`. Lines are null where it is no text; `was` is the earlier path of a file
    that was renamed. `why` says what kept a file that was `not_recorded` from being so."""

    path: str
    was: str
    kind: Literal["added", "modified", "deleted", "renamed", "not_recorded"]
    origin: Literal["own", "both", "outside", "unsure"]
    why: str
    added: int | None
    removed: int | None
    binary: bool
    old_size: int | None
    new_size: int | None
    old_mode: str | None
    new_mode: str | None
    changed_at: datetime | None


class LeftShape(Schema, extra="forbid"):
    path: str
    reason: str
    size: int


class ChangesShape(ChangeCounts):
    """`files`, `added` and `removed` are the turns' own; with `up_to` it may be less, since a file
    that several turns changed counts for each where not all is kept. `kept` says whether each can
    still be read line by line; `stopped` why nothing is known (files: more than 50,000, bytes: more
    than 1 GB, failed). `not_recorded` are files that were left out; with `leaves_out` there are
    such that are in no list: what .gitignore leaves out, pipes and the like."""

    kept: bool
    stopped: str
    changes: list[ChangeShape]
    not_recorded: list[LeftShape]
    leaves_out: bool


class UnifiedDiffShape(Schema, extra="forbid"):
    """A unified diff of the turns' own changes, or of one file whoever changed it."""

    diff: str


class UndoRow(Schema, extra="forbid"):
    """`fate` is what becomes of the file: it goes_back, is removed since it was new, or comes_back.
    What was changed_since, or is unsure (more than one wrote there), stays unless it is named in
    `force`; of what is not_kept nothing can be restored, `why` says for what reason: it was
    not_recorded, is unreadable, a folder is there (folder_there), a part of its path is no folder
    (no_way) or it was moved from or to a file that stays. Of what comes_back only if another is
    named, `why` says in_the_way. `others` go back with it or not at all: something was moved
    between them."""

    path: str
    fate: Literal["goes_back", "removed", "comes_back", "changed_since", "unsure", "not_kept"]
    why: Literal["", "not_recorded", "unreadable", "folder_there", "no_way", "in_the_way", "moved"]
    others: list[str]
    size_now: int | None
    size_then: int | None
    changed_at: datetime | None


class UndoPreview(Schema, extra="forbid"):
    """`seen` is another one as soon as a file is."""

    seen: str
    files: list[UndoRow]


class UndoWanted(Body):
    """Without `paths`, all of it. `force` restores files that were changed since: these, or with
    true all. With `seen`, of a preview, nothing is done if a file has changed since."""

    paths: Paths | None = None
    force: Paths | StrictBool = False  # "yes" is the name of a file
    seen: str = ""

    @property
    def wanted(self) -> Wanted:
        force = self.force if isinstance(self.force, bool) else tuple(self.force)
        return Wanted(None if self.paths is None else tuple(self.paths), force, self.seen)


WhyKept = Literal["changed", "unsure", "full", "forbidden", "not_kept", "blocked", "failed"]


class UndoShape(Schema, extra="forbid"):
    """`files` were restored; `kept` stayed, each with `why_kept`. POST /undos/{id}/undo takes it
    back."""

    id: int
    files: int
    kept: list[str] = Field(alias="kept_paths")
    why_kept: dict[str, WhyKept] = Field(alias="kept")
    created_at: datetime
    finished_at: datetime | None


@router.get("/{id}/changes", response=answers(ChangesShape, 404))
def plan_changes(request: HttpRequest, id: int) -> Document:
    """Of all attempts together; a file that is as it was before them is left out."""
    return Scope(plan_of(request, id)).changes.document()


@router.get("/{id}/changes/diff", response=answers(UnifiedDiffShape, 404))
def plan_diff(request: HttpRequest, id: int, path: Path = "") -> Document:
    return diff_of(Scope(plan_of(request, id)), path)


@router.get("/{id}/subtasks/{key}/changes", response=answers(ChangesShape, 404))
def subtask_changes(request: HttpRequest, id: int, key: str) -> Document:
    return Scope(subtask_of(plan_of(request, id), key)).changes.document()


@router.get("/{id}/subtasks/{key}/diff", response=answers(UnifiedDiffShape, 404))
def subtask_diff(request: HttpRequest, id: int, key: str, path: Path = "") -> Document:
    return diff_of(Scope(subtask_of(plan_of(request, id), key)), path)


@turns.get("/{id}/changes", response=answers(ChangesShape, 404))
def turn_changes(request: HttpRequest, id: int) -> Document:
    return Scope(own(request, Turn, id)).changes.document()


@turns.get("/{id}/diff", response=answers(UnifiedDiffShape, 404))
def turn_diff(request: HttpRequest, id: int, path: Path = "") -> Document:
    return diff_of(Scope(own(request, Turn, id)), path)


# Taking it back


@router.get("/{id}/undo", response=answers(UndoPreview, 404, 409))
def preview_plan(request: HttpRequest, id: int) -> Document:
    """What taking the whole plan's changes back would do now."""
    return preview_of(Scope(plan_of(request, id)))


@router.post("/{id}/undo", response=answers(UndoShape, 404, 409, 422))
def undo_plan(request: HttpRequest, id: int, body: UndoWanted | None = None) -> Undo:
    """Not while it runs."""
    return undone(request, Scope(plan_of(request, id)), body)


@router.get("/{id}/subtasks/{key}/undo", response=answers(UndoPreview, 404, 409))
def preview_subtask(request: HttpRequest, id: int, key: str) -> Document:
    return preview_of(Scope(subtask_of(plan_of(request, id), key)))


@router.post("/{id}/subtasks/{key}/undo", response=answers(UndoShape, 404, 409, 422))
def undo_subtask(request: HttpRequest, id: int, key: str, body: UndoWanted | None = None) -> Undo:
    return undone(request, Scope(subtask_of(plan_of(request, id), key)), body)


@turns.get("/{id}/undo", response=answers(UndoPreview, 404, 409))
def preview_turn(request: HttpRequest, id: int) -> Document:
    return preview_of(Scope(own(request, Turn, id)))


@turns.post("/{id}/undo", response=answers(UndoShape, 404, 409, 422))
def undo_turn(request: HttpRequest, id: int, body: UndoWanted | None = None) -> Undo:
    """Once the turn has ended."""
    return undone(request, Scope(own(request, Turn, id)), body)


@undos.get("/{id}/undo", response=answers(UndoPreview, 404, 409))
def preview_undo(request: HttpRequest, id: int) -> Document:
    return preview_of(Scope(own(request, Undo, id)))


@undos.post("/{id}/undo", response=answers(UndoShape, 404, 409, 422))
def reverse_undo(request: HttpRequest, id: int, body: UndoWanted | None = None) -> Undo:
    """The files as they were before that undo; once."""
    return undone(request, Scope(own(request, Undo, id)), body)


# What is asked and answered of all alike


def own(request: HttpRequest, model: type[Row], id: int) -> Row:
    """A turn or an undo of a conversation of one's own."""
    rows = model._default_manager.filter(conversation__owner=person(request))
    rows = rows.filter(conversation__deleted_at=None).select_related("conversation")
    if (row := rows.filter(pk=id).first()) is None:
        raise NotFound(f"There is no {model._meta.verbose_name} {id}.")
    return row


def diff_of(scope: Scope, path: str) -> Document:
    changes = scope.changes
    wanted = [changes.change_of(path)] if path else None
    return {"diff": changes.diff(MOST_DIFF * 10, wanted)}


def undone(request: HttpRequest, scope: Scope, body: UndoWanted | None) -> Undo:
    wanted = (body or UndoWanted()).wanted
    return actions.undo_changes(scope, person(request).username, wanted)


def preview_of(scope: Scope) -> Document:
    preview = actions.preview_changes(scope)
    files = [
        {
            "path": row.path,
            "fate": row.fate,
            "why": row.why,
            "others": list(row.others),
            "size_now": row.now.size if row.now else None,
            "size_then": row.to.size if row.to else None,
            "changed_at": datetime.fromtimestamp(row.changed_at / 1e9, UTC) if row.now else None,
        }
        for row in preview.rows
    ]
    return {"seen": preview.digest, "files": files}
