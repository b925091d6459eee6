"""What the doctor says of home, database, workers, services and collectors."""

import json
import os
import socket
import subprocess
import sys
import time
from datetime import timedelta

import pytest
from django.utils import timezone

from agents.models import ToolSource, Turn
from console.ops import checks, health
from console.ops import tracing as console_tracing
from console.ops.doctor import findings
from tests.console.elsewhere import new_database, worker
from tests.console.serving import ROOT, Started, surroundings
from tests.world import conversation

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def home(tmp_path, settings):
    tmp_path.chmod(0o700)
    settings.PLANSIDE_HOME = tmp_path
    return tmp_path


def about(subject):
    [found] = [finding for finding in findings() if finding.about == subject]
    return found


def test_the_database_is_told_with_its_version():
    found = about("Database")
    assert found.grade == "fine"
    assert "answers and is up to date" in found.sentence and "(3." in found.sentence


def test_a_home_without_room_is_wrong(monkeypatch):
    monkeypatch.setattr(checks, "LITTLE_ROOM", 2**60)
    assert about("Home").grade == "wrong"
    assert "MB of free space left" in about("Home").sentence


def test_a_home_that_cannot_be_written_to_is_wrong(settings):
    """Not by its mode: whoever runs the tests may be root, whom no mode stops."""
    assert checks.is_writable(settings.PLANSIDE_HOME)
    assert not checks.is_writable(settings.PLANSIDE_HOME / "nowhere")


class TestTurns:
    def due_for(self, seconds):
        turn = Turn.objects.create(conversation=conversation())
        since = timezone.now() - timedelta(seconds=seconds)
        Turn.objects.filter(pk=turn.pk).update(queued_at=since)

    def test_with_nothing_to_do_all_is_well(self):
        assert about("Turns").grade == "fine"
        assert about("Turns").sentence == "run inside the server; 0 running, 0 due."

    def test_one_that_nobody_takes_is_wrong(self):
        self.due_for(90)
        found = about("Turns")
        assert (found.grade, found.advice[:5]) == ("wrong", "Start")
        assert found.sentence.startswith("one has been due for 90 s (1 due)")

    def test_one_that_is_due_since_just_now_is_fine(self):
        self.due_for(1)
        assert about("Turns").grade == "fine"

    def test_on_sqlite_nobody_can_tell_whether_the_worker_runs(self, settings):
        settings.PLANSIDE_WORKERS = "external"
        assert about("Turns").grade == "note"


def test_workers_elsewhere_need_a_live_layer_that_reaches_them(settings):
    settings.PLANSIDE_WORKERS = "external"
    assert about("Live updates").grade == "wrong"
    assert about("Live updates").advice == "Set REDIS_URL."


def test_a_service_that_could_not_be_asked_is_wrong():
    ToolSource.objects.create(name="weather", kind="openapi", url="http://x", error="It is gone.")
    ToolSource.objects.create(name="maps", kind="openapi", url="http://y", tools=[])
    assert about("Tool source weather").grade == "wrong"
    assert about("Tool source weather").sentence == "It is gone."
    assert about("Tool source maps").grade == "fine"


def test_the_extras_are_named(monkeypatch):
    assert "PostgreSQL, Redis, MCP, OpenTelemetry" in about("Extras").sentence
    monkeypatch.setitem(checks.EXTRAS, "OpenTelemetry", "opentelemetry.nowhere")
    assert about("Extras").sentence.endswith("; OpenTelemetry: not.")


def test_a_collector_is_asked_for(monkeypatch):
    assert not [finding for finding in findings() if finding.about == "Traces"]
    with socket.create_server(("127.0.0.1", 0)) as collector:
        address = f"http://user:secret@127.0.0.1:{collector.getsockname()[1]}"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        assert about("Traces").grade == "fine"
    found = about("Traces")
    assert found.grade == "wrong" and "secret" not in found.sentence
    monkeypatch.setattr(console_tracing, "PACKAGES", ("opentelemetry.nowhere",))
    assert about("Traces").sentence.endswith("make telemetry.")


def test_a_database_that_is_behind_is_told(monkeypatch):
    monkeypatch.setattr(health.Migrations, "are_applied", True)
    from django.db.migrations.recorder import MigrationRecorder

    MigrationRecorder.Migration.objects.filter(app="plans").order_by("-pk").first().delete()
    assert about("Database").grade == "note"


ELSEWHERE = ("TEST_DATABASE_URL", "TEST_REDIS_URL")


@pytest.mark.skipif(not all(map(os.environ.get, ELSEWHERE)), reason=f"{ELSEWHERE} are not set")
def test_on_many_machines_it_tells_versions_clock_and_whether_a_worker_runs(home):
    """The command itself, beside no worker and then beside one."""
    with new_database(os.environ["TEST_DATABASE_URL"]) as url:
        where = {"DATABASE_URL": url, "REDIS_URL": os.environ["TEST_REDIS_URL"]}
        external = {**where, "PLANSIDE_WORKERS": "external"}
        server = Started(home, **external)
        try:
            code, told = doctor(home, external)
            assert code == 1
            assert told["Turns"]["sentence"] == "run only in manage.py worker, and none is running."
            assert told["Database"]["sentence"].startswith("PostgreSQL (")
            assert told["Database"]["sentence"].endswith("connections at most.")
            assert told["Live updates"]["sentence"].startswith("Redis ")
            assert told["Clock"]["grade"] == "fine"
            with worker(home, **external):
                end = time.monotonic() + 20
                while (now := doctor(home, external))[0] and time.monotonic() < end:
                    pass
                assert now[1]["Turns"]["sentence"].endswith("0 due, by 1 process.")
        finally:
            server.end()


def doctor(home, environment):
    done = subprocess.run(
        [sys.executable, "manage.py", "doctor", "--json"],
        cwd=ROOT,
        env=surroundings(home) | environment,
        capture_output=True,
        text=True,
    )
    return done.returncode, {each["about"]: each for each in json.loads(done.stdout)}
