"""A call that ends a turn is the last thing in it, whatever the chain's branches say."""

import shutil
from pathlib import Path

import pytest
from django.conf import settings

from agents.actors import AGENT
from agents.models import ToolCall, Turn
from plans import actions
from plans.models import Attempt, Plan, State
from plans.schemas import PlanDraft
from tests.builders import approved_plan, running_plan, says
from tests.chains.chains import task, written
from tests.fake_model import call, calls, fails, say
from tests.inner import persistence, put_back_orphans, request_stop
from tests.world import (
    calls_of,
    conversation,
    done,
    drive,
    errors_of,
    plan_of,
    proposal,
    scripted,
    shown,
    states,
    tell,
)

pytestmark = pytest.mark.django_db(transaction=True)

# As in the manual of chains: after the calls the model is asked again, whatever they came to.
LOOP = (
    task(
        "ask_model",
        "chat_completion",
        ("equals", "tool-call", "run_tools"),
        "end",
        execute_config={"tools": ["*"]},
    ),
    task("run_tools", "execute_tool_calls", "ask_model", input_var="ask_model"),
)
READ = call("get_plan")


def looping(*tasks):
    """The settings of an agent that does everything by one such chain."""
    return {"chains": dict.fromkeys(("chat", "planner", "executor"), written(*tasks or LOOP))}


def ever_again(*replies):
    """A model that plays these, and the last one for ever."""
    left = list(replies)
    return scripted(lambda request: left.pop(0) if len(left) > 1 else left[0])


def attempted(*replies, checks=(), **values):
    """A plan of two subtasks, and an attempt at the first, in which the model plays these replies."""
    plan = {"enabled": True, "max_attempts": 1, "max_check_failures": 1}
    c = conversation(plan=plan, **(values or looping()))
    subtasks = [{"name": "Read", "checks": list(checks)}, {"name": "Write"}]
    draft = {"title": "Tidy the docs", "subtasks": subtasks}
    actions.create_plan(c, PlanDraft.model_validate(draft), AGENT)
    model = ever_again(*replies)
    actions.approve_plan(plan_of(c), 1, "alice", run="next")
    drive()
    return c, model


@pytest.mark.parametrize("then", [READ, fails(401), done("another")])
def test_an_attempt_is_over_with_the_call_that_finishes_it(then):
    c, model = attempted(done("read"), then)
    assert len(model.requests) == 1
    assert (states(c), shown(c)["subtasks"][0]["outcome"]) == (["done", "todo"], "read")
    assert (Attempt.objects.get().failure_class, errors_of(c)) == ("", [])


@pytest.mark.parametrize("then", [READ, fails(401), done("it works after all")])
def test_an_attempt_is_over_with_the_call_that_gives_it_up(then):
    c, model = attempted(call("fail_subtask", error="It is locked."), then)
    assert (len(model.requests), states(c)) == (1, ["todo", "todo"])
    assert shown(c)["subtasks"][0]["error"] == "It is locked."


@pytest.mark.parametrize("later", [READ, done("another"), call("fail_subtask", error="no")])
def test_calls_of_the_same_reply_behind_it_are_refused(later):
    c, _ = attempted(calls(done("read"), later), say("never asked"))
    assert [(made.state, made.result) for made in calls_of(c)] == [
        ("done", "Recorded."),
        ("refused", "This turn is already over: the call was not carried out."),
    ]
    assert shown(c)["subtasks"][0]["outcome"] == "read"


FINISH = {"name": "finish_subtask", "args": {"outcome": "by the chain"}}
GIVE_UP = {"name": "fail_subtask", "args": {"error": "The chain gives up."}}
MORE = task("more", "tools", "end", tools={"name": "fetch_url", "args": {}})


@pytest.mark.parametrize(
    "tasks",
    [
        (task("finish", "tools", "more", tools=FINISH), MORE),
        (task("finish", "tools", "more", tools=FINISH, output_template="{{.field}}"), MORE),
        (task("finish", "tools", tools=FINISH, output_template="{{.field}}", retry_on_failure=2),),
        (
            task(
                *("finish", "tools", "more"),
                tools=FINISH,
                output_template="{{.field}}",
                transition={"on_failure": "more"},
            ),
            MORE,
        ),
    ],
)
@pytest.mark.parametrize("checks", [[], [{"kind": "file", "path": "a.txt", "absent": True}]])
def test_a_finish_of_the_chains_own_survives_what_comes_after_it(tasks, checks):
    c, _ = attempted(say("never asked"), checks=checks, **looping(*tasks))
    assert [made.tool for made in calls_of(c)] == ["finish_subtask"]
    assert (states(c), errors_of(c)) == (["done", "todo"], [])


