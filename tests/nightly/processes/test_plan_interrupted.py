"""`manage.py plan …` told to end: one sentence, and the work is stopped or left to the server."""

import json
import signal
import subprocess
import sys
import time

import pytest

from tests.console.serving import ROOT, Started, manage, surroundings
from tests.fake_model import FakeModelServer, call, rule, say, silent

HANGING = "the second one"
RULES = [
    rule(silent("Let me think"), user="plan for ever"),
    rule(call("create_plan", title="T", subtasks=["One", HANGING]), only="create_plan", results=0),
    rule(silent("Working"), offered="finish_subtask", last=f"Your subtask is s2: {HANGING}"),
    rule(call("finish_subtask", outcome="done"), offered="finish_subtask"),
    rule(say("Here it is.")),
]


@pytest.fixture
def home(tmp_path):
    """A plan whose first subtask is done at once, and whose second one never ends."""
    with FakeModelServer({"rules": RULES}) as model:
        home = Home(tmp_path / "home", model)
        yield home
        for process in home.started:
            process.kill()
            process.wait()


class Home:
    def __init__(self, path, model):
        self.path, self.model = path, model
        self.named = {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "k"}
        self.named |= {"PLANSIDE_MODEL": "openai/m"}
        self.started = []

    def manage(self, *words):
        return manage(self.path, *words, **self.named)

    def approved(self):
        assert self.manage("plan", "new", "two things")[0] == 0
        assert self.manage("plan", "approve", "--version", "1")[0] == 0
        return self

    def plan(self):
        return json.loads(self.manage("plan", "show", "1", "--json")[1])

    def start(self, *words, asks):
        """A command in the background, when the model has been asked as often as that."""
        before = len(self.model.requests)
        process = subprocess.Popen(
            [sys.executable, "manage.py", *words],
            cwd=ROOT,
            env=surroundings(self.path) | self.named,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        end = time.monotonic() + 60
        while len(self.model.requests) < before + asks:
            assert time.monotonic() < end and process.poll() is None, process.communicate()
            time.sleep(0.02)
        return process


def ended(process, how):
    """(exit code, stdout, stderr, seconds)"""
    began = time.monotonic()
    process.send_signal(how)
    out, err = process.communicate(timeout=60)
    assert "Traceback" not in err, err
    assert err.count("\n") == 1, err
    return process.returncode, out, err.strip(), time.monotonic() - began


def test_a_run_that_is_interrupted_is_stopped_and_no_other_command_takes_it_up(home):
    process = home.approved().start("plan", "run", "--version", "1", "1", asks=2)
    code, out, err, _ = ended(process, signal.SIGINT)
    assert code == 130
    assert err == "Stopped. What was begun is to do again: `plan run 1` goes on from there."
    assert out == "x s1  One\n", "each subtask is printed when it is settled"
    plan = home.plan()
    assert (plan["run"], [s["state"] for s in plan["subtasks"]]) == ("idle", ["done", "todo"])
    asked = len(home.model.requests)
    assert home.manage("plan", "new", "two other things")[0] == 0
    assert len(home.model.requests) == asked + 2, "only what the other plan needs"
    assert home.plan()["subtasks"] == plan["subtasks"]

    code, out, _ = home.manage("plan", "skip", "s2", "1")
    assert (code, home.plan()["state"], home.plan()["run"]) == (0, "done", "idle")
    assert "Here it is." in out, "the last one's skipping is seen through to the plan's end"


def test_a_command_that_was_killed_leaves_nothing_to_an_unrelated_one(home):
    process = home.approved().start("plan", "run", "--version", "1", "1", asks=2)
    process.kill()
    process.communicate()
    asked = len(home.model.requests)
    assert home.manage("plan", "new", "two other things")[0] == 0
    assert len(home.model.requests) == asked + 2
    _, _, err = home.manage("plan", "show", "1")
    assert err.strip() == "Nobody runs it now: `plan run 1` goes on."
    again = home.start("plan", "run", "--version", "1", "1", asks=1)
    assert ended(again, signal.SIGINT)[0] == 130


def test_with_a_server_the_work_is_left_to_it(home):
    home.approved()
    server = Started(home.path, **home.named)
    try:
        process = home.start("plan", "run", "--version", "1", "1", asks=2)
        code, _, err, _ = ended(process, signal.SIGINT)
        assert code == 130
        assert err.startswith("Planside goes on with it. `plan show 1` says how far it is")
        plan = home.plan()
        assert plan["run"] == "running"
        assert plan["subtasks"][1]["state"] == "in_progress"
    finally:
        server.end()


def test_asking_for_a_plan_ends_when_the_command_does(home):
    process = home.start("plan", "new", "plan for ever", asks=1)
    code, _, err, _ = ended(process, signal.SIGTERM)
    assert (code, err) == (143, "Stopped. No plan was made.")
    assert home.manage("plan", "list")[1] == ""


def test_a_reader_that_goes_away_ends_the_run_without_a_word(home):
    process = home.approved().start("plan", "run", "--version", "1", "1", asks=1)
    process.stdout.close()
    process.wait(timeout=60)
    assert process.returncode == 128 + signal.SIGPIPE
    with process.stderr as said:
        assert "Traceback" not in said.read()
    assert home.plan()["run"] == "idle"


def test_two_commands_at_once_each_do_their_own_work(home):
    home.approved()
    first = home.start("plan", "run", "--version", "1", "1", asks=2)
    asked = len(home.model.requests)
    second = home.start("plan", "new", "two other things", asks=0)
    time.sleep(0.5)
    assert ended(first, signal.SIGINT)[0] == 130
    _, err = second.communicate(timeout=60)
    assert (second.returncode, err) == (0, "")
    assert len(home.model.requests) == asked + 2
