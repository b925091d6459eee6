"""Columns that take any text: what no database can keep is replaced on its way in.

In migrations they are Django's own, since the columns are.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

from agents.sanitize import sanitize, sanitize_text

if TYPE_CHECKING:
    from django.db.models import CharField, JSONField, TextField

    Words = models.Field[str, str]
    Folder = TextField[str, str]
else:
    Words = models.Field

    class Plain:
        """Says in migrations that it is the field of Django it is made of."""

        def deconstruct(self):
            name, _, args, kwargs = super().deconstruct()
            return name, f"django.db.models.{type(self).__name__}", args, kwargs

    class Kept(Plain):
        def get_prep_value(self, value: object) -> object:
            value = super().get_prep_value(value)
            return sanitize_text(value) if isinstance(value, str) else value

    class CharField(Kept, models.CharField):
        pass

    class TextField(Kept, models.TextField):
        pass

    Folder = TextField

    class JSONField(Plain, models.JSONField):
        def get_prep_value(self, value: object) -> object:
            return sanitize(super().get_prep_value(value))


def stored_folder(folder: str) -> str:
    """A folder as rows have it: relative to the home if it lies in there, since a home may move."""
    return folder.removeprefix(f"{settings.PLANSIDE_HOME}/")


class FolderField(Folder):
    """An absolute path; see `stored_folder`."""

    def deconstruct(self) -> tuple[str, str, Sequence[object], dict[str, object]]:
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.TextField", args, kwargs

    def get_prep_value(self, value: object) -> object:
        value = super().get_prep_value(value)
        return stored_folder(value) if isinstance(value, str) else value

    def from_db_value(self, value: str, *_: object) -> str:
        return str(Path(settings.PLANSIDE_HOME, value)) if value else value


class WordsField(Words):
    """Words to be searched for: a tsvector on PostgreSQL; on SQLite a text, which a virtual table
    indexes by triggers. It is written by agents.search alone."""

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return "tsvector" if connection.vendor == "postgresql" else "text"


__all__ = ["CharField", "FolderField", "JSONField", "TextField", "WordsField"]
