"""Working, waiting and being paused are told apart, and everywhere by the same function."""

import re
from datetime import datetime, timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.db.models import F
from django.test import Client

from agents.db import clock
from agents.errors import TurnWaits
from agents.models import Conversation, Message, ToolCall, Turn, TurnState
from plans import actions
from plans.models import Attempt, Plan
from tests.builders import proposed_plan
from tests.fake_model import call, fails, say
from tests.inner import agents_actions as talk
from tests.inner import (
    as_markdown,
    claim,
    close_turn,
    last_groups,
    lease_length,
    local_owner,
    persistence,
    put_back_orphans,
    renew,
    search,
    suspend,
    times_of,
    timestamp,
)
from tests.inner import conversation_state_read_state as read_state
from tests.markup import flat
from tests.plans.test_subplans import END, PLANNED, done, story
from tests.world import agent, drive, plan_of, scripted, shown, tell

pytestmark = pytest.mark.django_db(transaction=True)
HOUR = timedelta(hours=1)
ASKING = {"write_file": "ask"}


def an_hour_passes(hour=HOUR):
    """All that is counted from a moment is counted from an hour earlier."""
    Turn.objects.update(counted_at=F("counted_at") - hour)
    Plan.objects.update(rests_since=F("rests_since") - hour)


def allow(tool="write_file"):
    waiting = ToolCall.objects.get(tool=tool, state="asked")
    talk.decide_call(waiting, "allow_once", "alice")


def seconds(c):
    return shown(c)["seconds"]


def close_to(worked=0, waited=0, paused=0):
    return {
        "worked": pytest.approx(worked, abs=30),
        "waited": pytest.approx(waited, abs=30),
        "paused": pytest.approx(paused, abs=30),
    }


# How a plan comes to rest, by what it rests for, and how it goes on.


def waits_for_leave():
    c = proposed_plan("Write", tools=ASKING)
    scripted(call("write_file", path="a.txt", content="a"), done(), say("ok"))
    tell(c, "go")
    return c, "waited", allow


def waits_for_an_answer():
    c = proposed_plan("Write")
    scripted(call("ask_user", question="Which?"), done(), say("ok"))
    tell(c, "go")
    return c, "waited", lambda: tell(c, "this one")


def paused_before_it_begins():
    c = proposed_plan("Write")
    scripted(done(), say("ok"))
    actions.approve_plan(plan_of(c), 1, "alice")
    actions.pause_plan(plan_of(c), "alice")
    return c, "paused", lambda: actions.resume_plan(plan_of(c), "alice")


def paused_in_the_midst():
    c = proposed_plan("Write")
    scripted(done(), say("ok"))
    actions.approve_plan(plan_of(c), 1, "alice")
    [turn] = claim(1)
    actions.begin_attempt(turn)
    actions.pause_plan(plan_of(c), "alice")
    suspend(turn, TurnWaits(Turn.WaitingFor.PAUSE))
    return c, "paused", lambda: actions.resume_plan(plan_of(c), "alice")


def a_new_version_waits():
    c = proposed_plan("Write")
    scripted(call("add_subtask", name="Check"), done(), done(), say("ok"))
    tell(c, "go")
    return c, "waited", lambda: tell(c, "go")


def its_helper_waits_for_leave():
    helpers = [*PLANNED, call("write_file", path="a.txt", content="a"), done(), done(), say("ok")]
    c, _ = story(helpers, END, tools=ASKING)
    tell(c, "go")
    return c, "waited", allow


RESTS = (
    waits_for_leave,
    waits_for_an_answer,
    paused_before_it_begins,
    paused_in_the_midst,
    a_new_version_waits,
    its_helper_waits_for_leave,
)


@pytest.mark.parametrize("rest", RESTS)
@pytest.mark.sampled(3)
def test_an_hour_of_rest_is_never_an_hour_of_work(rest):
    c, kind, go_on = rest()
    an_hour_passes()
    assert seconds(c) == close_to(**{kind: 3600}), "while it rests"
    go_on()
    drive()
    assert plan_of(c).state == "done"
    assert seconds(c) == close_to(**{kind: 3600}), "and after it"
    an_hour_passes()
    assert seconds(c) == close_to(**{kind: 3600}), "what is over takes no more time"


