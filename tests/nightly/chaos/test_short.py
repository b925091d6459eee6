"""The chaos run in short, as part of the suite; `make chaos` is the long one."""

import os

import pytest

from tests.nightly.chaos.run import chaos, on_postgres, on_sqlite

needs_postgres = pytest.mark.skipif(
    not os.environ.get("TEST_DATABASE_URL"), reason="TEST_DATABASE_URL is not set"
)


def test_a_server_killed_again_and_again_loses_and_repeats_nothing(tmp_path):
    with on_sqlite(tmp_path) as place:
        account = chaos(place, kills=8, seed=5, at_once=2)
    assert account.found.all == [], account.table
    assert account.kills.count("KILL") == 8


@needs_postgres
def test_servers_and_workers_killed_at_random_lose_and_repeat_nothing(tmp_path):
    with on_postgres(tmp_path) as place:
        account = chaos(place, kills=6, seed=6, at_once=2)
    assert account.found.all == [], account.table
    assert account.kills.count("KILL") == 6
