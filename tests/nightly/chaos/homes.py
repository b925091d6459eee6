"""Where a chaos run takes place: a home, a database, and the processes that get killed."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg.rows import dict_row

from tests.console.serving import ROOT, free_port, surroundings

LEASE = 2  # seconds, on PostgreSQL
START = 120  # seconds until a start counts as failed: it shares the machine
READY = re.compile(rb"^Planside is ready: ", re.MULTILINE)


@dataclass
class Process:
    """One of the processes, started again and again under the same name."""

    name: str
    home: Path
    environment: dict[str, str]
    running: subprocess.Popen[bytes] | None = None
    since: float = 0

    @property
    def log(self) -> Path:
        return self.home / f"{self.name}.log"

    @property
    def is_server(self) -> bool:
        return self.name == "serve"

    @property
    def age(self) -> float:
        return time.monotonic() - self.since

    @property
    def has_said_ready(self) -> bool:
        return not self.is_server or bool(READY.search(self.said()))

    @property
    def handles_sigterm(self) -> bool:
        """A worker prints nothing when it is up; on Linux the kernel tells what it catches."""
        status = Path(f"/proc/{self.running.pid if self.running else 0}/status")
        if not status.exists():
            return self.age > 3
        caught = re.search(r"^SigCgt:\s*([0-9a-f]+)", status.read_text(), re.MULTILINE)
        return caught is not None and bool(int(caught[1], 16) >> (signal.SIGTERM - 1) & 1)

    def start(self) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self.start_of_log = log.tell()
            self.running = subprocess.Popen(
                [sys.executable, "manage.py", "serve" if self.is_server else "worker"],
                cwd=ROOT,
                env=surroundings(self.home) | self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.since = time.monotonic()

    async def until_ready(self) -> None:
        """Up: a server says so. A start that fails ends the whole run, with what it said."""
        while not (self.has_said_ready and (self.is_server or self.age > 2)):
            is_alive = self.running and self.running.poll() is None and self.age < START
            assert is_alive, f"{self.name} did not start: {self.said().decode()}"
            await asyncio.sleep(0.02)

    def said(self) -> bytes:
        """What it has printed since its last start."""
        with self.log.open("rb") as log:
            log.seek(self.start_of_log)
            return log.read()

    def kill(self) -> None:
        assert self.running
        self.running.kill()
        self.running.wait()

    async def terminate(self) -> tuple[float, int]:
        """SIGTERM: the seconds until its end, and the exit code."""
        assert self.running
        began = time.monotonic()
        self.running.send_signal(signal.SIGTERM)
        code = await asyncio.to_thread(self.running.wait, 20)
        return time.monotonic() - began, code

    def freeze(self) -> None:
        assert self.running
        self.running.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self.running
        self.running.send_signal(signal.SIGCONT)


@dataclass
class Place:
    """A home with its database and its processes."""

    title: str
    home: Path
    address: str
    processes: list[Process]
    database: str = ""  # a PostgreSQL URL, or nothing for SQLite
    rows: Any = field(default=None, repr=False)

    @property
    def server(self) -> Process:
        return self.processes[0]

    @property
    def files(self) -> Path:
        return self.home / "workspaces"

    def query(self, sql: str) -> list[dict[str, Any]]:
        """From outside, as the rows are now."""
        if self.database:
            with psycopg.connect(self.database, row_factory=dict_row) as connection:
                return list(connection.execute(sql))
        with closing(sqlite3.connect(self.home / "planside.sqlite3", timeout=20)) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(sql)]

    def end(self) -> None:
        for process in self.processes:
            if process.running and process.running.poll() is None:
                process.kill()


def place_on_sqlite(home: Path, model: str) -> Place:
    """One server, which runs the turns too."""
    port = free_port()
    server = Process("serve", home, settings(model, port))
    return Place("SQLite", home, f"http://127.0.0.1:{port}", [server])


def place_on_postgres(home: Path, model: str, database: str) -> Place:
    """A server that runs no turns, and two workers."""
    port = free_port()
    environment = settings(model, port) | {
        "DATABASE_URL": database,
        "PLANSIDE_WORKERS": "external",
        "PLANSIDE_LEASE_SECONDS": str(LEASE),
    }
    names = ("serve", "worker-1", "worker-2")
    processes = [Process(name, home, environment) for name in names]
    return Place("PostgreSQL", home, f"http://127.0.0.1:{port}", processes, database)


def settings(model: str, port: int) -> dict[str, str]:
    return {
        "OPENAI_BASE_URL": model,
        "OPENAI_API_KEY": "k",
        "PLANSIDE_MODEL": "openai/scripted",
        "PLANSIDE_PORT": str(port),
    }


def postgres_url() -> str:
    """The server to use, if one answers: TEST_DATABASE_URL, else the usual local one."""
    given = os.environ.get("TEST_DATABASE_URL", "")
    url = given or "postgres://postgres@127.0.0.1:5432/postgres"
    try:
        psycopg.connect(url, connect_timeout=3).close()
    except psycopg.OperationalError:
        if given:
            raise
        return ""
    return url


@contextmanager
def new_database(url: str) -> Iterator[str]:
    """A database of this run's own on the server at `url`."""
    name = f"planside_chaos_{os.getpid()}_{time.monotonic_ns()}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')  # a name we made
        try:
            yield urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
        finally:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def as_json(value: Any) -> Any:
    """A JSON column's value: SQLite gives its text, PostgreSQL the data."""
    return json.loads(value) if isinstance(value, str) else value
