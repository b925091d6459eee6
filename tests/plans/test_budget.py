"""R24: budgets are checked before each call; reached = paused with the reason, raised = it goes on."""

import pytest

from agents.errors import Conflict, Invalid
from agents.models import Message, Provider, Turn
from plans import actions
from plans.models import Attempt, State
from tests.builders import proposed_plan
from tests.fake_model import call, say
from tests.world import conversation, drive, plan_of, scripted, shown, states, tell

pytestmark = pytest.mark.django_db(transaction=True)


def done(tokens=(900, 200)):
    return {**call("finish_subtask", outcome="done"), "usage": list(tokens)}


def test_a_used_up_budget_pauses_before_the_next_call_and_raising_it_goes_on():
    c = proposed_plan("Read", "Write", "Check", budget={"tokens": 1000})
    model = scripted(done(), done(), done(), say("ok"))
    tell(c, "go")
    plan = shown(c)
    assert len(model.requests) == 1
    assert (plan["run"], plan["pause_reason"], plan["attention"]) == ("paused", "budget", "budget")
    assert states(c)[0] == "done"
    assert plan["budget"] == {"tokens": 1000}
    for go_on in (actions.resume_plan, actions.run_plan):
        with pytest.raises(Conflict, match=r"The budget is used up: .*1,?000.*/budget"):
            go_on(plan_of(c), "alice")
    assert not Turn.objects.filter(state="queued").exists(), "a resume alone is refused"
    actions.raise_budget(plan_of(c), "alice", {"tokens": 100_000})
    drive()
    assert plan_of(c).state == State.DONE
    assert Attempt.objects.count() == 3, "the pause used up no attempt"


def test_model_calls_and_money_are_budgets_too():
    Provider.objects.create(
        name="openai", base_url="http://x/v1", prices={"scripted": {"input": 1000, "output": 1000}}
    )
    c = proposed_plan("Read", "Write", budget={"cost_usd": 0.5})
    scripted(done((400, 200)), done(), say("ok"))
    tell(c, "go")
    plan = shown(c)
    assert plan["attention"] == "budget"
    assert plan["subtasks"][0]["cost"] == pytest.approx(0.6)
    c = proposed_plan("Read", "Write", budget={"model_calls": 1})
    model = scripted(done(), done(), say("ok"))
    tell(c, "go")
    assert len(model.requests) == 1


def test_a_reply_in_chat_has_the_agents_budget():
    c = conversation(budget={"model_calls": 2})
    model = scripted(lambda request: call("list_files"))
    tell(c, "look around for ever")
    assert len(model.requests) == 2
    card = Message.objects.get(conversation=c, kind="error")
    assert card.meta["title"] == "The reply has used up its budget"
    assert card.text == "2 of 2 model calls are used up."
    assert Turn.objects.get(conversation=c).state == "failed"


def test_usage_that_the_model_does_not_report_is_estimated_and_counted():
    c = proposed_plan("Read", "Write", budget={"tokens": 1})
    scripted(call("finish_subtask", outcome="done"))
    tell(c, "go")
    assert Turn.objects.filter(conversation=c, usage_estimated=True).exists()
    assert shown(c)["attention"] == "budget"


def test_a_budget_that_makes_no_sense_is_one_sentence():
    c = proposed_plan("Read")
    for limits in ({"tokens": 0}, {"tokens": "many"}, {"beer": 3}, {"seconds": True}):
        with pytest.raises(Invalid, match="positive number"):
            actions.raise_budget(plan_of(c), "alice", limits)
