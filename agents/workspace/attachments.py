"""Files that a person attaches to a message. They land in `uploads` of the agent's workspace, and
stand in the message box until they are sent or removed.
"""

from __future__ import annotations

import hashlib
import mimetypes
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from agents import events
from agents.actors import Actor
from agents.errors import Conflict, Invalid, NotFound, Refused
from agents.events import lock_conversation
from agents.models import Attachment, Conversation, Message
from agents.statements import prepared
from agents.stored_text import gettext, gettext_lazy, ngettext
from agents.tools.base import ToolFailed
from agents.tools.confinement import FileName, Workspace
from agents.tools.images import Image, NotShown, image_of
from agents.workspace.edits import noted
from agents.workspace.files import AgentFiles, refusals, shortened, visible

Files = Sequence[Attachment]

FOLDER = "uploads"
CUT_OFF = timedelta(minutes=1)  # after which nobody is at work on a row any more
MOST_FILES = 10  # in a message box
LARGEST = 20_000_000  # bytes of a file
LARGEST_IMAGE = 5_000_000  # bytes that models take; a larger one is a file like any other
LONGEST_NAME = 120  # bytes in UTF-8
TOO_LARGE = gettext_lazy("A file may have 20 MB at most.")
PLAIN = "application/octet-stream"


def take_in(
    conversation: Conversation, name: str, pieces: Iterable[bytes], by: Actor
) -> Attachment:
    """Store a file in the workspace and put it into the message box."""
    demand_room(conversation, name)
    workspace, digest = AgentFiles.of(conversation), hashlib.sha256()
    workspace.check_writable()
    row = Attachment(conversation=conversation, is_moving=True, root=str(workspace.root))

    def digested() -> Iterator[bytes]:
        for piece in bounded(pieces, least=1):
            digest.update(piece)
            row.size += len(piece)
            yield piece

    def named(name: FileName) -> None:
        """Its row is there before the file is."""
        row.name, row.path, row.digest = name, f"{FOLDER}/{name}", digest.hexdigest()
        row.save()

    try:
        with refusals(FOLDER), noted(workspace, FOLDER):
            workspace.add(FOLDER, FileName(safe_name(name)), digested(), before=named)
        if image := image_at(workspace, row.path):
            row.width, row.height, row.data = image.width, image.height, image.data
        guessed = mimetypes.guess_type(row.name)[0] or PLAIN
        row.media_type = image.media_type if image else guessed
        attach(row, name, by)
    except BaseException:
        if row.pk:
            remove_file(row)
        raise
    return row


@transaction.atomic
def attach(row: Attachment, name: str, by: Actor) -> None:
    """The stored file stands in the message box."""
    lock_conversation(row.conversation_id)
    demand_room(row.conversation, name)
    row.in_box, row.is_moving = True, False
    row.save()
    events.record(row.conversation, "attachment.added", f"attachment:{row.pk}", by)


@transaction.atomic
def remove(conversation: Conversation, key: int, by: Actor) -> None:
    """Out of the message box, and out of the workspace."""
    lock_conversation(conversation.pk)
    row = conversation.attachments.filter(pk=key).defer("data").first()
    if row is None:
        raise NotFound(gettext("This file is gone."))
    if not row.in_box:
        raise Conflict(gettext("This file was sent already."))
    delete_unused([row])
    events.record(conversation, "attachment.removed", f"attachment:{key}", by)


def claim(conversation: Conversation, keys: Iterable[int]) -> list[Attachment]:
    """Out of the message box for a message; in the caller's transaction, which stores that."""
    wanted = list(dict.fromkeys(keys))
    if not wanted:
        return []
    lock_conversation(conversation.pk)
    box = demand_in_box(conversation, wanted)
    Attachment.objects.filter(pk__in=wanted).update(in_box=False)
    return [box[key] for key in wanted]


def demand_in_box(conversation: Conversation, keys: Iterable[int]) -> dict[int, Attachment]:
    """What stands in the message box, by its key, these among it."""
    box = {each.pk: each for each in in_box(conversation)}
    if missing := [key for key in keys if key not in box]:
        raise Conflict(
            gettext("{name} was sent already, or removed.").format(
                name=name_of(conversation, missing[0])
            )
        )
    return box


