"""Writing the recorded home down as text, and making a home of it again, on either engine."""

from __future__ import annotations

import re
import secrets
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import psycopg

from tests.console.serving import ROOT, surroundings

HERE = Path(__file__).parent
DUMP, FILES = HERE / "home.sql", HERE / "home"
# The agent that comes with Planside, which no scene is about, and copies of agent.json.
NO_FILES = shutil.ignore_patterns("docs-writer", ".agent.last-good.json")
DAY = "2025-01-06"  # it all happened on this day, long past wherever a test runs
# What belongs to a machine or a person, or is made anew by whoever migrates.
NOT_KEPT = (
    "django_session",
    "agents_apitoken",
    "agents_signintoken",
    "agents_tally",
    "auth_permission",
    "django_content_type",
)
MIGRATE = """
import django; django.setup()
from django.core.management import call_command
for app, name in {last!r}: call_command("migrate", app, name, verbosity=0)
"""


def write_down(home: Path) -> None:
    """The database as SQL, one row a line, and the files of agents and chains."""
    with closing(sqlite3.connect(home / "planside.sqlite3")) as database:
        for table in NOT_KEPT:
            database.execute(f"DELETE FROM {table}")
        database.execute("UPDATE auth_user SET password = '!', last_login = NULL")
        database.commit()
        text = "\n".join(database.iterdump()) + "\n"
    assert str(home) not in text, "a path of this machine is in it"
    DUMP.write_text(on_that_day(text))
    shutil.rmtree(FILES, ignore_errors=True)
    for folder in ("workspaces", "chains"):
        shutil.copytree(home / folder, FILES / folder, ignore=NO_FILES)


def on_that_day(text: str) -> str:
    days = {
        date.fromisoformat(found) for found in re.findall(r"\b(20\d\d-\d\d-\d\d)[ T]\d\d:", text)
    }
    assert max(days) - min(days) <= timedelta(1), sorted(days)
    for day in days:
        then = date.fromisoformat(DAY) + (day - min(days))
        text = text.replace(day.isoformat(), then.isoformat())
    return text


def make_home(folder: Path) -> Path:
    """Agents, chains and a key of its own; the database is not there yet."""
    shutil.copytree(FILES, folder)
    folder.chmod(0o700)
    (folder / "secret.key").write_text(secrets.token_hex(32))
    (folder / "secret.key").chmod(0o600)
    return folder


def on_sqlite(home: Path) -> None:
    path = home / "planside.sqlite3"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(DUMP.read_text())
    path.chmod(0o600)


def on_postgres(home: Path, url: str) -> None:
    """The tables as the migrations of that time made them, then the rows."""
    with closing(sqlite3.connect(":memory:")) as recorded:
        recorded.executescript(DUMP.read_text())
        applied = "SELECT app, max(name) FROM django_migrations GROUP BY app"
        migrate(home, url, recorded.execute(applied).fetchall())
        with psycopg.connect(url) as database:
            copy_rows(recorded, database)


def migrate(home: Path, url: str, last: list[tuple[str, str]]) -> None:
    settings = {"DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "console.settings"}
    subprocess.run(
        [sys.executable, "-c", MIGRATE.format(last=last)],
        cwd=ROOT,
        env=surroundings(home) | settings,
        check=True,
    )


def copy_rows(recorded: sqlite3.Connection, database: psycopg.Connection[Any]) -> None:
    tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    names = [
        name for (name,) in recorded.execute(tables) if name not in ("django_migrations", *NOT_KEPT)
    ]
    database.execute("SET TIME ZONE 'UTC'")
    database.execute(f"TRUNCATE {', '.join(names)} CASCADE")
    for table in names:
        copy_table(recorded, database, table)


def copy_table(recorded: sqlite3.Connection, database: psycopg.Connection[Any], table: str) -> None:
    types = dict(
        database.execute(
            "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = %s",
            [table],
        ).fetchall()
    )
    rows = recorded.execute(f"SELECT * FROM {table}")
    columns = [each[0] for each in rows.description]
    places = ", ".join(["%s"] * len(columns))
    insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})"
    for row in rows:
        pairs = zip(row, columns, strict=True)
        database.execute(insert, [as_type(value, types[column]) for value, column in pairs])
    if "id" in columns:
        next_id = f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), max(id)) FROM {table}"
        database.execute(next_id)


def as_type(value: Any, type: str) -> Any:
    """What SQLite keeps as a number or a text, for a column that has a type."""
    if value is None:
        return None
    if type == "boolean":
        return bool(value)
    if type == "interval":
        return timedelta(microseconds=value)
    return str(value) if type in ("numeric", "jsonb") else value
