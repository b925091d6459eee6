"""Files that a person attaches to a message. They land in `uploads` of the agent's workspace, and
stand in the message box until they are sent or removed.

A message names its files in `meta`. Where it is sent again, the copy names the same ones.
"""

from __future__ import annotations

import hashlib
import mimetypes
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial

from django.db import transaction
from django.utils.translation import gettext, gettext_lazy, ngettext

from agents import events
from agents.actors import Actor
from agents.errors import Conflict, DiskFull, Invalid, NotFound, Refused
from agents.events import lock_conversation
from agents.models import AttachedFile, Attachment, Conversation, Message
from agents.models.conversation import attachments_in
from agents.normalization import normalized
from agents.tools import permissions
from agents.tools.base import ToolFailed
from agents.tools.confinement import FileName, NoRoom, Workspace
from agents.tools.images import Image, NotShown, image_of

Files = Sequence[AttachedFile]

FOLDER = "uploads"
MOST_FILES = 10  # in a message box
LARGEST = 20_000_000  # bytes of a file
LARGEST_IMAGE = 5_000_000  # bytes that models take; a larger one is a file like any other
LONGEST_NAME, LONGEST_ENDING = 120, 16  # bytes in UTF-8
TOO_LARGE = gettext_lazy("A file may have 20 MB at most.")
FULL = gettext_lazy("The server’s disk is full. The file was not stored; make room and try again.")
PLAIN = "application/octet-stream"
NO_LETTERS = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}


def take_in(
    conversation: Conversation, name: str, pieces: Iterable[bytes], by: Actor
) -> AttachedFile:
    """Store a file in the workspace and put it into the message box."""
    demand_room(conversation, name)
    workspace, digest = workspace_of(conversation), hashlib.sha256()

    def digested() -> Iterator[bytes]:
        for piece in bounded(pieces, least=1):
            digest.update(piece)
            yield piece

    try:
        stored = workspace.add(FOLDER, FileName(safe_name(name)), digested())
    except NoRoom:
        raise DiskFull(str(FULL)) from None
    except ToolFailed as fault:
        raise Conflict(gettext("The file cannot be stored: {fault}").format(fault=fault)) from None
    path = f"{FOLDER}/{stored}"
    try:
        image = image_at(workspace, path)
        with workspace.open(path) as file:
            size = file.seek(0, 2)
        kind = image.media_type if image else mimetypes.guess_type(stored)[0] or PLAIN
        row = Attachment(
            conversation_id=conversation.pk,
            media_type=kind,
            data=image.data if image else b"",
            name=stored,
            path=path,
            digest=digest.hexdigest(),
        )
        return attach(conversation, row, size, image, name, by)
    except BaseException:
        workspace.remove(path)
        raise


@transaction.atomic
def attach(
    conversation: Conversation,
    row: Attachment,
    size: int,
    image: Image | None,
    name: str,
    by: Actor,
) -> AttachedFile:
    """The stored file gets its row; in the same transaction it stands in the message box."""
    lock_conversation(conversation.pk)
    demand_room(conversation, name)
    row.save()
    attached: AttachedFile = {
        "attachment": row.pk,
        "name": row.name,
        "path": row.path,
        "media_type": row.media_type,
        "size": size,
    }
    if image:
        attached |= {"width": image.width, "height": image.height}
    put(conversation.pk, [*attached_to(conversation.pk), attached])
    events.record(conversation, "attachment.added", f"attachment:{row.pk}", by)
    return attached


@transaction.atomic
def remove(conversation: Conversation, key: int, by: Actor) -> None:
    """Out of the message box, and out of the workspace."""
    lock_conversation(conversation.pk)
    attached = attached_to(conversation.pk)
    gone = [each for each in attached if each["attachment"] == key]
    if not gone:
        if not conversation.attachments.filter(pk=key).exists():
            raise NotFound(gettext("This file is gone."))
        raise Conflict(gettext("This file was sent already."))
    put(conversation.pk, [each for each in attached if each["attachment"] != key])
    forget(conversation, gone)
    events.record(conversation, "attachment.removed", f"attachment:{key}", by)


