"""`manage.py plan …` told to end: one sentence, and the work is stopped or left to the server."""

import asyncio
import json
import os
import signal
import threading
from contextlib import contextmanager, nullcontext

import pytest
from django.db import connection

from plans import actions
from plans.models import Plan
from tests.fake_model import call, rule, say, silent
from tests.inner import as_command, claim, home_lock
from tests.patience import until

HANGING = "the second one"


class Pressed(asyncio.Event):
    """Never set: whoever waits for it has this signal sent to the process meanwhile."""

    def __init__(self, number):
        super().__init__()
        self.number = number

    async def wait(self):
        assert listens(), "the command would die of it without a word"
        signal.raise_signal(self.number)
        return await super().wait()


def listens():
    """The command takes SIGTERM itself, and so SIGINT, which it takes first."""
    return signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL


def rules(until):
    """A plan whose first subtask is done at once, and in whose second one this is waited for."""
    planned = call("create_plan", title="T", subtasks=["One", HANGING])
    is_second = f"Your subtask is s2: {HANGING}"
    return [
        rule(silent("Let me think", until), user="plan for ever"),
        rule(planned, only="create_plan", results=0),
        rule(silent("Working", until), offered="finish_subtask", last=is_second),
        rule(call("finish_subtask", outcome="done"), offered="finish_subtask"),
        rule(say("Here it is.")),
    ]


@pytest.fixture
def asked(model):
    return model(rules=rules(Pressed(signal.SIGINT)))


@pytest.fixture
def approved(cli, asked):
    """The number of such a plan that has got its yes."""
    assert cli("plan", "new", "two things").code == 0
    assert cli("plan", "approve", "--version", "1").code == 0
    return Plan.objects.get().pk


def shown(cli, plan):
    return json.loads(cli("plan", "show", plan, "--json").out)


def sentence(err):
    assert err.count("\n") == 1
    return err.strip()


def test_a_run_that_is_interrupted_is_stopped_and_no_other_command_takes_it_up(
    cli, asked, approved
):
    code, out, err = cli("plan", "run", "--version", "1", approved)
    assert code == 130
    again = f"What was begun is to do again: `plan run {approved}` goes on from there."
    assert sentence(err) == f"Stopped. {again}"
    assert out == "x s1  One\n", "each subtask is printed when it is settled"
    plan = shown(cli, approved)
    assert (plan["run"], [s["state"] for s in plan["subtasks"]]) == ("idle", ["done", "todo"])
    before = len(asked.requests)
    assert cli("plan", "new", "two other things").code == 0
    assert len(asked.requests) == before + 2, "only what the other plan needs"
    assert shown(cli, approved)["subtasks"] == plan["subtasks"]

    code, out, _ = cli("plan", "skip", "s2", approved)
    plan = shown(cli, approved)
    assert (code, plan["state"], plan["run"]) == (0, "done", "idle")
    assert "Here it is." in out, "the last one's skipping is seen through to the plan's end"


def taken():
    """Somebody has the turn of the plan that runs, and is at its first subtask."""
    [turn] = claim(5)
    actions.begin_attempt(turn)


def test_a_command_that_was_killed_leaves_nothing_to_an_unrelated_one(cli, asked, approved):
    actions.run_plan(Plan.objects.get(), "owner")
    taken()
    before = len(asked.requests)
    assert cli("plan", "new", "two other things").code == 0
    assert len(asked.requests) == before + 2
    _, _, err = cli("plan", "show", approved)
    assert err.strip() == f"Nobody runs it now: `plan run {approved}` goes on."
    assert cli("plan", "run", "--version", "1", approved).code == 130


@contextmanager
def another_process(lock, act):
    """Has the home; does this as soon as a command waits for it."""
    has_it = threading.Event()

    def live():
        with home_lock(), lock():
            has_it.set()
            until(listens)
            act()
        connection.close()

    thread = threading.Thread(target=live)
    thread.start()
    has_it.wait(60)
    yield
    thread.join()


def test_with_a_server_the_work_is_left_to_it(cli, approved):
    def take_it_and_see_ctrl_c():
        taken()
        os.kill(os.getpid(), signal.SIGINT)
        until(lambda: not listens())

    with another_process(nullcontext, take_it_and_see_ctrl_c):
        code, _, err = cli("plan", "run", "--version", "1", approved)
    assert code == 130
    goes_on = f"Planside goes on with it. `plan show {approved}` says how far it is"
    assert sentence(err).startswith(goes_on)
    plan = shown(cli, approved)
    assert plan["run"] == "running"
    assert plan["subtasks"][0]["state"] == "in_progress"


def test_asking_for_a_plan_ends_when_the_command_does(cli, model):
    model(rules=rules(Pressed(signal.SIGTERM)))
    code, _, err = cli("plan", "new", "plan for ever")
    assert (code, sentence(err)) == (143, "Stopped. No plan was made.")
    assert cli("plan", "list").out == ""


def test_a_reader_that_goes_away_ends_the_run_without_a_word(cli, approved, model):
    model(rules=rules("forever"))
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as pipe:
        assert cli("plan", "run", "--version", "1", approved, stdout=pipe) == (
            128 + signal.SIGPIPE,
            "",
            "",
        )
    assert shown(cli, approved)["run"] == "idle"


def test_a_command_does_its_own_work_when_another_one_has_ended(cli, asked, approved):
    before = len(asked.requests)
    with another_process(as_command, lambda: None):
        assert cli("plan", "new", "two other things")[::2] == (0, "")
    assert len(asked.requests) == before + 2
