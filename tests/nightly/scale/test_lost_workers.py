"""A worker is killed, frozen or told to leave in mid-work: the other goes on, nothing twice."""

import signal
import time

import psycopg
import pytest

from tests.console.serving import is_done
from tests.nightly.scale.story import HALF
from tests.nightly.scale.team import LEASE
from tests.patience import at_most

RUNNING = "SELECT epoch FROM agents_turn WHERE conversation_id = %s AND state = 'running'"
TAKEN_AGAIN = (
    "SELECT 1 FROM agents_turn WHERE conversation_id = %s AND epoch > 1 AND state <> 'queued'"
)


@pytest.fixture
def first_alone(team):
    """(first, second): the second is frozen, so that whatever starts is the first one's."""
    first, second = team.workers[-2:]
    second.send(signal.SIGSTOP)
    yield first, second
    second.send(signal.SIGCONT)


def start(team, goal):
    c, plan = team.proposed(goal)
    team.person.post(team.webs[0], f"/plans/{plan['id']}/approve", {"version": 1})
    return c


def half_said(items):
    return any(HALF[:10] in m["text"] for m in items)


def writes(team, c, goal):
    """What the write_file calls of a plan were for, in order."""
    made = [call for m in team.messages(c) for call in m["tool_calls"]]
    return [call["arguments"]["content"] for call in made if call["tool"] == "write_file"]


def test_after_kill_9_the_other_goes_on_at_the_checkpoint(team, first_alone):
    first, second = first_alone
    c = start(team, "killed")
    team.messages(c, half_said)
    first.send(signal.SIGKILL)
    first.process.wait()
    second.send(signal.SIGCONT)
    plan = team.plan(c, is_done)
    team.new_worker()
    assert [s["outcome"] for s in plan["subtasks"]] == ["wrote 1", "wrote 2", "wrote 3"]
    assert [s["attempts"] for s in plan["subtasks"]] == [1, 1, 1]
    assert writes(team, c, "killed") == ["killed-1", "killed-2", "killed-3"], "nothing twice"
    assert not half_said(team.messages(c))
    assert team.seqs(c) == list(range(1, len(team.seqs(c)) + 1))
    team.until_served()


def test_a_frozen_worker_that_wakes_after_another_took_over_writes_nothing(team, first_alone):
    first, second = first_alone
    c = start(team, "frozen")
    team.messages(c, half_said)
    first.send(signal.SIGSTOP)
    second.send(signal.SIGCONT)
    team.plan(c, is_done)
    before = team.messages(c), team.seqs(c)
    first.send(signal.SIGCONT)  # the rest of its model's answer, a call, has long arrived
    second.send(signal.SIGSTOP)
    c2 = team.conversation()
    team.say(c2, "are you there")  # it has noticed, and works on
    team.messages(c2, lambda items: items[-1]["text"] == "Here I am.")
    assert (team.messages(c), team.seqs(c)) == before
    assert writes(team, c, "frozen") == ["frozen-1", "frozen-2"]


def test_a_worker_told_to_leave_puts_its_turn_back_for_the_other(team, first_alone):
    first, second = first_alone
    c = start(team, "told")
    team.messages(c, half_said)
    seconds, code, complaints = first.end()
    assert (code, "Traceback" in complaints) == (0, False)
    assert seconds < at_most(5)
    assert team.rows(RUNNING, c) == []
    second.send(signal.SIGCONT)
    began = time.monotonic()
    team.until(TAKEN_AGAIN, c)
    assert time.monotonic() - began < at_most(LEASE), "without waiting for its lease to end"
    team.plan(c, is_done)
    team.new_worker()
    team.until_served()


def test_no_lease_runs_out_while_the_database_thread_is_held_up(team, first_alone):
    _, second = first_alone
    busy, quiet = team.conversation(), team.conversation()
    for c in (busy, quiet):
        team.say(c, "long, please")
        team.messages(c, lambda items: "I keep" in items[-1]["text"])
    with psycopg.connect(team.database) as outside:
        # Its text is saved every second: there the first one's thread is stuck.
        outside.execute("SELECT 1 FROM agents_conversation WHERE id = %s FOR UPDATE", [busy])
        second.send(signal.SIGCONT)
        time.sleep(LEASE * 2)
    assert team.until(RUNNING, quiet) == [(1,)], "nobody else has taken it"
    for c in (busy, quiet):
        team.person.post(team.webs[1], f"/conversations/{c}/stop", {})
