"""The one order in which PostgreSQL's row locks are taken, so that no two wait for each other.

Whatever writes to a conversation locks its row first: verbs and running turns alike. Their events
are numbered there anyway. On SQLite there is one writer at a time.
"""

from __future__ import annotations

from django.db import connection
from django.db.models import QuerySet

from agents.models import Conversation


def conversation_row(pk: int) -> QuerySet[Conversation]:
    """As a subquery it is locked before the rows of the query around it."""
    return Conversation.objects.filter(pk=pk).select_for_update(no_key=True)


def lock_conversation(pk: int) -> None:
    """Held until the transaction ends; events may still be added to it by foreign key."""
    if connection.features.has_select_for_update:
        conversation_row(pk).values_list("pk", flat=True).first()
