"""Behind pgbouncer, where that is installed: no mode of it stops a start or a turn."""

import os
import shutil
import subprocess
import time
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.console.serving import DEADLINE, Script, free_port, manage, new_database, worker

PATH = f"{os.environ['PATH']}:/usr/sbin"
PGBOUNCER, DATABASE = shutil.which("pgbouncer", path=PATH), os.environ.get("TEST_DATABASE_URL", "")
pytestmark = [
    pytest.mark.skipif(not PGBOUNCER, reason="pgbouncer is not installed"),
    pytest.mark.skipif(not DATABASE, reason="TEST_DATABASE_URL is not set"),
]
SETTINGS = """[databases]
* = host={0.hostname} port={0.port} user={0.username} password={0.password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {1}
unix_socket_dir =
auth_type = any
pool_mode = {2}
default_pool_size = 50
"""
BEATS = 8  # psycopg would prepare a statement that is carried out for the sixth time


@pytest.fixture(params=["session", "transaction"])
def pooled(request, tmp_path):
    """The URL of an empty database behind a pgbouncer."""
    with new_database(DATABASE) as url:
        parts, port = urlsplit(url), free_port()
        file = tmp_path / "pgbouncer.ini"
        file.write_text(SETTINGS.format(parts, port, request.param))
        as_root = ["-u", "nobody"] if os.geteuid() == 0 else []
        process = subprocess.Popen([PGBOUNCER, "-q", *as_root, file])
        try:
            here = f"postgres://{parts.username}@127.0.0.1:{port}{parts.path}"
            wait_until_it_answers(here)
            yield here
        finally:
            process.terminate()
            process.wait(DEADLINE)


def wait_until_it_answers(url):
    until = time.monotonic() + DEADLINE
    while True:
        try:
            return psycopg.connect(url).close()
        except psycopg.OperationalError:
            assert time.monotonic() < until
            time.sleep(0.05)


def test_people_are_added_and_turns_run_and_no_lease_is_lost(pooled, start, tmp_path):
    home = tmp_path / "home"
    where = {"DATABASE_URL": pooled, "PLANSIDE_DEMO_PACE": "0", "PLANSIDE_LEASE_SECONDS": "1"}
    server = start(**where)
    with worker(home, **where) as other:
        listed = manage(home, "user", "list", DATABASE_URL=pooled)
        assert listed[0] == 0 and listed[1].startswith("owner")
        me = Script(home, **where)
        messages = me.talk(server, "hello")
        me.wait_until(server, messages, lambda found: len(found["items"]) > 1)
        time.sleep(BEATS / 3)
        other.terminate()
        assert other.communicate(timeout=DEADLINE)[1] == ""
    _, code, _, err = server.end()
    assert (code, err) == (0, "")
