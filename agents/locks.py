"""The one order in which PostgreSQL's row locks are taken, so that no two wait for each other.

Whatever writes to a conversation locks its row first, verbs and running turns alike: their events
are numbered there anyway. On SQLite there is one writer at a time.
"""

from __future__ import annotations

from django.db import connection


def lock_conversation(pk: int) -> None:
    """Until the transaction ends; rows that point to it may still be added by others."""
    if connection.features.has_select_for_update:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT 1 FROM agents_conversation WHERE id = %s FOR NO KEY UPDATE", [pk]
            )
