"""Queries that are put together once: of Django's own making, and carried out many times.

Django takes some 0.3 ms to put a query together that the database carries out in 0.02; a turn has
dozens of them. Put together anew each time, a real turn takes 1.8 times the processor time.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from functools import cache, cached_property
from inspect import signature
from typing import Any, Generic, ParamSpec, TypeVar, cast
from uuid import uuid4

from django.db import DEFAULT_DB_ALIAS, connection, connections, models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from django.db.models import QuerySet
from django.db.models.sql import UpdateQuery

from agents.sanitize import sanitize_text

Value = str | int | bool | datetime | None
Row = tuple[Any, ...]
LARGEST = 2**63 - 1
Row_of = TypeVar("Row_of", bound=models.Model)
Result = TypeVar("Result")
P = ParamSpec("P")


def kept_cursor() -> CursorWrapper:
    """The one cursor of this thread's connection, for what is read at once.

    Making one for each statement, and closing it, costs as much as carrying the statement out.
    Where something looks at each statement, and may ask for others meanwhile, each has its own.
    """
    database = this_database()
    raw = database.connection
    if raw is None or database.force_debug_cursor or database.execute_wrappers:
        return database.cursor()
    known: CursorWrapper | None = getattr(_cursors, "known", None)
    if known is None or known.cursor.connection is not raw:
        known = _cursors.known = database.cursor()
    return known


_cursors = threading.local()


def this_database() -> BaseDatabaseWrapper:
    """This thread's; `connection` looks it up anew each time it is asked for anything."""
    return connections[DEFAULT_DB_ALIAS]


def execute(sql: str, values: Sequence[Value] = ()) -> int:
    """How many rows it touched."""
    cursor = kept_cursor()
    cursor.execute(sql, values)
    return int(cursor.rowcount)


def fetch_one(sql: str, values: Sequence[Value] = ()) -> Row | None:
    """The first row, or None."""
    cursor = kept_cursor()
    cursor.execute(sql, [fit(value) for value in values])
    return next(iter(cursor.fetchall()), None)


def insert(row: models.Model) -> None:
    """A new row; its key is set."""
    sql, fields = insertion(type(row))
    database = this_database()
    values = [each.get_db_prep_save(each.pre_save(row, True), database) for each in fields]
    cursor = kept_cursor()
    cursor.execute(sql, values)
    ((row.pk,),) = cursor.fetchall()
    row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS


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
    database = this_database()
    values = [each.get_db_prep_save(each.pre_save(row, False), database) for each in fields]
    execute(sql, [*values, row.pk])


@cache
def update(
    model: type[models.Model], names: tuple[str, ...]
) -> tuple[str, list[models.Field[Any, Any]]]:
    fields = [cast("models.Field[Any, Any]", model._meta.get_field(name)) for name in names]
    sets = ", ".join(f"{each.column} = %s" for each in fields)
    return f"UPDATE {model._meta.db_table} SET {sets} WHERE {model._meta.pk.column} = %s", fields


def fit(value: Any) -> Any:
    """As a model's field would hand it over: what no column can hold is replaced."""
    if type(value) is int:
        return max(-LARGEST, min(value, LARGEST))
    if isinstance(value, str):
        return sanitize_text(value)
    if isinstance(value, list):
        return list(map(fit, value))
    return moment(value) if isinstance(value, datetime) else value