def claim(conversation: Conversation, keys: Iterable[int]) -> list[AttachedFile]:
    """Out of the message box for a message; in the caller's transaction, which stores that."""
    wanted = list(dict.fromkeys(keys))
    if not wanted:
        return []
    lock_conversation(conversation.pk)
    attached = demand_attached(conversation, wanted)
    put(conversation.pk, [each for key, each in attached.items() if key not in wanted])
    return [attached[key] for key in wanted]


def demand_attached(conversation: Conversation, keys: Iterable[int]) -> dict[int, AttachedFile]:
    """What stands in the message box, by its key, these among it."""
    attached = {each["attachment"]: each for each in attached_to(conversation.pk)}
    if missing := [key for key in keys if key not in attached]:
        raise Conflict(
            gettext("{conversation} was sent already, or removed.").format(
                conversation=named(conversation, missing[0])
            )
        )
    return attached


def give_back(conversation: Conversation, files: Files) -> None:
    """Into the message box again; in the caller's transaction."""
    if not files:
        return
    keys = [each["attachment"] for each in files]
    Attachment.objects.filter(pk__in=keys).update(conversation=conversation.pk)
    put(conversation.pk, [*files, *attached_to(conversation.pk)])


def forget(conversation: Conversation, files: Files) -> None:
    """Files that no message brings along any more: their rows now, themselves after commit."""
    if not files:
        return
    rows = conversation.messages.filter(meta__has_key="attachments").values_list("meta", flat=True)
    kept = {each["attachment"] for meta in rows for each in attachments_in(meta)}
    gone = {each["attachment"] for each in files} - kept
    unused = Attachment.objects.filter(pk__in=gone)
    digests = dict(unused.values_list("path", "digest"))
    unused.delete()
    transaction.on_commit(partial(remove_files, conversation, digests), robust=True)


def remove_files(conversation: Conversation, digests: Mapping[str, str]) -> None:
    """Those that are still what was attached: what stands there else is somebody's work."""
    with suppress(Refused):
        workspace = workspace_of(conversation)
        for path, digest in digests.items():
            with suppress(ToolFailed):
                if hashlib.sha256(workspace.read(path, LARGEST)).hexdigest() == digest:
                    workspace.remove(path)


def of_messages(messages: Iterable[Message]) -> list[AttachedFile]:
    return [each for message in messages for each in message.attachments]


def workspace_of(conversation: Conversation) -> Workspace:
    """Where the agent's file tools work."""
    return Workspace(permissions.of_conversation(conversation).folder)


def attached_to(conversation: int) -> list[AttachedFile]:
    """What stands in the message box now."""
    found = Conversation.objects.filter(pk=conversation).values_list("attached", flat=True).first()
    if found is None:
        raise NotFound(
            gettext("There is no conversation {conversation}.").format(conversation=conversation)
        )
    return list(found)


def put(conversation: int, attached: Files) -> None:
    Conversation.objects.filter(pk=conversation).update(attached=list(attached))


def demand_room(conversation: Conversation, name: str) -> None:
    count = len(attached_to(conversation.pk)) + 1
    if count > MOST_FILES:
        raise Conflict(
            ngettext(
                "{count} file; {most} is the most. {name} was left out.",
                "{count} files; {most} is the most. {name} was left out.",
                count,
            ).format(count=count, most=MOST_FILES, name=safe_name(name))
        )


def named(conversation: Conversation, key: int) -> str:
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


def cannot_be_shown(file: AttachedFile) -> bool:
    """Whether it is a picture for people, and none for models."""
    return "width" not in file and file["media_type"].startswith("image/")


def safe_name(wanted: str) -> str:
    """A plain name of a file: no folders, nothing that is not seen, not hidden, not too long."""
    text = normalized(wanted.encode(errors="ignore").decode(), "NFC")
    text = re.split(r"[/\\]", text)[-1]
    seen = "".join(sign for sign in text if unicodedata.category(sign) not in NO_LETTERS)
    name = " ".join(seen.split()).strip(". ")
    stem, dot, ending = name.rpartition(".")
    if not stem or len(ending.encode()) > LONGEST_ENDING:
        stem, dot, ending = name, "", ""
    stem = stem.encode()[:LONGEST_NAME].decode(errors="ignore").rstrip(". ")
    return f"{stem or 'file'}{dot}{ending}"