def test_a_chain_that_has_given_up_goes_no_further():
    give_up = task("give_up", "tools", "more", tools=GIVE_UP)
    c, _ = attempted(say("never asked"), **looping(give_up, MORE))
    assert [made.tool for made in calls_of(c)] == ["fail_subtask"]
    assert shown(c)["subtasks"][0]["error"] == "The chain gives up."


def test_a_finish_whose_checks_say_no_for_the_last_time_ends_the_attempt_too():
    check = {"kind": "file", "path": "a.txt", "exists": True}
    c, model = attempted(done("read"), done("really"), checks=[check])
    assert (len(model.requests), states(c)) == (1, ["todo", "todo"])
    assert Attempt.objects.get().failure_class == "check"


@pytest.mark.parametrize("then", [READ, fails(401), call("finish_plan", outcome="no")])
def test_the_closing_turn_is_over_with_the_call_that_ends_the_plan(then):
    c = approved_plan("Read", run="all", **looping())
    model = ever_again(done("read"), call("finish_plan", outcome="All is read."), then)
    drive()
    assert (len(model.requests), errors_of(c)) == (2, [])
    assert [(plan.state, plan.outcome) for plan in Plan.objects.all()] == [
        (State.DONE, "All is read.")
    ]


# A worker that dies between the call and the end of its turn.


def died():
    """An attempt whose worker has died right after the call that finished it."""
    c, turn = running_plan("Read", "Write", **looping())
    [finishing, later] = says(turn, "", ("finish_subtask", {"outcome": "read"}), ("get_plan", {}))
    persistence.begin_call(turn, finishing)
    persistence.end_call(turn, finishing, ToolCall.State.DONE, "Recorded.", ended=True)
    persistence.save_checkpoint(turn, task="run_tools", previous="ask_model")
    put_back_orphans(all_of_them=True)
    return c, turn, later


def agent_goes(c, turn):
    shutil.rmtree(Path(settings.PLANSIDE_HOME) / "workspaces" / c.agent_id)


def chain_changes(c, turn):
    written(task("other", "noop", "end"))


def a_stop_was_not_obeyed(c, turn):
    Turn.objects.filter(pk=turn.pk).update(stop_requested=True)


def is_stopped(c, turn):
    request_stop(turn, "alice")


@pytest.mark.both_databases
@pytest.mark.parametrize(
    "meanwhile",
    [lambda c, turn: None, agent_goes, chain_changes, a_stop_was_not_obeyed, is_stopped],
)
def test_an_attempt_that_had_finished_is_done_though_its_worker_has_died(meanwhile):
    c, turn, later = died()
    model = scripted(lambda request: call("fail_subtask", error="the second one"))
    meanwhile(c, turn)
    drive()
    assert states(c)[0] == "done"
    assert not Attempt.objects.get(turn=turn).failure_class
    later.refresh_from_db()
    assert (later.state, later.started_at) == ("interrupted", None)
    assert not any("s1:" in str(request["messages"][-1]) for request in model.requests)


# What a planner makes and what a chat ends stands too. Neither ends its turn: it has to say so.


@pytest.mark.parametrize("then", [READ, fails(401), proposal("Another")])
def test_a_plan_that_was_made_stands_whatever_its_planner_does_then(then):
    c = conversation(**looping())
    ever_again(proposal("Read"), then)
    tell(c, "/plan tidy up")
    plan = plan_of(c)
    assert (plan.version, plan.approved_version, plan.state) == (1, None, "todo")
    assert [made.state for made in calls_of(c, "create_plan")].count("done") == 1
    scripted(done("read"))
    actions.approve_plan(plan, 1, "alice", run="next")
    drive()
    assert states(c) == ["done"]


@pytest.mark.parametrize("then", [READ, fails(401), call("finish_plan")])
def test_a_plan_that_was_ended_in_a_chat_stays_ended_whatever_its_model_does_then(then):
    c = approved_plan("Read", **looping())
    plan = plan_of(c)
    ever_again(call("finish_plan", state="abandoned"), then)
    tell(c, "that will do")
    plan.refresh_from_db()
    assert plan.state == State.ABANDONED
    assert [made.state for made in calls_of(c, "finish_plan")].count("done") == 1