class Parameter(models.Expression):
    """Stands in a prepared query for a value, or within `one_of` for a list of values."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def as_sql(self, *_: object, **__: object) -> tuple[str, tuple[Any, ...]]:
        return "%s", (self,)


class Prepared(Generic[P, Row_of, Result]):
    """A query of the ORM that is put together at its first use and carried out many times.

    It is made by `@prepared` from a function of Parameters that gives back a QuerySet, or the
    UpdateQuery of `updating`; values are given by name.
    """

    def __init__(self, build: Callable[P, QuerySet[Row_of, Result] | UpdateQuery]) -> None:
        self.build = build

    @cached_property
    def compiled(self) -> tuple[str, tuple[Any, ...], Any]:
        names = signature(self.build).parameters
        build: Callable[..., Any] = self.build
        built = build(**{name: Parameter(name) for name in names})
        query = built if isinstance(built, UpdateQuery) else built.query
        compiler = query.get_compiler(connection=connection)
        # Django puts a locking query together within a transaction alone.
        locks = query.select_for_update and connection.features.has_select_for_update
        with transaction.atomic() if locks else nullcontext():
            sql, values = compiler.as_sql()
        return sql, tuple(values), compiler

    @cached_property
    def converters(self) -> Any:
        """From what the driver gives to what the model has, by the column's place."""
        compiler = self.compiled[2]
        model = compiler.query.model
        whole_row = [each.get_col(model._meta.db_table) for each in model._meta.concrete_fields]
        return compiler.get_converters([each[0] for each in compiler.select or ()] or whole_row)

    def run(self, named: Mapping[str, object], returning: str = "") -> CursorWrapper:
        sql, values, _ = self.compiled
        given = [named[v.name] if isinstance(v, Parameter) else v for v in values]
        if list in map(type, given) and connection.vendor == "sqlite":
            counts = iter([len(v) if isinstance(v, list) else 1 for v in given])
            sql = re.sub("%s", lambda _: places(range(next(counts))) or "NULL", sql)
            given = [each for v in given for each in (v if isinstance(v, list) else [v])]
        cursor = kept_cursor()
        cursor.execute(sql + returning, [fit(value) for value in given])
        return cursor

    def update(self, *_: P.args, **named: P.kwargs) -> int:
        """How many rows it changed."""
        return int(self.run(named).rowcount)

    def rows(self, *_: P.args, **named: P.kwargs) -> list[Result]:
        return cast("list[Result]", self.converted(self.run(named).fetchall()))

    def converted(self, rows: Sequence[Row]) -> list[Row]:
        if rows and self.converters:
            rows = self.compiled[2].apply_converters(rows, self.converters)
        return list(map(tuple, rows))

    def first(self, *_: P.args, **named: P.kwargs) -> Result | None:
        """The first row, or None."""
        return next(iter(self.rows(*_, **named)), None)

    def models(self, *_: P.args, **named: P.kwargs) -> list[Row_of]:
        """With annotations. Fields that the query leaves out are read when asked for."""
        compiler = self.compiled[2]
        model, places = compiler.klass_info["model"], compiler.klass_info["select_fields"]
        names = [compiler.select[place][0].target.attname for place in places]
        annotations = compiler.annotation_col_map.items()
        found = []
        for row in cast("list[Row]", self.rows(*_, **named)):
            made = model.from_db(DEFAULT_DB_ALIAS, names, [row[i] for i in places])
            for name, place in annotations:
                setattr(made, name, row[place])
            found.append(made)
        return cast("list[Row_of]", found)

    def changed(self, *_: P.args, **named: P.kwargs) -> list[Any]:
        """The rows that an update has changed, as they are now."""
        model = self.compiled[2].query.model
        fields = model._meta.concrete_fields
        returning = f" RETURNING {', '.join(each.column for each in fields)}"
        rows = self.converted(self.run(named, returning).fetchall())
        names = [each.attname for each in fields]
        return [model.from_db(DEFAULT_DB_ALIAS, names, row) for row in rows]


prepared = Prepared


def one_of(field: str, values: object) -> models.Func:
    """`field IN (values)` in a prepared query; Django would look into the list."""
    return OneOf(models.F(field), cast(Any, values), output_field=models.BooleanField())


