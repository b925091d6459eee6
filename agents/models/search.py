"""What can be found by its words."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from agents.models import fields
from agents.models.conversation import Conversation, Message


class SearchEntry(models.Model):
    """The words of one title, message or plan, for the person whose conversation it is in.

    The first word says whose it is and of what kind, so that the index alone tells both.
    """

    class Kind(models.TextChoices):
        TITLE = "t"
        MESSAGE = "m"
        PLAN = "p"

    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="+")
    message = models.OneToOneField(Message, models.CASCADE, null=True, related_name="+")
    plan = models.PositiveBigIntegerField(null=True, unique=True)
    words = fields.WordsField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["conversation"],
                condition=Q(message=None, plan=None),
                name="one_search_entry_per_title",
            )
        ]

    def __str__(self) -> str:
        return f"search entry {self.pk}"
