"""The real command on PostgreSQL and Redis, where TEST_DATABASE_URL and TEST_REDIS_URL name them."""

import os
import secrets
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit, urlunsplit

import httpx
import pytest

from tests.console.serving import Started

DATABASE = os.environ.get("TEST_DATABASE_URL", "")
REDIS = os.environ.get("TEST_REDIS_URL", "")


@pytest.fixture
def database():
    """The URL of an empty database that is gone afterwards."""
    psycopg = pytest.importorskip("psycopg")
    name = f"planside_test_{secrets.token_hex(4)}"
    with psycopg.connect(DATABASE, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        yield urlunsplit(urlsplit(DATABASE)._replace(path=f"/{name}"))
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.skipif(not DATABASE, reason="TEST_DATABASE_URL is not set")
def test_several_servers_start_at_once_on_one_empty_database(tmp_path, database):
    def start(n):
        return Started(tmp_path / str(n), DATABASE_URL=database)

    with ThreadPoolExecutor() as threads:
        servers = list(threads.map(start, range(2)))
    for server in servers:
        assert httpx.get(f"{server.address}/readyz").status_code == 200
    for server in servers:
        seconds, code, _, err = server.end()
        assert (code, err) == (0, "")
        assert seconds < 2


@pytest.mark.skipif(not REDIS, reason="TEST_REDIS_URL is not set")
def test_with_redis_a_server_is_ready_and_ends_as_fast(tmp_path):
    server = Started(tmp_path / "home", REDIS_URL=REDIS)
    assert httpx.get(f"{server.address}/readyz").status_code == 200
    seconds, code, _, err = server.end()
    assert (code, err) == (0, "")
    assert seconds < 2
