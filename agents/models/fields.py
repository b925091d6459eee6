"""Columns that take any text: what no database can keep is replaced on its way in.

In migrations they are Django's own, since the columns are.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

from agents.sanitize import sanitize, sanitize_text
from agents.stored_text import from_column, to_column

if TYPE_CHECKING:
    from django.db.models import CharField, JSONField, TextField

    Words = models.Field[str, str]
    Folder = TextField[str, str]
    StoredTextField = TextField
    StoredJSONField = JSONField
else:
    Words = models.Field

    class Plain:
        """Says in migrations that it is the field of Django it is made of."""

        def deconstruct(self):
            name, _, args, kwargs = super().deconstruct()
            ours = [each.__module__ == __name__ for each in type(self).__mro__]
            made_of = type(self).__mro__[ours.index(False)]
            return name, f"django.db.models.{made_of.__name__}", args, kwargs

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

    class StoredTextField(TextField):
        """A text that may be a sentence of ours; see agents.stored_text."""

        def get_prep_value(self, value: object) -> object:
            return super().get_prep_value(to_column(value) if isinstance(value, str) else value)

        def from_db_value(self, value: object, *_: object) -> object:
            return from_column(value) if isinstance(value, str) else value

    class StoredJSONField(JSONField):
        """A document of which each text may be such a sentence."""

        def get_prep_value(self, value: object) -> object:
            return super().get_prep_value(each_text(to_column, value))

        def from_db_value(self, value: object, *rest: object) -> object:
            return each_text(from_column, super().from_db_value(value, *rest))

    def each_text(change: Callable[[str], str], value: object) -> object:
        if not isinstance(value, dict):
            return value
        texts = {name: change(each) for name, each in value.items() if isinstance(each, str)}
        return {**value, **texts}


def stored_folder(folder: str) -> str:
    """A folder as rows have it: relative to the home if it lies in there, since a home may move."""
    return folder.removeprefix(f"{settings.PLANSIDE_HOME}/")


class FolderField(Folder):
    """An absolute path; see `stored_folder`."""

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


__all__ = [
    "CharField",
    "FolderField",
    "JSONField",
    "StoredJSONField",
    "StoredTextField",
    "TextField",
    "WordsField",
]
