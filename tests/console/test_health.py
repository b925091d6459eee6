"""/healthz and /readyz; of a real server also while its database and Redis hang."""

import asyncio
import os
import select
import shutil
import signal
import socket
import subprocess
import threading
import time
from urllib.parse import urlsplit, urlunsplit

import httpx
import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from tests.console.serving import DEADLINE, new_database
from tests.inner import OneThread, health
from tests.patience import at_most

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


class Cable:
    """A way to another server that can be cut off without a word, as a dead network is."""

    def __init__(self, host, port):
        self.there = (host, port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.passes = threading.Event()
        self.passes.set()
        self.ends = [self.listener]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                here, _ = self.listener.accept()
            except OSError:
                return
            there = socket.create_connection(self.there)
            self.ends += [here, there]
            threading.Thread(target=self.carry, args=(here, there), daemon=True).start()

    def carry(self, here, there):
        other = {here: there, there: here}
        try:
            while True:
                for end in select.select([here, there], [], [])[0]:
                    self.passes.wait()
                    if not (said := end.recv(65536)):
                        return
                    other[end].sendall(said)
        except (OSError, ValueError):
            return
        finally:
            here.close()
            there.close()

    def close(self):
        self.passes.set()
        for end in self.ends:
            end.close()


@pytest.fixture
def redis():
    """A Redis of our own, which may be stopped."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is not installed")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [program, "--port", str(port), "--bind", "127.0.0.1", "--save", ""],
        stdout=subprocess.DEVNULL,
    )
    process.url = f"redis://127.0.0.1:{port}/0"
    yield process
    process.send_signal(signal.SIGCONT)
    process.kill()
    process.wait()


def ready(server):
    """(status, what is away, seconds it took)"""
    began = time.monotonic()
    answer = httpx.get(f"{server.address}/readyz", timeout=DEADLINE)
    return answer.status_code, answer.json().get("away", []), time.monotonic() - began


def until(server, away):
    end = time.monotonic() + DEADLINE
    while (found := ready(server)[1]) != away:
        assert time.monotonic() < end, found


def test_a_redis_that_hangs_is_named_within_two_seconds(start, redis):
    server = start(REDIS_URL=redis.url)
    assert ready(server)[:2] == (200, [])
    redis.send_signal(signal.SIGSTOP)
    status, away, seconds = ready(server)
    assert (status, away) == (503, ["live updates"])
    assert seconds < at_most(2.5)
    assert httpx.get(f"{server.address}/healthz").status_code == 200
    redis.send_signal(signal.SIGCONT)
    until(server, [])


@pytest.mark.skipif(not DATABASE, reason="TEST_DATABASE_URL is not set")
def test_a_database_that_hangs_is_named_within_two_seconds_and_the_process_lives(start):
    with new_database(DATABASE) as url:
        parts = urlsplit(url)
        cable = Cable(parts.hostname, parts.port or 5432)
        try:
            user = f"{parts.username}:{parts.password}@" if parts.username else ""
            here = parts._replace(netloc=f"{user}127.0.0.1:{cable.port}")
            server = start(DATABASE_URL=urlunsplit(here))
            assert ready(server)[:2] == (200, [])
            cable.passes.clear()
            for _ in range(3):  # each waits for the one check that hangs
                status, away, seconds = ready(server)
                assert (status, away) == (503, ["database"])
                assert seconds < at_most(2.5)
            assert httpx.get(f"{server.address}/healthz", timeout=at_most(1)).status_code == 200
            cable.passes.set()
            until(server, [])
        finally:
            cable.close()


def test_a_probe_needs_no_name_of_the_servers_and_no_tls(start):
    server = start(
        PLANSIDE_ALLOWED_HOSTS="planside.example",
        PLANSIDE_METRICS_TOKEN="open-sesame",
    )
    stranger = {"Host": "10.0.0.7:8000"}
    for path in ("/healthz", "/readyz"):
        assert httpx.get(server.address + path, headers=stranger).status_code == 200
    assert httpx.get(f"{server.address}/metrics", headers=stranger).status_code == 400
    key = {**stranger, "Authorization": "Bearer open-sesame"}
    assert "planside_" in httpx.get(f"{server.address}/metrics", headers=key).text
    wrong = {**stranger, "Authorization": "Bearer wrong"}
    assert httpx.get(f"{server.address}/metrics", headers=wrong).status_code == 401


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