def send_with(message: Message, files: Files) -> None:
    """A message brings files along, in this order; in the caller's transaction."""
    if not files:
        return
    through = Attachment.messages.through
    through.objects.bulk_create(through(message=message, attachment=each) for each in files)
    message.has_files = True
    message.save(update_fields=["has_files"])


def return_to_box(conversation: Conversation, files: Files) -> None:
    """In the caller's transaction."""
    if not files:  # Django would put the statement together all the same
        return
    keys = [each.pk for each in files]
    Attachment.objects.filter(pk__in=keys).update(conversation=conversation.pk, in_box=True)


def delete_unused(files: Files) -> None:
    """Those that no message brings along any more: out of sight now, for good after commit."""
    rows = Attachment.objects.filter(pk__in=[each.pk for each in files], messages=None)
    unused = list(rows.select_related("conversation").defer("data"))
    Attachment.objects.filter(pk__in=[each.pk for each in unused]).update(
        in_box=False, is_moving=True
    )
    for row in unused:
        transaction.on_commit(partial(remove_file, row), robust=True)


def remove_file(row: Attachment) -> None:
    """It and its row; what stands there else than what was attached is somebody's work."""
    same = Attachment.objects.filter(root=row.root, path=row.path).exclude(pk=row.pk)
    with suppress(Refused, ToolFailed):
        files = AgentFiles.of(row.conversation)
        files.check_writable()
        is_here = row.root in ("", str(files.root)) and not same.exists()
        if is_here and hashlib.sha256(files.read(row.path, LARGEST)).hexdigest() == row.digest:
            with noted(files, row.path):
                files.remove(row.path)
    Attachment.objects.filter(pk=row.pk).delete()


def remove_cut_off() -> None:
    """Files that were on their way, in or out, when a process ended."""
    moving = Attachment.objects.filter(is_moving=True, created_at__lt=timezone.now() - CUT_OFF)
    for row in moving.defer("data"):
        remove_file(row)


@prepared
def boxed(conversation: int) -> QuerySet[Attachment]:
    rows = Attachment.objects.filter(conversation=conversation, in_box=True)
    return rows.order_by("pk").defer("data")


def in_box(conversation: Conversation) -> list[Attachment]:
    """What stands in the message box now."""
    return list(boxed.models(conversation=conversation.pk))


def boxes() -> QuerySet[Attachment, int]:
    """The conversations in whose message box something stands."""
    return Attachment.objects.filter(in_box=True).values_list("conversation", flat=True)


def demand_room(conversation: Conversation, name: str) -> None:
    if not Conversation.objects.filter(pk=conversation.pk).exists():
        raise NotFound(
            gettext("There is no conversation {conversation}.").format(conversation=conversation.pk)
        )
    count = len(in_box(conversation)) + 1
    if count > MOST_FILES:
        raise Conflict(
            ngettext(
                "{count} file; {most} is the most. {name} was left out.",
                "{count} files; {most} is the most. {name} was left out.",
                count,
            ).format(count=count, most=MOST_FILES, name=safe_name(name))
        )


def name_of(conversation: Conversation, key: int) -> str:
    row = Attachment.objects.filter(conversation=conversation.pk, pk=key).first()
    return row.name if row and row.name else gettext("The file")


def bounded(pieces: Iterable[bytes], *, least: int = 0) -> Iterator[bytes]:
    """The pieces of a file. Raises Invalid once they are too large, or where they stay too few."""
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > LARGEST:
            raise Invalid(str(TOO_LARGE))
        yield piece
    if size < least:
        raise Invalid(gettext("The file is empty."))


def image_at(workspace: Workspace, path: str) -> Image | None:
    """What models can be shown; None for any other file."""
    with suppress(ToolFailed, NotShown):
        return image_of(workspace.read(path, LARGEST_IMAGE))
    return None


def cannot_be_shown(file: Attachment) -> bool:
    """Whether it is a picture for people, and none for models."""
    return not file.is_shown and file.media_type.startswith("image/")


def safe_name(wanted: str) -> str:
    """A plain name of a file: no folders, nothing that is not seen, not hidden, not too long."""
    name = " ".join(visible(re.split(r"[/\\]", wanted)[-1]).split()).strip(". ")
    return shortened(name, LONGEST_NAME) or "file"
