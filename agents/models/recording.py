"""What a turn found in its folder and what it left there, and what was taken back of it."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from django.db import models

from agents.models import fields
from agents.models.conversation import Conversation
from agents.models.turn import ToolCall, Turn
from agents.stored_text import Stored


class SkippedFile(TypedDict):
    """A file that was not recorded, and why."""

    path: str  # as agents.tools.paths writes it
    reason: str  # too_large, unreadable, hard_link, too_deep
    size: int  # bytes
    at: NotRequired[int]  # when it was changed last, nanoseconds
    inode: NotRequired[int]


Identity = tuple[int, int]  # inode and ctime, nanoseconds
Identities = dict[str, Identity | None]
StoredLook = dict[str, tuple[int, int, int, str, bool]]


class PersonEdit(models.Model):
    """Files that a person changed through Planside while a turn was recorded in their folder.

    `files`: by path, as agents.tools.paths writes it, what they left there, or null. `began` and
    `ended` are nanoseconds since 1970. It goes when no turn is recorded there any more.
    """

    root = fields.FolderField()
    files: models.Field[Identities, Identities] = fields.JSONField(default=dict)
    began = models.BigIntegerField()
    ended = models.BigIntegerField()

    class Meta:
        indexes = [models.Index(fields=["root"], name="person_edits_by_root")]

    def __str__(self) -> str:
        return f"edit of {len(self.files)} files"


class Recording(models.Model):
    """The folder of one turn before its first writing call and after its end.

    `before`, `after` and `changes` name objects in the folder's store: two trees and a list, and
    `folders` the inodes of its folders at the beginning. They are empty until there is
    one, where the folder holds too much (`stopped` says files or bytes) or could not be read
    (failed), and again once they are no longer kept; the sums stay.
    Lines and files are those of the turn alone; `outside` counts the files that others changed
    meanwhile, `unsure` those of both or of which it cannot be told. `leaves_out` says that the
    folder has files which are neither recorded nor restored: rules of git's leave them out, they
    are packages that were installed, or no files at all.
    """

    class Stopped(models.TextChoices):
        FILES = "files"
        BYTES = "bytes"
        FAILED = "failed"

    turn = models.OneToOneField(Turn, models.CASCADE, primary_key=True, related_name="recording")
    root = fields.FolderField()
    before = fields.CharField(max_length=40, blank=True)
    after = fields.CharField(max_length=40, blank=True)
    changes = fields.CharField(max_length=40, blank=True)
    folders = fields.CharField(max_length=40, blank=True, default="", db_default="")
    stopped = fields.CharField(max_length=6, choices=Stopped.choices, blank=True)
    skipped: models.Field[list[SkippedFile], list[SkippedFile]] = fields.JSONField(default=list)
    leaves_out = models.BooleanField(default=False)
    files = models.PositiveIntegerField(default=0)
    added = models.PositiveIntegerField(default=0)
    removed = models.PositiveIntegerField(default=0)
    outside = models.PositiveIntegerField(default=0)
    unsure = models.PositiveIntegerField(default=0)
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["began_at"],
                condition=models.Q(ended_at__isnull=True),
                name="open_recordings",
            ),
            models.Index(fields=["root", "began_at"], name="recordings_by_root"),
        ]

    def __str__(self) -> str:
        return f"recording of turn {self.turn_id}"

    @property
    def is_kept(self) -> bool:
        """Whether its changes can be read and taken back."""
        return bool(self.changes)


class Observation(models.Model):
    """What a look at a turn's folder found changed since the look before.

    `call` is the one that ran meanwhile, if one did. `files`: by path, as agents.tools.paths writes
    it, inode and ctime of what is there, or 0; the latest moment at which that came about; the path
    that it came from, and whether unchanged. `since` and `until`, like these, are nanoseconds since
    1970.
    """

    recording = models.ForeignKey(Recording, models.CASCADE, related_name="observations")
    call = models.ForeignKey(ToolCall, models.CASCADE, null=True, blank=True, related_name="+")
    since = models.BigIntegerField()
    until = models.BigIntegerField()
    files: models.Field[StoredLook, StoredLook] = fields.JSONField(default=dict)

    def __str__(self) -> str:
        return f"look at {len(self.files)} files"


class Undo(models.Model):
    """Files put back to what they were: written before the first of them is touched.

    `subject` is what it was of: "turn:7", "plan:3", "subtask:3/4", "undo:5". `steps` names the list
    of files in the folder's store. Without `finished_at` it was cut off and is finished by the
    next process. Of the `files` that it put back or took away, `removed` were taken away; one that
    was moved is one. `kept` are the files that it had to leave as they were, each with why; `whole`
    says that there were none. `sentence` says in the conversation what was undone.
    """

    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="undos")
    root = fields.FolderField()
    subject = fields.CharField(max_length=64)
    steps = fields.CharField(max_length=40, blank=True)
    files = models.PositiveIntegerField(default=0)
    removed = models.PositiveIntegerField(default=0, db_default=0)
    kept: models.Field[dict[str, str], dict[str, str]] = fields.JSONField(default=dict)
    whole = models.BooleanField(default=False)
    sentence: models.Field[Stored, Stored] = fields.JSONField(
        default=dict, db_default=models.Value({}, models.JSONField())
    )
    by = fields.CharField(max_length=150, blank=True)
    reverses = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, related_name="reversed_by"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["id"],
                condition=models.Q(finished_at__isnull=True),
                name="unfinished_undos",
            )
        ]

    def __str__(self) -> str:
        return f"undo {self.pk} of {self.subject}"

    @property
    def is_reversed(self) -> bool:
        """Whether undos of it left nothing of it to be undone."""
        return self.reversed_by.filter(whole=True).exists()

    @property
    def kept_paths(self) -> list[str]:
        return list(self.kept)
