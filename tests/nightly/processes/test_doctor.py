"""The doctor beside real servers and workers on PostgreSQL and Redis."""

import json
import os
import time

import pytest

from tests.console.serving import Started, command, new_database, worker


@pytest.fixture
def home(tmp_path):
    tmp_path.chmod(0o700)
    return tmp_path


ELSEWHERE = ("TEST_DATABASE_URL", "TEST_REDIS_URL")


@pytest.mark.skipif(not all(map(os.environ.get, ELSEWHERE)), reason=f"{ELSEWHERE} are not set")
def test_on_many_machines_it_tells_versions_clock_and_whether_a_worker_runs(home):
    """The command itself, beside no worker and then beside one."""
    with new_database(os.environ["TEST_DATABASE_URL"]) as url:
        where = {"DATABASE_URL": url, "REDIS_URL": os.environ["TEST_REDIS_URL"]}
        external = {**where, "PLANSIDE_WORKERS": "external"}
        server = Started(home, **external)
        try:
            code, told = run_doctor(home, external)
            assert code == 1
            assert told["Turns"]["sentence"] == "run only in manage.py worker, and none is running."
            assert told["Database"]["sentence"].startswith("PostgreSQL (")
            assert told["Database"]["sentence"].endswith("connections at most.")
            assert told["Live updates"]["sentence"].startswith("Redis ")
            assert told["Clock"]["grade"] == "fine"
            with worker(home, **external):
                end = time.monotonic() + 60
                while (now := run_doctor(home, external))[0] and time.monotonic() < end:
                    pass
                assert now[1]["Turns"]["sentence"].endswith("0 due, by 1 process.")
        finally:
            server.end()


def run_doctor(home, environment):
    done = command(home, "doctor", "--json", **environment)
    return done.returncode, {each["about"]: each for each in json.loads(done.stdout)}
