"""Files that people attach, as pages and the API show them, and how they are served.

Whoever owns the conversation gets them, and nobody else. A browser draws the pictures that models
are shown too; every other file it is told to save, whatever it holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from django.db.models import QuerySet
from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.utils.translation import gettext

from agents.engine.images import MOST_IMAGES
from agents.errors import Invalid, NotFound, Refused
from agents.models import Attachment, Conversation
from agents.statements import prepared
from agents.tools.base import ToolFailed
from agents.tools.confinement import Workspace
from agents.tools.images import NotShown, image_of
from agents.workspace import attachments
from agents.workspace.attachments import PLAIN, Files, cannot_be_shown
from agents.workspace.files import AgentFiles
from console.call_images import HEADERS, not_shown
from console.conversation_state import ConversationState
from console.language import format_size
from console.model_choices import seeing_model, sees_images

PIECE = 64 * 1024
LARGEST_PICTURE = 10_000_000  # bytes of a picture of the workspace that a reply shows
# A file of the workspace may be another one the next time.
CHANGING = {**HEADERS, "Cache-Control": "private, no-cache"}
PRIVATE = "Cookie, Authorization"  # whoever signs in next gets nothing out of the browser's cache


@dataclass(frozen=True)
class ShownFile:
    """One attached file; `is_gone` is one that is not in the workspace any more."""

    id: int
    name: str
    path: str
    media_type: str
    size: int
    width: int | None
    height: int | None
    is_gone: bool = False

    @property
    def address(self) -> str:
        return reverse("api:attachment", args=[self.id])

    @property
    def is_image(self) -> bool:
        return self.width is not None

    @property
    def words(self) -> str:
        return format_size(self.size)


def shown(file: Attachment, *, is_gone: bool = False) -> ShownFile:
    return ShownFile(
        id=file.pk,
        name=file.name,
        path=file.path,
        media_type=file.media_type,
        size=file.size,
        width=file.width,
        height=file.height,
        is_gone=is_gone,
    )


def files_of(conversation: Conversation, files: Files) -> list[ShownFile]:
    """The files of a message, each with whether it is still there."""
    if not files:
        return []
    workspace = workspace_or_none(conversation)
    return [shown(each, is_gone=not (workspace and workspace.holds(each.path))) for each in files]


def workspace_or_none(conversation: Conversation) -> Workspace | None:
    try:
        return AgentFiles.of(conversation)
    except Refused:
        return None


@dataclass(frozen=True)
class Tray:
    """What stands attached in the message box, and what the model will see of it."""

    now: ConversationState

    @cached_property
    def files(self) -> list[ShownFile]:
        return [shown(each) for each in attachments.in_box(self.now.conversation)]

    @cached_property
    def is_blind(self) -> bool:
        """Whether there is a picture that the model gets the name of, and nothing else."""
        return any(each.is_image for each in self.files) and is_blind(self.now)

    @cached_property
    def misses_pictures(self) -> bool:
        """The same of pictures in the messages above: another model may have seen them."""
        return has_pictures(self.now.conversation) and is_blind(self.now)

    @cached_property
    def other_model(self) -> tuple[str, str]:
        """One that sees images, as provider/model and by its name; empty where none is known."""
        return seeing_model(self.now)

    @property
    def too_many(self) -> int:
        """How many of the pictures are more than a model is shown at a time."""
        images = sum(each.is_image for each in self.files)
        return 0 if self.is_blind else max(0, images - MOST_IMAGES)


def is_blind(now: ConversationState) -> bool:
    return sees_images(*now.model_in_use) is False


@prepared
def pictures_of(conversation: int, cleared: int) -> QuerySet[Attachment, tuple[int]]:
    shown = Attachment.objects.filter(conversation=conversation, width__isnull=False)
    read = shown.filter(messages__seq__gt=cleared, messages__hidden=False)
    return read.values_list("pk")[:1]


def has_pictures(c: Conversation) -> bool:
    """Whether a message that a model reads has a picture for it."""
    return pictures_of.first(conversation=c.pk, cleared=c.cleared_seq) is not None


# Taking in and giving out


def take_in(request: HttpRequest, conversation: Conversation, name: str, by: str) -> Attachment:
    return attachments.take_in(conversation, name, body_pieces(request), by)


def body_pieces(request: HttpRequest) -> Iterator[bytes]:
    """The body of the request is the file itself. Raises Invalid for a form."""
    if request.content_type == "multipart/form-data":
        raise Invalid(gettext("Send the file itself as the body of the request, not a form."))
    return pieces_of(request)


def pieces_of(request: HttpRequest) -> Iterator[bytes]:
    while piece := request.read(PIECE):
        yield piece


def note_on(file: Attachment) -> str:
    """What a person would not expect of it."""
    if cannot_be_shown(file):
        return gettext("{name} cannot be shown to a model. It is attached as a file.").format(
            name=file.name
        )
    return ""


def response_with(attachment: Attachment) -> HttpResponseBase:
    """A picture to be drawn, any other file to be saved. Raises NotFound."""
    if attachment.data:
        return picture(bytes(attachment.data), attachment.name, HEADERS)
    gone = NotFound(removed(attachment.name))
    workspace = workspace_or_none(attachment.conversation)
    if workspace is None or not attachment.path:
        raise gone
    try:
        file = workspace.open(attachment.path)
    except ToolFailed:
        raise gone from None
    response = FileResponse(
        file, as_attachment=True, filename=attachment.name, content_type=PLAIN, headers=CHANGING
    )
    response.headers["Vary"] = PRIVATE
    return response


def removed(name: str) -> str:
    if not name:
        return gettext("The file was removed from the workspace.")
    return gettext("{name} was removed from the workspace.").format(name=name)


def workspace_picture(conversation: Conversation, path: str) -> HttpResponse:
    """A picture that lies among the agent's files, as a reply shows it. Raises NotFound."""
    try:
        data = AgentFiles.of(conversation).read(path, LARGEST_PICTURE)
    except ToolFailed as fault:
        raise NotFound(str(fault)) from None
    return picture(data, path.rpartition("/")[2], CHANGING)


def picture(data: bytes, name: str, headers: dict[str, str]) -> HttpResponse:
    try:
        image = image_of(data)
    except NotShown as reason:
        raise NotFound(not_shown(reason)) from None
    disposition = content_disposition_header(as_attachment=False, filename=name) or "inline"
    headers = {**headers, "Content-Disposition": disposition, "Vary": PRIVATE}
    return HttpResponse(image.data, content_type=image.media_type, headers=headers)
