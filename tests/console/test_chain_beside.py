"""`manage.py chain run` beside other processes of its home: its turn is nobody else's."""

import asyncio
import signal

import pytest
from django.db import connection

from agents.models import Turn
from tests.cli import run_command
from tests.fake_model import call, rule, say, silent
from tests.inner import folder, local_owner, put_back_orphans
from tests.world import conversation, drive

pytestmark = pytest.mark.django_db(transaction=True)


class Meanwhile(asyncio.Event):
    """Who waits for it first waits until this was done on a thread, as beside the process."""

    def __init__(self, action):
        super().__init__()
        self.action = action

    async def wait(self):
        if not self.is_set():
            self.set()  # a turn that is wrongly run anew by what is done goes on at once
            await asyncio.to_thread(self.action)
        return True


class CtrlC(asyncio.Event):
    """Pressed when somebody waits for it; it is never set."""

    async def wait(self):
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        signal.raise_signal(signal.SIGINT)
        return await super().wait()


@pytest.fixture
def ask(model):
    """A model that makes this happen while it is asked slowly."""

    def during(event):
        return model(
            rules=[
                rule(say("Slow answer.", wait=event), user="^slow"),
                rule(
                    call("create_plan", title="T", subtasks=["One"]), only="create_plan", results=0
                ),
                rule(say("Here it is.")),
            ]
        )

    return during


def planned():
    code, _, err = run_command("plan", "new", "something else")
    assert (code, err) == (0, "")


def another_chain():
    assert run_command("chain", "run", "quick question")[:2] == (0, "Here it is.\n")


def served():
    """What a server does first, and with what is due."""
    put_back_orphans(all_of_them=True)
    drive()
    connection.close()


@pytest.mark.parametrize("beside", [planned, another_chain, served])
def test_a_chain_that_runs_is_left_alone_by_whatever_starts_beside_it(cli, ask, beside):
    asked = ask(Meanwhile(beside))
    assert cli("chain", "run", "slow question") == (0, "Slow answer.\n", "")
    questions = [str(request["messages"]) for request in asked.requests]
    assert sum("slow question" in each for each in questions) == 1, "asked once, by one process"
    assert list(folder().iterdir()) == []


def test_a_chain_whose_command_was_killed_is_stopped_and_never_taken_up(cli, ask):
    asked = ask(silent())
    cli("user", "list")
    c = conversation(local_owner().username)
    turn = Turn.objects.create(conversation=c, state="running", epoch=1)
    folder().mkdir(mode=0o700)
    (folder() / f"{turn.pk}.lock").touch()  # nobody holds it any more
    served()
    assert list(Turn.objects.values_list("state", flat=True)) == ["stopped"]
    assert asked.requests == []
    assert list(folder().iterdir()) == []


def test_a_chain_that_is_interrupted_is_stopped(cli, ask):
    ask(CtrlC())
    assert cli("chain", "run", "slow question") == (130, "", "Interrupted.\n")
    assert list(Turn.objects.values_list("state", flat=True)) == ["stopped"]
    assert list(folder().iterdir()) == []
