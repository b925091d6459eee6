"""A database on the PostgreSQL server of the tests, and a worker beside the server."""

import secrets
import subprocess
import sys
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

import psycopg

from tests.console.serving import DEADLINE, ROOT, surroundings


@contextmanager
def new_database(server_url):
    """The URL of an empty database that is gone afterwards."""
    name = f"planside_test_{secrets.token_hex(4)}"
    with psycopg.connect(server_url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
    try:
        yield urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))
    finally:
        with psycopg.connect(server_url, autocommit=True) as server:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def worker(home, **environment):
    process = subprocess.Popen(
        [sys.executable, "manage.py", "worker"],
        cwd=ROOT,
        env=surroundings(home) | environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=DEADLINE)
