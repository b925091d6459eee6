"""The statements of every step, written by hand.

Django takes some 0.3 ms to put a statement together that the database carries out in 0.02; a turn
has dozens of them. What is rarer goes through the ORM.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from typing import Any, TypeVar, cast

from django.db import connection, models
from django.db.models.sql import Query

Value = str | int | bool | datetime | None
Row = tuple[Any, ...]
Reader = Callable[[object], object]
LARGEST = 2**63 - 1
Row_of = TypeVar("Row_of", bound=models.Model)


def execute(sql: str, values: Sequence[Value]) -> int:
    """How many rows it touched."""
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return int(cursor.rowcount)


def fetch_one(sql: str, values: Sequence[Value]) -> Row | None:
    """The first row, or None."""
    with connection.cursor() as cursor:
        cursor.execute(sql, fitting(values))
        return cast(Row | None, cursor.fetchone())


def fetch_all(sql: str, values: Sequence[Value] = ()) -> list[Row]:
    with connection.cursor() as cursor:
        cursor.execute(sql, fitting(values))
        return cast(list[Row], cursor.fetchall())


def fetch_models(model: type[Row_of], sql: str, values: Sequence[Value] = ()) -> list[Row_of]:
    """Rows as the model has them; columns that the statement leaves out are read when asked for."""
    with connection.cursor() as cursor:
        cursor.execute(sql, fitting(values))
        names, places, readers = reading(model, tuple(each[0] for each in cursor.description))
        read = cursor.fetchall()
    return [
        model.from_db(
            connection.alias,
            names,
            [reader(row[place]) for place, reader in zip(places, readers, strict=True)],
        )
        for row in read
    ]


@cache
def reading(
    model: type[models.Model], columns: tuple[str, ...]
) -> tuple[list[str], list[int], list[Reader]]:
    """In the order of the model's fields: their names, where they stand, how they are read."""
    fields = [each for each in model._meta.concrete_fields if each.column in columns]
    names = [str(each.attname) for each in fields]
    return names, [columns.index(str(f.column)) for f in fields], [reader_of(f) for f in fields]


def reader_of(field: models.Field[Any, Any]) -> Reader:
    """From what the database's driver gives to what the model has, as Django does it."""
    column = field.get_col(field.model._meta.db_table)
    steps = connection.ops.get_db_converters(column) + field.get_db_converters(connection)

    def read(value: object) -> object:
        for step in steps:
            value = step(value, column, connection)
        return value

    return read if steps else same


def same(value: object) -> object:
    return value


def by_key(model: type[Row_of], key: int | None, locked: str = "") -> Row_of | None:
    """The row with this key as it is now; `locked` is for_update() or nothing."""
    sql = f"SELECT * FROM {model._meta.db_table} WHERE id = %s{locked}"
    return next(iter(fetch_models(model, sql, [key])), None)


def insert(row: models.Model) -> None:
    """A new row; its key is set."""
    sql, fields = insertion(type(row))
    values = [each.get_db_prep_save(each.pre_save(row, True), connection) for each in fields]
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        (row.pk,) = cursor.fetchone()
    row._state.adding, row._state.db = False, connection.alias


@cache
def insertion(model: type[models.Model]) -> tuple[str, list[models.Field[Any, Any]]]:
    fields = [each for each in model._meta.local_concrete_fields if not each.primary_key]
    columns = ", ".join(str(each.column) for each in fields)
    table, key = model._meta.db_table, model._meta.pk
    sql = f"INSERT INTO {table} ({columns}) VALUES ({places(fields)}) RETURNING {key.column}"
    return sql, fields


def store(row: models.Model, *names: str) -> None:
    """The named fields of a row that is there."""
    sql, fields = update(type(row), names)
    values = [each.get_db_prep_save(each.pre_save(row, False), connection) for each in fields]
    execute(sql, [*values, row.pk])


@cache
def update(
    model: type[models.Model], names: tuple[str, ...]
) -> tuple[str, list[models.Field[Any, Any]]]:
    fields = [cast("models.Field[Any, Any]", model._meta.get_field(name)) for name in names]
    sets = ", ".join(f"{each.column} = %s" for each in fields)
    return f"UPDATE {model._meta.db_table} SET {sets} WHERE {model._meta.pk.column} = %s", fields


def fitting(values: Sequence[Value]) -> list[Value]:
    """For reading: beyond what a column can hold there is nothing."""
    return [fit(value) if type(value) is int else value for value in values]


def fit(number: int) -> int:
    return max(-LARGEST, min(number, LARGEST))


class Parameter(models.Expression):
    """A value in a query that is put together once and carried out with another value each time."""

    def __init__(self, name: str, output_field: models.Field[Any, Any]) -> None:
        super().__init__(output_field=output_field)
        self.name = name

    def as_sql(self, *_: object, **__: object) -> tuple[str, tuple[Any, ...]]:
        return "%s", (self,)


class Prepared:
    """What Django has made of a query: SQL, and its values, some of them still to be named."""

    def __init__(self, query: models.query.QuerySet[Any] | Query) -> None:
        query = query if isinstance(query, Query) else query.query
        self.sql, self.values = query.get_compiler(connection.alias).as_sql()

    def with_values(self, **named: Value) -> list[Value]:
        return [named[v.name] if isinstance(v, Parameter) else v for v in self.values]


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
    """A value as the model's field writes it."""
    column = cast("models.Field[Any, Any]", model._meta.get_field(field))
    return cast(Value, column.get_db_prep_save(value, connection))
