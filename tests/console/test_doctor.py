"""What the doctor says of home, database, workers, services, collectors, people and agents."""

import json
import socket
import threading
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from agents.models import Provider, ToolSource, Turn
from plans.models import Subtask
from tests.inner import change_agent, create_agent, doctor, findings, health, local_owner
from tests.inner import ops_tracing as console_tracing
from tests.world import conversation, plan_of, proposed

pytestmark = [pytest.mark.django_db, pytest.mark.sockets]


@pytest.fixture(autouse=True)
def home(tmp_path, settings):
    tmp_path.chmod(0o700)
    settings.PLANSIDE_HOME = tmp_path
    return tmp_path


@pytest.fixture
def model_server():
    """A server that answers each request with the status it was told, and remembers the keys."""

    class Answer(BaseHTTPRequestHandler):
        status = 200
        models: tuple[str, ...] = ("m",)
        keys: list[str | None] = []

        def do_GET(self):
            self.keys.append(self.headers["Authorization"])
            self.send_response(self.status)
            self.end_headers()
            listed = [{"id": name} for name in self.models]
            self.wfile.write(json.dumps({"data": listed}).encode())

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    Answer.address = f"http://127.0.0.1:{server.server_port}/v1"
    yield Answer
    server.shutdown()
    server.server_close()


def about(subject):
    [found] = [finding for finding in findings() if finding.about == subject]
    return found


def test_a_fresh_home_has_nothing_to_fix():
    assert {finding.grade for finding in findings()} <= {"fine", "note"}


def test_a_home_that_others_can_read_is_wrong(home):
    home.chmod(0o755)
    assert about("Home").grade == "wrong"
    assert about("Home").advice == f"Run: chmod -R go= {home}"
    assert f"chmod -R go= {home}" in about("Home").advice


def test_the_demo_model_is_named_for_what_it_is():
    create_agent("writer", {"provider": "demo", "model": "docs"})
    assert about("Agent writer").grade == "fine"
    assert about("Model provider demo").sentence == "scripted and offline."


def test_who_may_run_commands_is_told_with_what_they_reach():
    create_agent("writer", {"provider": "demo", "model": "docs", "tools": {"shell": "off"}})
    assert "Shell" not in {finding.about for finding in findings()}
    change_agent("writer", {"tools": {"shell": "ask"}})
    told = about("Shell")
    assert told.sentence.startswith("writer may run commands, and they reach what Planside's user")
    assert told.grade == "note" and "docs/deployment.md" in told.advice


def test_a_broken_agent_is_told_with_its_line(home):
    create_agent("writer", {})
    (home / "workspaces" / "writer" / "agent.json").write_text("{\n  'id'")
    found = about("Agent writer")
    assert found.grade == "wrong"
    assert found.sentence.startswith("Line 2")


def test_an_unknown_provider_is_wrong():
    create_agent("writer", {"provider": "elsewhere", "model": "m"})
    found = about("Agent writer")
    assert found.grade == "wrong"
    assert found.sentence.startswith("There is no provider “elsewhere”")


def test_a_model_that_its_provider_does_not_list_is_wrong(model_server):
    Provider.objects.create(name="mine", base_url=model_server.address)
    create_agent("writer", {"provider": "mine", "model": "m"})
    assert about("Agent writer").grade == "fine"
    change_agent("writer", {"model": "mm"})
    found = about("Agent writer")
    assert found.grade == "wrong"
    assert found.sentence == "There is no model mm at mine: choose another."


def test_a_provider_without_its_key_is_wrong_before_anything_is_sent():
    create_agent("writer", {"provider": "mistral", "model": "m"})
    found = about("Model provider mistral")
    assert (found.grade, found.sentence) == (
        "wrong",
        "No key for Mistral: set MISTRAL_API_KEY or enter it in Settings > Models.",
    )


@pytest.mark.parametrize(
    ("status", "grade", "words"),
    [
        (200, "fine", "answers"),
        (401, "wrong", "refuses the key"),
        (403, "wrong", "refuses the key"),
        (404, "note", "answered 404"),
        (500, "note", "answered 500"),
    ],
)
def test_a_model_server_is_asked(model_server, status, grade, words):
    model_server.status = status
    Provider.objects.create(name="mine", base_url=model_server.address, key="secret")
    create_agent("writer", {"provider": "mine", "model": "m"})
    found = about("Model provider mine")
    assert found.grade == grade
    assert words in found.sentence
    assert model_server.keys[-1] == "Bearer secret"
    assert "secret" not in found.sentence + found.advice


@pytest.mark.parametrize("address", ["http://127.0.0.1:1/v1", "nonsense", "http://[/"])
def test_a_model_server_that_is_not_there_is_wrong(address):
    Provider.objects.create(name="mine", base_url=address)
    create_agent("writer", {"provider": "mine", "model": "m"})
    assert about("Model provider mine").grade == "wrong"


def test_a_provider_of_two_agents_is_asked_once(model_server):
    Provider.objects.create(name="mine", base_url=model_server.address)
    model_server.keys.clear()
    for agent in ("one", "two"):
        create_agent(agent, {"provider": "mine", "model": "m"})
    findings()
    assert len(model_server.keys) == 1


