"""The files of an agent's workspace: listed, read, taken in, renamed, deleted and brought back."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from ninja import Query, Router, Schema
from ninja.responses import Status

from agents.models import Trashed
from agents.workspace import trash
from agents.workspace.attachments import PLAIN
from agents.workspace.files import AgentFiles, IfTaken, Item, Kind, moment_of, refusals
from console.api.attachments import BINARY, BODY
from console.api.auth import person
from console.api.shapes import Body, answers
from console.attachments import body_pieces
from console.downloads import file_response, zip_response
from console.throttling import count_upload

router = Router(tags=["agents"])
CONTENT = {PLAIN: {"schema": BINARY}}
ZIP = {"application/zip": {"schema": BINARY}}
WORDS = "Relative to the workspace"
Folder = Annotated[str, Query(max_length=4_000, description=WORDS)]
Path = Annotated[str, Query(min_length=1, max_length=4_000, description=WORDS)]
Start = Annotated[int, Query(ge=0, le=10_000_000)]


class FileShape(Schema):
    """`usable` is false for a name that is not UTF-8, which no address can name."""

    path: str
    name: str
    kind: Kind
    size: int
    modified_at: datetime
    usable: bool


class FilesShape(Schema):
    """`more` says that there are others: behind these, or that a search was ended early."""

    items: list[FileShape]
    count: int
    more: bool
    read_only: bool


class StoredShape(FileShape):
    """`replaced` is a key with which what was there before can be restored for a day; or empty."""

    replaced: str = ""


class Renaming(Body):
    path: str
    to: str


class Restoring(Body):
    deleted: str


class DeletedShape(Schema):
    deleted: str
    path: str


def files_of(request: HttpRequest, agent_id: str) -> AgentFiles:
    return AgentFiles(agent_id, person(request).pk)


def shape(item: Item) -> FileShape:
    return FileShape(
        path=item.path,
        name=item.name,
        kind=item.kind,
        size=item.size,
        modified_at=moment_of(item.modified_at),
        usable=item.is_usable,
    )


def shape_of(files: AgentFiles, path: str) -> FileShape:
    with refusals(path):
        return shape(files.item(path))


def stored(files: AgentFiles, path: str, replaced: Trashed | None) -> StoredShape:
    file = shape_of(files, path)
    return StoredShape(**file.dict(), replaced=replaced.key if replaced else "")


@router.get("/{agent_id}/files", response=answers(FilesShape, 403, 404))
def list_files(
    request: HttpRequest, agent_id: str, path: Folder = "", start: Start = 0, q: str = ""
) -> FilesShape:
    """One folder, 500 at a time from `start` on; with `q` the files whose path has these words."""
    files = files_of(request, agent_id)
    with refusals(path or "."):
        listing = files.find(q) if q.strip() else files.items(path or ".", start)
    return FilesShape(
        items=[shape(item) for item in listing.items],
        count=listing.count,
        more=listing.is_cut,
        read_only=files.is_read_only,
    )


@router.get(
    "/{agent_id}/files/content",
    response=answers(None, 403, 404),
    openapi_extra={"responses": {200: {"content": CONTENT}}},
)
def get_content(request: HttpRequest, agent_id: str, path: Path) -> HttpResponseBase:
    """The file as it is now, of any size."""
    return file_response(files_of(request, agent_id), path)


@router.get(
    "/{agent_id}/files/zip",
    response=answers(None, 403, 404),
    openapi_extra={"responses": {200: {"content": ZIP}}},
)
def get_zip(request: HttpRequest, agent_id: str, path: Folder = "") -> HttpResponseBase:
    """All files of the workspace, or of one folder, but for what tools leave out of a listing."""
    return zip_response(files_of(request, agent_id), path)


@router.put(
    "/{agent_id}/files/content",
    response=answers(StoredShape, 403, 404, 409, 507, status=201),
    openapi_extra={"requestBody": BODY},
)
def put_content(
    request: HttpRequest, agent_id: str, path: Path, if_taken: IfTaken = "refuse"
) -> Status[StoredShape]:
    """Stores the body, of at most 20 MB, whole or not at all; folders are made as needed.

    Where the path is taken that is refused (409), unless it is to `replace` or to `keep_both`;
    what it replaces can be restored.
    """
    files = files_of(request, agent_id)
    count_upload(person(request).pk)
    folder, _, name = path.rpartition("/")
    put = trash.store(files, folder, name, body_pieces(request), if_taken)
    return Status(201, stored(files, *put))


@router.post("/{agent_id}/files/rename", response=answers(FileShape, 403, 404, 409))
def rename(request: HttpRequest, agent_id: str, body: Renaming) -> FileShape:
    """`to` is the whole new path; its folder must be there, and the name free."""
    files = files_of(request, agent_id)
    return shape_of(files, files.rename(body.path, body.to))


@router.delete("/{agent_id}/files", response=answers(DeletedShape, 403, 404, 409))
def delete(request: HttpRequest, agent_id: str, path: Path) -> DeletedShape:
    """A file or a whole folder; for a day `deleted` brings it back."""
    gone = trash.delete(files_of(request, agent_id), path)
    return DeletedShape(deleted=gone.key, path=gone.path)


@router.post("/{agent_id}/files/restore", response=answers(StoredShape, 403, 404, 409))
def restore(request: HttpRequest, agent_id: str, body: Restoring) -> StoredShape:
    """To where it was. Where that is taken: beside it by another name, or what was replaced in the
    place of what replaced it.
    """
    files = files_of(request, agent_id)
    return stored(files, *trash.restore(files, body.deleted))
