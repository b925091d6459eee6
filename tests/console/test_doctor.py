import io
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from agents.config.store import change_agent, create_agent
from agents.errors import Conflict
from agents.models import Provider
from console.auth.owner import local_owner
from console.ops.doctor import findings

pytestmark = pytest.mark.django_db


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
        keys: list[str | None] = []

        def do_GET(self):
            self.keys.append(self.headers["Authorization"])
            self.send_response(self.status)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
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


def test_a_broken_agent_is_told_with_its_line(home):
    create_agent("writer", {})
    (home / "workspaces" / "writer" / "agent.json").write_text("{\n  'id'")
    found = about("Agent writer")
    assert found.grade == "wrong"
    assert found.sentence.startswith("Line 2")


def test_an_unknown_provider_is_wrong():
    create_agent("writer", {"provider": "elsewhere", "model": "m"})
    assert about("Model provider elsewhere").grade == "wrong"


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
def test_on_a_server_the_advice_makes_the_first_admin(settings, monkeypatch, was_local):
    """A server makes nobody by itself: the advice named a user who was not there."""
    settings.PLANSIDE_IS_LOCAL = False
    if was_local:
        local_owner()
    command = about("Sign-in").advice.removeprefix("Run: manage.py ").replace("NAME", "alice")
    monkeypatch.setattr(sys, "stdin", io.StringIO("correct horse\n"))
    call_command(*command.split())
    assert about("Sign-in").grade == "fine"
    assert User.objects.get(username="alice").is_superuser


def test_the_command_prints_a_line_for_each_and_fails_when_something_is_wrong(capsys, home):
    call_command("doctor")
    assert capsys.readouterr().out.count("\n") == len(findings())
    create_agent("writer", {})
    change_agent("writer", {"provider": "elsewhere"})
    with pytest.raises(Conflict, match="1 of"):
        call_command("doctor")
    assert "FIX" in capsys.readouterr().out


def test_the_command_speaks_json(capsys):
    call_command("doctor", "--json")
    told = json.loads(capsys.readouterr().out)
    assert set(told[0]) == {"about", "grade", "sentence", "advice"}