def test_on_a_server_somebody_needs_a_password(settings):
    settings.PLANSIDE_IS_LOCAL = False
    local_owner()
    assert about("Sign-in").grade == "wrong"
    User.objects.create_user("alice", password="correct horse")
    assert about("Sign-in").grade == "fine"


@pytest.mark.parametrize("was_local", [False, True], ids=["a new server", "once a laptop"])
def test_on_a_server_the_advice_makes_the_first_admin(settings, cli, was_local):
    """A server makes nobody by itself: the advice named a user who was not there."""
    settings.PLANSIDE_IS_LOCAL = False
    if was_local:
        local_owner()
    command = about("Sign-in").advice.removeprefix("Run: manage.py ").replace("NAME", "alice")
    assert cli(*command.split(), stdin="correct horse\n").code == 0
    assert about("Sign-in").grade == "fine"
    assert User.objects.get(username="alice").is_superuser


def test_the_command_prints_a_line_for_each_and_fails_when_something_is_wrong(cli):
    code, out, err = cli("doctor")
    assert (code, err) == (0, "")
    assert out.count("\n") == len(findings())
    create_agent("writer", {})
    change_agent("writer", {"provider": "elsewhere"})
    code, out, err = cli("doctor")
    assert code == 1 and err.startswith("1 of") and "FIX" in out


def test_the_command_speaks_json(cli):
    told = json.loads(cli("doctor", "--json").out)
    assert set(told[0]) == {"about", "grade", "sentence", "advice"}


def test_the_database_is_told_with_its_version():
    found = about("Database")
    assert found.grade == "fine"
    assert "answers and is up to date" in found.sentence and "(3." in found.sentence


def test_a_home_without_room_is_wrong(monkeypatch):
    monkeypatch.setattr(doctor, "LITTLE_ROOM", 2**60)
    assert about("Home").grade == "wrong"
    assert "MB of free space left" in about("Home").sentence


def test_a_home_that_cannot_be_written_to_is_wrong(settings, monkeypatch):
    """Not by its mode: whoever runs the tests may be root, whom no mode stops."""

    def refuse(**_):
        raise PermissionError

    assert about("Home").grade == "fine"
    monkeypatch.setattr(doctor.tempfile, "TemporaryFile", refuse)
    assert about("Home").sentence == f"{settings.PLANSIDE_HOME} cannot be written to."


class TestTurns:
    def due_for(self, seconds):
        turn = Turn.objects.create(conversation=conversation())
        since = timezone.now() - timedelta(seconds=seconds)
        Turn.objects.filter(pk=turn.pk).update(queued_at=since)

    def test_with_nothing_to_do_all_is_well(self):
        assert about("Turns").grade == "fine"
        assert about("Turns").sentence == "run inside the server; 0 running, 0 due."

    def test_those_that_wait_are_counted_apart(self):
        waits = Turn.objects.create(conversation=conversation())
        later = Turn.objects.create(conversation=conversation())
        Turn.objects.filter(pk=waits.pk).update(state="waiting", waiting_for="question")
        Turn.objects.filter(pk=later.pk).update(not_before=timezone.now() + timedelta(seconds=30))
        counts = "0 running, 0 due, 1 waiting, 1 not due yet"
        assert about("Turns").sentence == f"run inside the server; {counts}."

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


def test_a_source_of_tools_is_asked_and_a_dead_one_is_wrong(model_server):
    document = {"openapi": "3.0.0", "info": {}, "paths": {"/x": {"get": {"operationId": "look"}}}}
    alive, dead = model_server.address, "http://127.0.0.1:9"
    for name, url in (("maps", alive), ("weather", dead)):
        ToolSource.objects.create(name=name, kind="openapi", url=url, spec=document)
    ToolSource.objects.create(name="gone", kind="openapi", url=dead, tools=[])
    told = {found.about: found for found in findings()}
    assert told["Tool source maps"].sentence == "answers, 1 tools."
    assert told["Tool source weather"].grade == "wrong"
    assert told["Tool source weather"].sentence == "http://127.0.0.1:9 does not answer."
    assert told["Tool source gone"].grade == "wrong"


def test_an_operation_that_is_not_usable_is_named_once(model_server):
    paths = {"/x": {"get": {"operationId": "look"}}, "/m/{id}": {"get": {"operationId": "read"}}}
    document = {"openapi": "3.0.0", "info": {}, "paths": paths}
    ToolSource.objects.create(name="maps", kind="openapi", url=model_server.address, spec=document)
    assert about("Tool source maps").sentence.count("GET /m/{id}") == 1


def test_the_extras_are_named(monkeypatch):
    assert "PostgreSQL, Redis, MCP, OpenTelemetry" in about("Extras").sentence
    monkeypatch.setitem(doctor.EXTRAS, "OpenTelemetry", "opentelemetry.nowhere")
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


def test_a_pattern_that_was_saved_before_and_cannot_be_matched_now_is_named():
    c = proposed("Read", "Write")
    named = f"Plan {plan_of(c).pk}, check c1 of s2"
    assert named not in [each.about for each in findings()]
    check = {"key": "c1", "kind": "file", "path": "a", "matches": "a(?=b)"}
    Subtask.objects.filter(plan__conversation=c, key="s2").update(checks=[check])
    assert about(named).sentence == "its pattern a(?=b) is none of RE2."
