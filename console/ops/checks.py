"""What Planside stands on (home, database, Redis, workers, extras), each part as one finding."""

from __future__ import annotations

import shutil
import socket
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from channels.layers import get_channel_layer
from django.conf import settings
from django.db import DatabaseError, connection
from django.utils import timezone

from agents.db import clock, is_postgresql
from agents.models import ToolSource
from agents.queue.backlog import backlog, runners
from agents.telemetry.redaction import redacted_url
from console import env
from console.home import remedy
from console.live.memory_layer import MemoryLayer
from console.ops import tracing
from console.ops.health import channel_problem, database_problem
from console.serving.migrating import is_behind

MB = 1024**2
LITTLE_ROOM = 200 * MB
# Seconds: between this machine's clock and the database's, and of a turn nobody has taken.
CLOCKS_APART = 2.0
LONG_DUE = 15.0
PATIENCE = 2.0
EXTRAS = {
    "PostgreSQL": "psycopg",
    "Redis": "channels_redis",
    "MCP": "mcp",
    "OpenTelemetry": "opentelemetry.sdk",
}


class Finding(NamedTuple):
    """`advice` is what to do; there is none when all is well."""

    about: str
    grade: Literal["fine", "note", "wrong"]
    sentence: str
    advice: str = ""


def surroundings() -> Iterator[Finding]:
    yield home()
    yield database()
    if not database_problem():
        if is_postgresql():
            yield clocks()
        yield turns()
        yield from tool_sources()
    yield channel_layer()
    yield extras()
    if tracing.is_wanted():
        yield traces()


def home() -> Finding:
    path = settings.PLANSIDE_HOME
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        told = f"others on this machine can look into {path} (mode {mode:o})."
        return Finding("Home", "wrong", told, f"Run: {remedy()}")
    if not is_writable(path):
        told = f"{path} cannot be written to."
        return Finding("Home", "wrong", told, "Give it to the user that runs Planside.")
    free = shutil.disk_usage(path).free
    if free < LITTLE_ROOM:
        told = f"{path} has {free // MB:,} MB of free space left."
        return Finding("Home", "wrong", told, "Make room on that disk.")
    return Finding("Home", "fine", f"{path}, for you alone, {free // MB:,} MB free.")


def is_writable(path: Path) -> bool:
    try:
        tempfile.TemporaryFile(dir=path).close()
    except OSError:
        return False
    return True


def database() -> Finding:
    engine = "PostgreSQL" if is_postgresql() else "SQLite in the home folder"
    try:
        behind, version = is_behind(), database_version()
    except Exception:  # whatever the driver raises, the next line says it plainly
        return Finding("Database", "wrong", database_problem(), "Check DATABASE_URL.")
    if behind:
        told = f"{engine} ({version}) is not up to date."
        return Finding("Database", "note", told, "manage.py serve brings it up to date.")
    return Finding("Database", "fine", f"{engine} ({version}) answers and is up to date{pool()}.")


def database_version() -> str:
    if not is_postgresql():
        return sqlite3.sqlite_version
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        return str(cursor.fetchone()[0]).partition(" ")[0]


def pool() -> str:
    options = connection.settings_dict.get("OPTIONS", {})
    most = options.get("pool", {}).get("max_size")
    return f"; each process opens {most} connections at most" if most else ""


def clocks() -> Finding:
    """Leases go by the database's clock; what people read goes by this machine's."""
    apart = abs((timezone.now() - clock()).total_seconds())
    if apart > CLOCKS_APART:
        told = f"this machine's is {apart:,.0f} s away from the database's."
        return Finding("Clock", "wrong", told, "Let both follow a time server (NTP).")
    return Finding("Clock", "fine", "agrees with the database's.")


def turns() -> Finding:
    """Who runs them, and whether one waits that nobody takes."""
    external = settings.PLANSIDE_WORKERS == "external"
    who = "only in manage.py worker" if external else "inside the server"
    now, count = backlog(), runners()
    if external and count == 0:
        told = "run only in manage.py worker, and none is running."
        return Finding("Turns", "wrong", told, "Start manage.py worker.")
    if now.oldest_due > LONG_DUE:
        told = f"one has been due for {now.oldest_due:,.0f} s ({now.due:,} due)."
        more = "Start more workers." if external else "Start Planside, or look into its log."
        return Finding("Turns", "wrong", told, more)
    told = f"run {who}; {now.running:,} running, {now.due:,} due"
    if external and count is None:  # on SQLite nobody can tell
        return Finding("Turns", "note", f"{told}.", "See that the worker runs.")
    processes = "" if count is None else f", by {count:,} process{'es' if count != 1 else ''}"
    return Finding("Turns", "fine", f"{told}{processes}.")


def tool_sources() -> Iterator[Finding]:
    """As they answered when they were last asked."""
    try:
        sources = list(ToolSource.objects.order_by("name"))
    except DatabaseError:  # behind: the line on the database says so
        return
    for source in sources:
        about = f"Tool source {source.name}"
        if source.error:
            again = f"Then: manage.py tools test {source.name}"
            yield Finding(about, "wrong", source.error, again)
        else:
            yield Finding(about, "fine", f"{len(source.tools):,} tools.")


def channel_layer() -> Finding:
    if isinstance(get_channel_layer(), MemoryLayer):
        if settings.PLANSIDE_WORKERS == "external":
            told = "in memory, so what workers do is seen only every 5 s."
            return Finding("Live updates", "wrong", told, "Set REDIS_URL.")
        return Finding("Live updates", "fine", "in memory, which serves one process.")
    if problem := channel_problem():
        return Finding("Live updates", "wrong", problem, "Start Redis, or check REDIS_URL.")
    return Finding("Live updates", "fine", f"Redis {redis_version()} answers.")


def redis_version() -> str:
    """Nothing but a word where the server does not tell."""
    from redis import Redis, RedisError

    try:
        with Redis.from_url(env.text("REDIS_URL"), socket_timeout=PATIENCE) as client:
            return str(client.info("server").get("redis_version", ""))
    except (RedisError, ValueError):
        return "(of an unknown version)"


def extras() -> Finding:
    here = [name for name, package in EXTRAS.items() if tracing.is_installed(package)]
    missing = [name for name in EXTRAS if name not in here]
    there = f"support for {', '.join(here)} is installed" if here else "none is installed"
    lacking = f"; {', '.join(missing)}: not" if missing else ""
    return Finding("Extras", "fine", f"{there}{lacking}.")


def traces() -> Finding:
    if problem := tracing.problem():
        return Finding("Traces", "wrong", problem)
    url = urlsplit(tracing.endpoint())
    shown = redacted_url(tracing.endpoint())
    try:
        port = url.port or (443 if url.scheme == "https" else 80)
        socket.create_connection((url.hostname or "", port), PATIENCE).close()
    except (OSError, ValueError):
        told = f"the collector at {shown} does not answer."
        return Finding("Traces", "wrong", told, "Start it, or check OTEL_EXPORTER_OTLP_ENDPOINT.")
    return Finding("Traces", "fine", f"go to {shown}.")