@pytest.mark.parametrize("rest", RESTS)
@pytest.mark.sampled(3)
def test_every_place_tells_the_same_times(rest):
    c, kind, go_on = rest()
    an_hour_passes()
    go_on()
    drive()
    plan = plan_of(c)
    words = f"1:00:00 {'waiting for you' if kind == 'waited' else 'paused'}"
    [row] = search.rows_of([plan.pk])
    assert row.seconds < 30
    assert sum(subtask["seconds"] for subtask in shown(c)["subtasks"]) < 30
    assert words in as_markdown(plan)
    Conversation.objects.filter(pk=c.pk).update(owner=local_owner())
    printed = StringIO()
    call_command("plan", "show", plan.pk, stdout=printed)
    assert words in printed.getvalue()
    page = Client()
    page.force_login(local_owner())
    assert words in flat(page.get(f"/plans/{plan.pk}/").content.decode())
    groups, _ = last_groups(read_state(c.pk).conversation)
    assert sum(group.seconds for group in groups if group.subtask) < 30


def test_an_hour_of_work_is_an_hour_of_work_in_every_place():
    c = proposed_plan("Write")
    scripted(done(), say("ok"))
    actions.approve_plan(plan_of(c), 1, "alice")
    [turn] = claim(1)
    actions.begin_attempt(turn)
    for _ in range(4):
        an_hour_passes(timedelta(seconds=900))
        Turn.objects.update(lease_until=F("counted_at") + timedelta(hours=1))
        renew([turn])
    now = shown(c)
    assert now["seconds"] == close_to(worked=3600)
    assert now["subtasks"][0]["seconds"] == pytest.approx(3600, abs=30)
    [row] = search.rows_of([plan_of(c).pk])
    assert row.seconds == pytest.approx(3600, abs=30)


def test_work_of_another_agent_counts_as_work():
    c, _ = story([*PLANNED, call("ask_user", question="?"), done(), done(), say("ok")], END)
    tell(c, "go")
    parent = Attempt.objects.get(subtask__plan=plan_of(c)).turn
    tell(c, "this")
    Turn.objects.filter(pk=parent.pk).update(
        state="waiting", waiting_for="child", counted_at=F("started_at") - HOUR, finished_at=None
    )
    parent.refresh_from_db()
    assert times_of(parent).worked == pytest.approx(3600, abs=30)


# Kills, restarts and clocks


def running():
    c = proposed_plan("Write")
    scripted(done(), say("ok"))
    actions.approve_plan(plan_of(c), 1, "alice")
    [turn] = claim(1)
    actions.begin_attempt(turn)
    return c, turn


def test_the_time_in_which_a_killed_worker_was_dead_is_nobodys():
    c, turn = running()
    an_hour_passes()
    Turn.objects.filter(pk=turn.pk).update(
        started_at=F("counted_at"), lease_until=F("counted_at") + lease_length()
    )
    bound = lease_length().total_seconds() + 5
    assert seconds(c)["worked"] < bound, "while nobody has noticed"
    put_back_orphans(all_of_them=True)
    assert seconds(c)["worked"] < bound
    drive()
    assert plan_of(c).state == "done"
    assert seconds(c)["worked"] < bound
    reader = Client()
    reader.force_login(plan_of(c).conversation.owner)
    page = flat(reader.get(f"/plans/{plan_of(c).pk}/").content.decode())
    assert re.search(r"finish: 0:\d\d working, (59|1:00):\d\d with nothing running\.", page)


def test_a_restart_while_it_is_paused_changes_nothing():
    c, _, go_on = paused_in_the_midst()
    an_hour_passes()
    put_back_orphans(all_of_them=True)
    assert seconds(c) == close_to(paused=3600)
    go_on()
    drive()
    assert seconds(c) == close_to(paused=3600)


@pytest.mark.parametrize("rest", [*RESTS, lambda: (*running()[:1], "worked", lambda: None)])
@pytest.mark.sampled(3)
def test_a_clock_that_was_set_back_takes_nothing_away(rest):
    c, _, go_on = rest()
    an_hour_passes(-HOUR)
    assert min(seconds(c).values()) >= 0
    go_on()
    drive()
    assert min(seconds(c).values()) >= 0


