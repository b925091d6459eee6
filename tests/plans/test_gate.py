"""Nothing runs without a yes: the gate against every way around it."""

import threading

import pytest

from agents.db import in_db
from agents.models import ToolCall
from plans import actions
from plans.models import Plan, Run, State
from tests.builders import proposed_plan
from tests.fake_model import call, calls, say, silent
from tests.inner import GATE_PLAN_TOOLS as PLAN_TOOLS
from tests.inner import Expected, Row, Situation, Worker, row_of
from tests.inner import handle_message as person_says
from tests.world import (
    calls_of,
    conversation,
    drive,
    eventually,
    files_of,
    happening,
    plan_of,
    proposal,
    scripted,
    shown,
    states,
    tell,
    texts,
)

pytestmark = pytest.mark.django_db(transaction=True)

EAGER = call("write_file", path="harm.txt", content="I could not wait")


def nothing_ran(c) -> bool:
    plan = plan_of(c)
    written = list(files_of(c).iterdir())
    assert written == [], f"a file was written: {written}"
    assert plan.run == Run.IDLE
    assert all(state == "todo" for state in states(c))
    assert all(made.state == "refused" for made in calls_of(c, "write_file"))
    return True


@pytest.mark.parametrize(
    "text",
    [
        "No! Do not do it.",
        "ok but drop step 2",
        "what does step 2 mean?",
        "don't start",
        "not ok",
        "ok?",
        "go ahead?",
        "yes, if you rename it first",
        "I said start, but not yet",
        "start step 2 only",
        "不要开始",
        "go ahead and delete everything",
        "yes" * 3,
    ],
)
def test_words_that_are_not_a_whole_yes_start_nothing(text):
    c = proposed_plan("Read", "Write")
    scripted(EAGER, EAGER, say("Understood."))
    tell(c, text)
    assert nothing_ran(c)
    assert plan_of(c).approved_version is None
    answer = (texts(c) or texts(c, "notice", "system"))[-1]
    assert answer == "Understood." or answer.startswith("Nothing has started.")


@pytest.mark.parametrize(
    "text",
    ["Go ahead.", "开始", "  OK!  ", "ｇｏ", "Yes please", "D'accord", "start the plan 。", "시작"],
)
def test_a_listed_phrase_as_the_whole_message_starts_the_plan(text):
    c = proposed_plan("Read")
    scripted(call("finish_subtask", outcome="read"), say("done"))
    tell(c, text)
    assert states(c) == ["done"]
    assert plan_of(c).approved_by == "alice"


def test_a_phrase_for_another_version_than_the_one_shown_starts_nothing():
    c = proposed_plan("Read", "Write")
    actions.remove_subtask(plan_of(c), "s2", "alice", 1)
    scripted(EAGER)
    tell(c, "go ahead", seen=Expected(plan_of(c).pk, 1))
    assert nothing_ran(c)
    assert "now v2" in texts(c, "notice", "system")[-1]


@pytest.mark.both_databases
def test_a_restart_of_the_server_opens_nothing():
    c = proposed_plan("Read")
    scripted(EAGER, EAGER)
    for _ in range(2):
        Worker()  # a new process looks at the queue
        drive()
    assert nothing_ran(c)


@pytest.mark.both_databases
def test_a_second_plan_command_gates_again_and_replaces_only_when_it_succeeds():
    c = proposed_plan("Read")
    first = plan_of(c)
    scripted(EAGER, say("I would rather write at once."))
    tell(c, "/plan something else")
    assert nothing_ran(c)
    assert plan_of(c).pk == first.pk
    scripted(EAGER, proposal("Other"), say("Here."))
    tell(c, "go ahead")  # no plan for it yet: this cannot be a yes to the old one
    assert plan_of(c).pk != first.pk
    assert nothing_ran(c)
    first.refresh_from_db()
    assert (first.state, first.reason) == (State.ABANDONED, "superseded")


def test_an_answer_in_words_keeps_the_gate_shut_until_a_plan_exists():
    c = conversation()
    model = scripted(say("Which docs do you mean?"), EAGER, say("Hm."))
    tell(c, "/plan tidy up")
    tell(c, "just go")
    assert list(files_of(c).iterdir()) == []
    assert [made.state for made in calls_of(c)] == ["refused"]
    for request in model.requests:
        assert [tool["function"]["name"] for tool in request["tools"]] == ["create_plan"]


def test_create_plan_and_write_file_in_one_reply_write_nothing():
    c = conversation()
    scripted(calls(proposal("Read"), EAGER), say("Here."))
    tell(c, "/plan tidy up")
    assert nothing_ran(c)


def test_finish_plan_and_write_file_in_one_reply_write_nothing():
    c = proposed_plan("Read")
    scripted(calls(call("finish_plan", state="abandoned"), EAGER), say("Gone."))
    tell(c, "throw it away")
    assert list(files_of(c).iterdir()) == []
    assert calls_of(c, "write_file")[0].state == ToolCall.State.REFUSED
    assert plan_of(c).state == State.ABANDONED


