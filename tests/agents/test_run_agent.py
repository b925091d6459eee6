"""One agent hands work to another."""

import pytest

from agents.models import Conversation, Turn
from tests.fake_model import call, fails, say
from tests.inner import agents_actions as talk
from tests.world import (
    agent,
    calls_of,
    conversation,
    drive,
    plan_of,
    proposed,
    scripted,
    tell,
    texts,
)

pytestmark = pytest.mark.django_db(transaction=True)


def by_agent(**scripts):
    """Each agent's replies by its instructions' first word."""
    scripts = {name: list(replies) for name, replies in scripts.items()}

    def model(request):
        system = request["messages"][0]["content"]
        return next(replies.pop(0) for name, replies in scripts.items() if f"I am {name}" in system)

    return scripted(model)


def caller(helper, **more):
    return conversation(
        tools={f"run_agent:{helper}": more.pop("grant", "allow")}, instructions="I am boss", **more
    )


def test_the_answer_of_the_other_agent_is_the_result_of_the_call():
    helper = agent(instructions="I am helper")
    c = caller(helper)
    model = by_agent(
        boss=[call("run_agent", agent=helper, task="Count to three."), say("It says 123.")],
        helper=[say("1 2 3")],
    )
    tell(c, "let it count")
    assert texts(c)[-1] == "It says 123."
    assert calls_of(c)[0].result == "1 2 3"
    assert model.requests[1]["messages"][-1] == {"role": "user", "content": "Count to three."}
    child = Conversation.objects.get(parent_call__isnull=False)
    assert (child.agent_id, child.owner_id) == (helper, c.owner_id)
    assert "create_plan" not in str(model.requests[1].get("tools")), (
        "nobody could say yes to its plan"
    )


def test_only_agents_that_are_granted_can_be_called():
    c = caller("docs-writer")
    by_agent(boss=[call("run_agent", agent="someone", task="x"), say("no")])
    tell(c, "go")
    assert calls_of(c)[0].state == "failed"
    c = conversation(instructions="I am boss")
    by_agent(boss=[call("run_agent", agent="docs-writer", task="x"), say("no")])
    tell(c, "go")
    assert calls_of(c)[0].state == "refused"


def test_a_call_that_asks_waits_for_the_person_first():
    helper = agent(instructions="I am helper")
    c = caller(helper, grant="ask")
    by_agent(boss=[call("run_agent", agent=helper, task="Count."), say("ok")], helper=[say("1")])
    tell(c, "go")
    assert calls_of(c)[0].state == "asked"
    talk.decide_call(calls_of(c)[0], "allow_once", "alice")
    drive()
    assert calls_of(c)[0].result == "1"


def test_a_child_that_fails_says_so_to_its_parent():
    helper = agent(instructions="I am helper")
    c = caller(helper)
    by_agent(
        boss=[call("run_agent", agent=helper, task="Count."), say("It failed.")],
        helper=[fails(401)],
    )
    tell(c, "go")
    assert calls_of(c)[0].state == "failed"
    assert texts(c)[-1] == "It failed."


def test_agents_call_each_other_three_deep_and_not_deeper():
    one = agent(id="deep-1", tools={"run_agent:deep-1": "allow"}, instructions="I am one")
    c = caller(one)
    again = call("run_agent", agent=one, task="deeper")
    by_agent(
        boss=[call("run_agent", agent=one, task="go"), say("top")],
        one=[again, again, again, say("c"), say("b"), say("a")],
    )
    tell(c, "go")
    assert texts(c)[-1] == "top"
    refused = [
        m for t in Turn.objects.exclude(conversation=c) for m in t.tool_calls.filter(state="failed")
    ]
    assert [m.result for m in refused] == ["Agents may call each other 3 deep, not deeper."]


def test_stopping_the_parent_stops_the_child():
    helper = agent(instructions="I am helper")
    c = proposed("Read", tools={f"run_agent:{helper}": "allow"}, instructions="I am boss")
    scripted(call("run_agent", agent=helper, task="wait"), call("ask_user", question="really?"))
    tell(c, "go")
    from plans import actions

    waiting = Turn.objects.filter(conversation__parent_call__isnull=False)
    assert waiting.count() == 1
    actions.stop_plan(plan_of(c), "alice")
    drive()
    assert not Turn.objects.filter(state__in=["queued", "running", "waiting"]).exists()
    assert plan_of(c).run == "idle"
