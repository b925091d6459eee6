"""Files that are attached to messages: taken in, given out, and taken out of the message box."""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from ninja import Router, Schema
from ninja.responses import Status

from agents.errors import NotFound
from agents.models import Attachment
from agents.tools.images import SIZES
from agents.workspace import attachments
from console.api.auth import conversation_of, person
from console.api.shapes import AttachmentShape, answers
from console.attachments import note_on, response_with, shown, take_in
from console.throttling import count_upload

router = Router(tags=["conversations"])
conversations = Router(tags=["conversations"])
BINARY = {"type": "string", "format": "binary"}
BODY = {"required": True, "content": {attachments.PLAIN: {"schema": BINARY}}}
CONTENT = {kind: {"schema": BINARY} for kind in (*SIZES, attachments.PLAIN)}


class NewAttachment(Schema):
    """`note` is what one would not expect of the file, such as a picture no model can be shown."""

    attachment: AttachmentShape
    note: str


def attachment_of(request: HttpRequest, id: int) -> Attachment:
    rows = Attachment.objects.filter(
        pk=id, conversation__owner=person(request), conversation__deleted_at=None
    )
    row = rows.exclude(path="").select_related("conversation").first()
    if row is None:
        raise NotFound(f"There is no attachment {id}.")
    return row


@conversations.post(
    "/{id}/attachments",
    response=answers(NewAttachment, 403, 404, 409, 507, status=201),
    openapi_extra={"requestBody": BODY},
)
def attach(request: HttpRequest, id: int, name: str = "") -> Status[dict[str, object]]:
    """Puts a file into the agent's workspace, under `uploads/`, and into the message box.

    The body is the file itself, of at most 20 MB. It stays in the box, on pages too, until a
    message names it in `attachments`.
    """
    conversation = conversation_of(request, id)
    count_upload(conversation.owner_id)
    file = take_in(request, conversation, name, person(request).username)
    return Status(201, {"attachment": shown(file), "note": note_on(file)})


@router.get(
    "/{id}",
    response=answers(None, 404),
    url_name="attachment",
    openapi_extra={"responses": {200: {"content": CONTENT}}},
)
def get_attachment(request: HttpRequest, id: int) -> HttpResponseBase:
    """The file: a picture as it was sent, any other as it is in the workspace now."""
    return response_with(attachment_of(request, id))


@router.delete("/{id}", response=answers(None, 404, 409, status=204))
def remove(request: HttpRequest, id: int) -> Status[None]:
    """Takes a file that was not sent out of the message box, and out of the workspace."""
    row = attachment_of(request, id)
    attachments.remove(row.conversation, row.pk, person(request).username)
    return Status(204, None)
