"""`manage.py chain run` beside other processes of its home: its turn is nobody else's."""

import signal
import sqlite3
import threading

import pytest

from tests.console.serving import Started
from tests.fake_model import FakeModelServer, call, fails, rule, say
from tests.nightly.processes.test_plan_interrupted import Home, ended


@pytest.fixture
def answered():
    """Set when the model may answer what is asked slowly."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def home(tmp_path, answered):
    rules = [
        rule(say("Slow answer.", wait=answered), user="^slow"),
        rule(fails(503, retry_after=1.5), times=1, user="^busy"),
        rule(say("Busy answer."), user="^busy"),
        rule(call("create_plan", title="T", subtasks=["One"]), only="create_plan", results=0),
        rule(say("Here it is.")),
    ]
    with FakeModelServer({"rules": rules}) as model:
        home = Home(tmp_path / "home", model)
        home.manage("user", "list")
        yield home
        for process in home.started:
            process.kill()
            process.communicate()


def planned(home):
    code, _, err = home.manage("plan", "new", "something else")
    assert (code, err) == (0, "")


def another_chain(home):
    assert home.manage("chain", "run", "quick question")[:2] == (0, "Here it is.\n")


def served(home):
    server = Started(home.path, **home.named)
    server.end()


def turns(home):
    with sqlite3.connect(home.path / "planside.sqlite3") as db:
        return db.execute("SELECT state, config FROM agents_turn ORDER BY id").fetchall()


@pytest.mark.parametrize("beside", [planned, another_chain, served])
def test_a_chain_that_runs_is_left_alone_by_whatever_starts_beside_it(home, answered, beside):
    process = home.start("chain", "run", "slow question", asks=1)
    beside(home)
    answered.set()
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "Slow answer.\n", "")
    asked = [str(request["messages"]) for request in home.model.requests]
    assert sum("slow question" in each for each in asked) == 1, "asked once, by one process"
    assert list((home.path / ".commands").iterdir()) == []


def test_a_chain_whose_command_was_killed_is_stopped_and_never_taken_up(home, answered):
    process = home.start("chain", "run", "slow question", asks=1)
    process.kill()
    process.communicate()
    answered.set()
    asked = len(home.model.requests)
    served(home)
    assert [state for state, _ in turns(home)] == ["stopped"]
    assert len(home.model.requests) == asked
    assert list((home.path / ".commands").iterdir()) == []


def test_a_chain_that_waits_for_a_busy_model_is_not_taken_by_the_server(home):
    server = Started(home.path, **home.named)
    try:
        process = home.start("chain", "run", "busy question", asks=1)
        out, err = process.communicate(timeout=60)
    finally:
        server.end()
    assert (process.returncode, out, err) == (0, "Busy answer.\n", "")
    assert len(home.model.requests) == 2


def test_a_chain_that_is_interrupted_is_stopped(home):
    process = home.start("chain", "run", "slow question", asks=1)
    code, out, err, _ = ended(process, signal.SIGINT)
    assert (code, out, err) == (130, "", "Interrupted.")
    assert [state for state, _ in turns(home)] == ["stopped"]
    assert list((home.path / ".commands").iterdir()) == []
