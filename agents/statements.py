"""The statements of every step, written by hand.

Django takes some 0.3 ms to put a statement together that the database carries out in 0.02; a turn
has dozens of them. What is rarer goes through the ORM.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeVar, cast

from django.db import connection, models

Value = str | int | bool | datetime | None
Row = tuple[Any, ...]
LARGEST = 2**63 - 1
Row_of = TypeVar("Row_of", bound=models.Model)


def run(sql: str, values: Sequence[Value]) -> int:
    """How many rows it touched."""
    with connection.cursor() as cursor:
        cursor.execute(sql, fitting(values))
        return int(cursor.rowcount)


def one(sql: str, values: Sequence[Value]) -> Row | None:
    """The first row, or None."""
    with connection.cursor() as cursor:
        cursor.execute(sql, fitting(values))
        return cast(Row | None, cursor.fetchone())


def rows(sql: str, values: Sequence[Value] = ()) -> list[Row]:
    with connection.cursor() as cursor:
        cursor.execute(sql, fitting(values))
        return cast(list[Row], cursor.fetchall())


def found(model: type[Row_of], sql: str, values: Sequence[Value] = ()) -> list[Row_of]:
    """Rows as the model has them; columns that the statement leaves out are read when asked for."""
    return list(model._default_manager.raw(sql, fitting(values)))


def fitting(values: Sequence[Value]) -> list[Value]:
    """No number is greater than a column can be: what is asked for beyond that is not there."""
    return [min(value, LARGEST) if isinstance(value, int) else value for value in values]


def places(values: Sequence[object]) -> str:
    """`%s, %s` for an IN (…)."""
    return ", ".join(["%s"] * len(values))


def for_update() -> str:
    """SQLite has locked the whole database by then."""
    return " FOR NO KEY UPDATE" if connection.features.has_select_for_update else ""


def moment(value: datetime) -> Value:
    """A time as a statement's value."""
    return cast(Value, connection.ops.adapt_datetimefield_value(value))


def stored(model: type[models.Model], field: str, value: object) -> Value:
    """A document as the model's field writes it."""
    column = cast("models.JSONField[object, object]", model._meta.get_field(field))
    return cast(Value, column.get_db_prep_save(value, connection))
