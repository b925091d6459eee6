"""What tests/builders.py makes reads as what a model's turns leave."""

import pytest

from agents.models import Event, Message, ToolCall
from plans import actions
from tests.builders import (
    approved_plan,
    asking_plan,
    chat,
    done_plan,
    failed_plan,
    paused_plan,
    proposed_plan,
    running_plan,
)
from tests.fake_model import call, say
from tests.inner import release
from tests.world import (
    approved,
    conversation,
    done,
    drive,
    plan_of,
    proposed,
    scripted,
    shown,
    states,
    tell,
)

pytestmark = pytest.mark.django_db(transaction=True)

TWO = ("Read", "Write")


def driven(*replies):
    c = approved(*TWO, run="all")
    scripted(*replies)
    drive()
    return c


def paused():
    c = approved(*TWO, run="all")
    actions.pause_plan(plan_of(c), "alice")
    return c


ASKS = call("ask_user", question="Which one?")
FAILS = call("fail_subtask", error="The disk is full.")
PAIRS = {
    "proposed": (lambda: proposed(*TWO), lambda: proposed_plan(*TWO)),
    "approved": (lambda: approved(*TWO), lambda: approved_plan(*TWO)),
    "asking": (lambda: driven(ASKS), lambda: asking_plan(*TWO)),
    "failed": (lambda: driven(done(), FAILS), lambda: failed_plan(*TWO, done=1)),
    "paused": (paused, lambda: paused_plan(*TWO)),
    "done": (lambda: driven(done(), done(), say("All done.")), lambda: done_plan(*TWO)),
}


def plain(c):
    """What a person sees of the plan, but for numbers, times, places and usage."""
    document = shown(c)
    subtasks = [
        {key: each[key] for key in ("key", "name", "state", "outcome", "error", "attempts")}
        for each in document["subtasks"]
    ]
    own = {key: document[key] for key in ("title", "goal", "state", "standing", "run", "version")}
    own |= {key: document[key] for key in ("attention", "approved_version", "question")}
    return own, subtasks


def of_runs(c):
    """What was said and called by the turns of the plan, and what was noted of it."""
    said = Message.objects.filter(conversation=c, turn__lane="run").order_by("seq")
    tools = ToolCall.objects.filter(message__in=said).order_by("pk")
    noted = Event.objects.filter(conversation=c, type__startswith="plan.").order_by("seq")
    asked = {"plan.asked"}  # with words, which a built one was not
    return (
        [(each.role, each.kind, each.text) for each in said],
        [(each.tool, each.state) for each in tools],
        [(each.type, each.actor) for each in noted if each.type not in asked],
    )


@pytest.mark.parametrize("state", PAIRS)
def test_a_plan_that_is_built_is_as_one_that_a_model_has_brought_there(state):
    as_driven, as_built = (make() for make in PAIRS[state])
    assert plain(as_built) == plain(as_driven)
    assert of_runs(as_built) == of_runs(as_driven)


def test_a_chat_that_is_built_has_its_answer():
    c = conversation()
    scripted(say("Good morning."))
    tell(c, "Hello")
    built = chat()
    assert [m.text for m in built.messages.order_by("seq")] == [
        m.text for m in c.messages.order_by("seq")
    ]
    types = [list(each.events.values_list("type", flat=True)) for each in (built, c)]
    assert sorted(types[0]) == sorted(types[1])


def test_a_running_plan_goes_on_when_a_worker_takes_it():
    c, turn = running_plan(*TWO)
    assert states(c) == ["in_progress", "todo"]
    release(turn)
    scripted(done(), done(), say("All done."))
    drive()
    assert (plan_of(c).state, states(c)) == ("done", ["done", "done"])