def test_a_turn_that_is_held_until_the_models_next_try_does_not_work(settings):
    settings.MODEL_RETRY_BASE = 100
    c = proposed_plan("Write")
    scripted(fails(503), done(), say("ok"))
    tell(c, "go")
    assert Turn.objects.get(kind="subtask").state == TurnState.QUEUED
    an_hour_passes()
    assert seconds(c) == close_to()
    talk.retry_now(Turn.objects.get(kind="subtask"), "alice")
    drive()
    assert seconds(c) == close_to()


def test_a_pause_uses_up_no_budget_of_seconds():
    c = proposed_plan("Write", id=agent(budget={"seconds": 600}))
    scripted(call("ask_user", question="Which?"), done(), say("ok"))
    tell(c, "go")
    an_hour_passes()
    tell(c, "this one")
    assert plan_of(c).state == "done"


# The clock in the page


@pytest.mark.parametrize("rest", RESTS)
@pytest.mark.sampled(3)
def test_no_clock_runs_while_the_plan_rests(rest):
    c, _, _ = rest()
    now = shown(c)
    assert now["counts_from"] is None
    assert [row["counts_from"] for row in now["subtasks"]] == [None] * len(now["subtasks"])


def test_the_running_clock_begins_where_the_work_before_the_rest_left_off():
    c, turn = running()
    before = Turn.objects.get(pk=turn.pk)
    Turn.objects.filter(pk=turn.pk).update(worked=timedelta(seconds=100), paused=HOUR)
    began = shown(c)["subtasks"][0]["counts_from"]
    assert began == timestamp(before.counted_at - timedelta(seconds=100))
    assert shown(c)["counts_from"] == began


def worked_on(c, seconds):
    """The turn of the next subtask, at work since so many seconds."""
    [turn] = claim(1)
    actions.begin_attempt(turn)
    Turn.objects.filter(pk=turn.pk).update(worked=timedelta(seconds=seconds))
    return turn


def finish(turn):
    turn.refresh_from_db()
    turn.checkpoint["by_output"] = True
    persistence.add_message(turn, "assistant", Message.Kind.TEXT, "done")
    close_turn(turn, TurnState.DONE)


def clock_of(c):
    """Seconds that the drawer's clock shows now; the same the API tells as worked."""
    now = shown(c)
    running = (clock() - datetime.fromisoformat(now["counts_from"])).total_seconds()
    return running, now["seconds"]["worked"]


def moved_to_the_front(c):
    actions.move_subtask(plan_of(c), "s3", 1, "alice")
    return ["s3", "s1", "s2"]


def gone_back(c):
    """The first leaves, and comes back with a new key as the first again."""
    actions.remove_subtask(plan_of(c), "s1", "alice")
    actions.restore_version(plan_of(c), 1, "alice")
    return ["s4", "s2", "s3"]


@pytest.mark.parametrize("order", [lambda c: ["s1", "s2", "s3"], moved_to_the_front, gone_back])
def test_the_plans_clock_counts_every_ended_turn_in_whatever_order_they_ran(order):
    c = proposed_plan("Read", "Write", "Check")
    keys = order(c)
    actions.approve_plan(plan_of(c), plan_of(c).version, "alice")
    for place, key in enumerate(keys, 1):
        turn = worked_on(c, 100 * place)
        assert turn.attempt.subtask.key == key
        running, worked = clock_of(c)
        assert running == pytest.approx(worked, abs=2)
        assert running == pytest.approx(sum(100 * each for each in range(1, place + 1)), abs=5)
        finish(turn)


def test_the_plans_clock_counts_an_earlier_try_at_a_subtask_that_ran_first():
    c = proposed_plan("Read", "Write")
    actions.move_subtask(plan_of(c), "s2", 1, "alice")
    actions.approve_plan(plan_of(c), 2, "alice")
    failed = worked_on(c, 100)
    failed.refresh_from_db()
    close_turn(failed, TurnState.FAILED, "logic", "It broke.")
    actions.retry_subtask(plan_of(c), "s2", "alice")
    again = worked_on(c, 10)
    assert clock_of(c)[0] == pytest.approx(110, abs=5)
    finish(again)
    worked_on(c, 1)
    assert clock_of(c)[0] == pytest.approx(111, abs=5)
    [first, second] = shown(c)["subtasks"]
    assert (first["seconds"], first["counts_from"]) == (pytest.approx(110, abs=5), None)
    assert second["seconds"] == pytest.approx(1, abs=5)
