"""The claim on PostgreSQL, where another worker may be a statement ahead.

Run with PLANSIDE_TEST_ON=postgres; on SQLite there is one worker.
"""

import threading

import psycopg
import pytest
from django.db import connection

from agents.models import Turn
from tests.inner import claim, due, put_back_orphans
from tests.patience import until
from tests.world import conversation

pytestmark = [
    pytest.mark.both_databases,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(
        connection.vendor != "postgresql", reason="PLANSIDE_TEST_ON is not postgres"
    ),
]


@pytest.fixture
def elsewhere():
    """A session of another process."""
    names = ("dbname", "host", "port", "user", "password")
    params = connection.get_connection_params()
    with psycopg.connect(**{name: params[name] for name in names if name in params}) as session:
        yield session


@pytest.fixture(autouse=True)
def _who_waits_all_the_same_fails(elsewhere):
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '5s'")


def queued(c, **values):
    return Turn.objects.create(conversation=c, **values)


def test_a_lane_taken_a_moment_before_is_simply_not_ours(elsewhere):
    """An older turn is tried again and claimed elsewhere while we claim the newer one."""
    c, free = conversation(), conversation()
    older, newer = queued(c, state="failed"), queued(c)
    other = queued(free)
    elsewhere.execute("UPDATE agents_turn SET state = 'running' WHERE id = %s", [older.pk])
    committing = threading.Thread(target=commit_once_somebody_waits, args=[elsewhere])
    committing.start()
    assert [turn.pk for turn in claim(10)] == [other.pk], "what is free is claimed all the same"
    committing.join()
    newer.refresh_from_db()
    assert (newer.state, newer.epoch) == ("queued", 0)


def commit_once_somebody_waits(session):
    waits = "SELECT 1 FROM pg_locks WHERE NOT granted"
    try:
        until(lambda: session.execute(waits).fetchone())
    finally:
        session.commit()


def test_who_writes_to_the_conversation_is_not_waited_for(elsewhere):
    c = conversation()
    turn = queued(c)
    elsewhere.execute("SELECT 1 FROM agents_conversation WHERE id = %s FOR UPDATE", [c.pk])
    assert claim(10) == []
    assert due().exists()
    elsewhere.rollback()
    assert [one.pk for one in claim(10)] == [turn.pk]


def test_an_orphan_that_its_frozen_worker_holds_is_left_for_the_next_look(elsewhere):
    queued(conversation())
    [turn] = claim(1)
    elsewhere.execute("UPDATE agents_turn SET lease_until = now() - interval '1 s'")
    elsewhere.commit()
    elsewhere.execute("SELECT 1 FROM agents_turn WHERE id = %s FOR UPDATE", [turn.pk])
    put_back_orphans(all_of_them=False)
    turn.refresh_from_db()
    assert turn.state == "running"
    elsewhere.rollback()
    put_back_orphans(all_of_them=False)
    turn.refresh_from_db()
    assert turn.state == "queued"
