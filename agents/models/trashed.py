"""What a person deleted or replaced in a workspace, for the day on which it can be restored."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone

from agents.models import fields


class Trashed(models.Model):
    """A file or folder in the trash; `agents.workspace.trash` says where each lies.

    The row is written before anything is moved: `moving` is one whose verb has not ended, or was
    cut off. `root` is the folder that the agent worked in then, `path` where it was in there. It
    lies in that folder, not in the home, where it `is_beside`. What `was_replaced` made room for
    another of its name.
    """

    class State(models.TextChoices):
        MOVING = "moving"
        KEPT = "kept"

    key = models.CharField(max_length=16, primary_key=True)
    agent = models.CharField(max_length=64)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    root = fields.FolderField()
    path = fields.TextField()
    was_replaced = models.BooleanField(default=False)
    is_beside = models.BooleanField(default=False)
    state = models.CharField(max_length=6, choices=State.choices, default=State.MOVING)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [models.Index(fields=["at"], name="trashed_by_time")]

    def __str__(self) -> str:
        return f"{self.path} of {self.agent}"