class OneOf(models.Func):
    """PostgreSQL takes the list as one value: a thousand would take psycopg 2 ms to put in."""

    template = "%(expressions)s)"
    arg_joiner = " IN ("

    def as_postgresql(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        return self.as_sql(compiler, connection, arg_joiner=" = ANY(", **extra)


def one_of_open(states: Iterable[str], path: str) -> models.Func:
    """The states written out, as they are in the partial index that is to be used."""
    listed = ", ".join(f"'{state}'" for state in states)
    template = f"%(expressions)s IN ({listed})"
    return models.Func(models.F(path), template=template, output_field=models.BooleanField())


def updating(rows: QuerySet[Any, Any], **changes: object) -> UpdateQuery:
    """What `rows.update(…)` would carry out, for `@prepared`."""
    query = cast(UpdateQuery, rows.query.chain(UpdateQuery))
    query.clear_ordering(force=True)
    query.add_update_values(changes)
    return query


def places(values: Sequence[object]) -> str:
    """`%s, %s` for an IN (…)."""
    return ", ".join(["%s"] * len(values))


def moment(value: datetime) -> Value:
    """A time as a statement's value."""
    return cast(Value, this_database().ops.adapt_datetimefield_value(value))


def stored(model: type[models.Model], field: str, value: object) -> Value:
    """A value as the model's field writes it."""
    column = cast("models.Field[Any, Any]", model._meta.get_field(field))
    return cast(Value, column.get_db_prep_save(value, this_database()))


# Written by hand, since the ORM has no word for it or takes one journey more. There are no others.

NEXT_EVENT_NUMBER = (  # one statement, so that two writers never get the same number
    "UPDATE agents_conversation SET seq = seq + 1, updated_at = %s WHERE id = %s RETURNING seq"
)
INSERT_EVENT = (  # at the very time that its announcement says
    "INSERT INTO agents_event"
    " (conversation_id, seq, type, subject, actor, actor_kind, data, created_at)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s, %s)"
)
# Both in one: four journeys fewer in a turn that answers "hello". SQLite cannot write in a WITH.
NUMBERED_EVENT = f"""
WITH numbered AS ({NEXT_EVENT_NUMBER})
INSERT INTO agents_event
(conversation_id, seq, type, subject, actor, actor_kind, data, created_at)
SELECT %s, seq, %s, %s, %s, %s, %s, %s FROM numbered RETURNING seq
"""
# The words of a title, message or plan that a person can reach: not those of called agents. Three
# kinds, each with its own key; what is there already is replaced.
INDEXED = {
    "sqlite": """
INSERT INTO agents_searchentry (conversation_id, message_id, plan, words)
SELECT id, %s, %s, '_' || %s || owner_id || ' ' || %s FROM agents_conversation
WHERE id = %s AND parent_call_id IS NULL
""",
    "postgresql": """
INSERT INTO agents_searchentry (conversation_id, message_id, plan, words)
SELECT id, %s::bigint, %s::bigint,
    array_to_tsvector(string_to_array('_' || %s || owner_id || ' ' || %s, ' '))
FROM agents_conversation WHERE id = %s AND parent_call_id IS NULL
""",
}
REPLACED = {
    "t": "(conversation_id) WHERE message_id IS NULL AND plan IS NULL",
    "m": "(message_id)",
    "p": "(plan)",
}
# The newest entries with these words, of what is said, or of titles and plans. An index reads its
# newest first, and no more than is wanted.
SAID = {"name": "said", "which": "message_id IS NOT NULL"}
NAMED = {"name": "named", "which": "message_id IS NULL"}
FIND = {
    "sqlite": """
SELECT entry.id, entry.conversation_id, entry.message_id, entry.plan
FROM agents_searchentry_{name} found
CROSS JOIN agents_searchentry entry ON entry.id = found.rowid
CROSS JOIN agents_conversation ON agents_conversation.id = entry.conversation_id
WHERE found.agents_searchentry_{name} MATCH %s AND agents_conversation.deleted_at IS NULL
ORDER BY found.rowid DESC LIMIT %s
""",
    "postgresql": """
SELECT entry.id, entry.conversation_id, entry.message_id, entry.plan
FROM agents_searchentry entry
JOIN agents_conversation ON agents_conversation.id = entry.conversation_id
WHERE entry.words @@ %s::tsquery AND entry.{which} AND agents_conversation.deleted_at IS NULL
ORDER BY entry.id DESC LIMIT %s
""",
}
# A heartbeat waits for nobody: a row that is being written to is as good as renewed, and waiting
# for it while holding others could end in a deadlock. It runs beside Django's connection.
RENEW_LEASES = """
WITH mine AS (
    SELECT turn.id, turn.epoch, turn.stop_requested
    FROM agents_turn turn JOIN unnest(%s::bigint[], %s::int[]) AS own(id, epoch)
        ON turn.id = own.id AND turn.epoch = own.epoch
    WHERE turn.state = 'running'
), free AS (
    SELECT id FROM agents_turn WHERE id IN (SELECT id FROM mine) FOR NO KEY UPDATE SKIP LOCKED
), renewed AS (
    UPDATE agents_turn turn SET lease_until = now() + %s, counted_at = now(),
        worked = worked + GREATEST(interval '0', LEAST(now(), turn.lease_until) - turn.counted_at)
    FROM mine, free
    WHERE turn.id = mine.id AND turn.id = free.id
        AND turn.epoch = mine.epoch AND turn.state = 'running'
)
SELECT id AS pk, stop_requested FROM mine
"""
# What other processes change in the queue is heard at once, not at the next look a second later.
LISTEN = "LISTEN planside_turns"
OWN_NOTICE = uuid4().hex  # tells this process's notices from those of others
NOTIFY = f"pg_notify('planside_turns', '{OWN_NOTICE}')"  # with an event, or selected alone
LISTENERS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query = %s"
)
DATABASE_CLOCK = "SELECT clock_timestamp()"  # of no table; Now() is when the transaction began
# Servers that start together migrate one after the other. The key is any number of our own. It is
# a transaction's lock: a session's would stay with whom a pooler gives the connection next.
LOCK_MIGRATIONS = "SELECT pg_advisory_xact_lock(7526743)"
# It sleeps for as long as it holds the lock, whatever limit the server has, or a pooler's session.
LOCK_TIMEOUT = "SET LOCAL lock_timeout = %s; SET LOCAL idle_in_transaction_session_timeout = 0"
IDLE_TIMEOUT = "SET idle_in_transaction_session_timeout = %s"  # 0: none, as migrating may take long
