"""/healthz and /readyz."""

import asyncio
import os
import threading

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from tests.inner import OneThread, health

DATABASE = os.environ.get("TEST_DATABASE_URL", "")


@pytest.mark.django_db
def test_a_working_server_is_alive_and_ready(client):
    assert client.get("/healthz").json() == {"status": "ok"}
    ready = client.get("/readyz")
    assert (ready.status_code, ready.json()) == (200, {"status": "ready"})


@pytest.mark.django_db
def test_health_needs_no_sign_in_and_tells_no_secrets(client):
    assert client.get("/healthz").status_code == 200
    assert set(client.get("/readyz").json()) == {"status"}


@pytest.mark.django_db
def test_without_its_tables_a_server_is_alive_but_not_ready(client):
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE agents_conversation RENAME TO elsewhere")
    assert client.get("/healthz").status_code == 200
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["detail"] == "The database has no tables yet: run manage.py migrate."


@pytest.mark.django_db
@pytest.mark.sockets
def test_without_its_channel_layer_a_server_is_not_ready(client, settings):
    settings.CHANNEL_LAYERS = {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": ["redis://127.0.0.1:1/0"]},
        }
    }
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert "REDIS_URL" in answer.json()["detail"]


async def test_a_check_that_hangs_holds_one_thread_however_often_it_is_asked():
    hangs, begun = threading.Event(), []

    def check():
        begun.append(1)
        hangs.wait()
        return "late"

    thread = OneThread(check)
    asked = [asyncio.wrap_future(thread.ask()) for _ in range(5)]
    await asyncio.sleep(0)
    hangs.set()
    assert await asyncio.gather(*asked) == ["late"] * 5
    assert len(begun) == 1
    thread.executor.shutdown()


@pytest.mark.django_db
def test_a_full_disk_is_named(client, monkeypatch):
    monkeypatch.setattr(health, "LEAST_ROOM", 2**60)
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["away"]) == (503, ["disk"])


@pytest.mark.django_db
def test_a_missing_migration_is_named(client, monkeypatch):
    monkeypatch.setattr(health.Migrations, "are_applied", False)
    MigrationRecorder.Migration.objects.filter(app="plans").order_by("-pk").first().delete()
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["detail"] == "The database is not up to date: run manage.py migrate."