def test_after_throwing_it_away_the_same_turn_may_only_make_a_new_plan():
    c = proposed_plan("Read")
    old = plan_of(c)
    model = scripted(call("finish_plan", state="abandoned"), proposal("Anew"), EAGER, say("There."))
    tell(c, "throw it away and start over")
    assert [t["function"]["name"] for t in model.requests[1]["tools"]] == ["create_plan"]
    assert nothing_ran(c)
    old.refresh_from_db()
    assert (old.state, plan_of(c).replaces_id) == (State.ABANDONED, old.pk)


def test_a_turn_that_makes_its_plan_anew_again_and_again_keeps_the_third():
    c = conversation()
    plans = iter("ABCDE")

    def model(request):
        names = {tool["function"]["name"] for tool in request["tools"]}
        if "create_plan" in names:
            return proposal("Read", title=next(plans))
        results = [each for each in request["messages"] if each["role"] == "tool"]
        if "the last one stays" in results[-1]["content"]:
            return say("Here is C.")
        return call("finish_plan", state="abandoned")

    scripted(model)
    tell(c, "/plan tidy up")
    assert list(Plan.objects.order_by("pk").values_list("title", "state")) == [
        ("A", State.ABANDONED),
        ("B", State.ABANDONED),
        ("C", State.TODO),
    ]
    assert plan_of(c).title == "C"


@pytest.mark.both_databases
def test_a_click_on_start_while_the_planner_still_speaks_does_not_widen_its_turn():
    c = conversation()
    started = threading.Event()
    goes_on = {**silent("Here is", until=started), "then": EAGER}
    replies = iter([proposal("Read"), goes_on, say("…")])
    run = iter([call("finish_subtask", outcome="read"), call("finish_plan", outcome="fine")])

    def model(request):
        names = {tool["function"]["name"] for tool in request["tools"]}
        return (
            next(run) if names & {"finish_subtask"} or names == {"finish_plan"} else next(replies)
        )

    scripted(model)

    async def story(worker):
        await in_db(person_says, c, "/plan tidy up", "alice")
        plan = await eventually(lambda: Plan.objects.filter(conversation=c).first())
        await in_db(actions.approve_plan, plan, 1, "alice")
        started.set()
        await eventually(lambda: plan_of(c).state == State.DONE)
        await eventually(lambda: not c.turns.filter(state__in=["queued", "running"]).exists())

    happening(story)
    assert list(files_of(c).iterdir()) == []
    assert [made.state for made in calls_of(c, "write_file")] == ["refused"]


@pytest.mark.both_databases
def test_a_plan_made_in_ordinary_chat_shuts_the_gate_for_the_rest_of_the_turn():
    c = conversation()
    scripted(proposal("Read"), EAGER, say("Proposed."))
    tell(c, "could you tidy up the docs?")
    assert nothing_ran(c)


def test_a_revision_in_mid_chat_shuts_the_gate_at_once():
    c = proposed_plan("Read", "Write")
    actions.approve_plan(plan_of(c), 1, "alice", run="no")
    scripted(calls(call("add_subtask", name="More"), EAGER), say("Proposed."))
    tell(c, "add a step")
    assert list(files_of(c).iterdir()) == []
    assert shown(c)["attention"] == "confirm"


def test_with_plan_mode_off_nobody_can_ask_for_a_plan():
    c = conversation(plan={"enabled": False})
    model = scripted(say("hello"))
    tell(c, "/plan tidy up")
    assert "Turn on Plan Mode" in texts(c, "notice", "system")[0]
    assert model.requests == []
    tell(c, "hello")
    assert "create_plan" not in str(model.requests[0]["tools"])


@pytest.mark.both_databases
def test_the_run_stops_at_the_gate_when_the_text_changed_after_the_yes():
    c = proposed_plan("Read", "Write")
    actions.approve_plan(plan_of(c), 1, "alice", run="all")
    actions.remove_subtask(plan_of(c), "s2", "alice", 1)
    scripted(EAGER)
    drive()
    assert states(c) == ["todo"]
    assert (plan_of(c).run, plan_of(c).pause_reason) == (Run.PAUSED, "confirm")
    assert list(files_of(c).iterdir()) == []


class TestRows:
    """The table itself."""

    def test_a_gated_turn_never_leaves_the_first_two_rows(self):
        for open_plan in (True, False):
            for confirmed in (True, False):
                for live in (True, False):
                    now = Situation("chat", False, open_plan, confirmed, live, gated=True)
                    assert row_of(now) in (Row.PLAN_FIRST, Row.UNCONFIRMED)

    def test_no_row_offers_a_way_to_approve(self):
        assert not [
            name
            for names in PLAN_TOOLS.values()
            for name in names
            if "approve" in name or "start" in name
        ]

    def test_each_situation_has_its_row(self):
        chat = Situation("chat")
        assert row_of(chat) == Row.NO_PLAN
        assert (
            row_of(Situation("chat", asked=True, open_plan=True, confirmed=True)) == Row.PLAN_FIRST
        )
        assert row_of(Situation("chat", open_plan=True)) == Row.UNCONFIRMED
        assert (
            row_of(Situation("chat", open_plan=True, confirmed=True, live=True)) == Row.BESIDE_A_RUN
        )
        assert row_of(Situation("chat", open_plan=True, confirmed=True)) == Row.CONFIRMED
        assert row_of(Situation("subtask", asked=True)) == Row.ATTEMPT
        assert row_of(Situation("closing")) == Row.CLOSING
