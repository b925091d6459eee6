"""Cancelling the planning: the plan that was being made never comes, whenever it is cancelled."""

import asyncio

import pytest
from django.test import Client

from agents.actors import AGENT
from agents.db import in_db
from agents.errors import TurnStopped
from agents.models import Message, ToolCall, Turn
from plans import actions
from plans.actions import create
from plans.models import ActivePlan, Plan
from tests.fake_model import call, say, silent
from tests.inner import agents_actions as talk
from tests.inner import handle_message as person_says
from tests.inner import persistence
from tests.markup import flat
from tests.world import conversation, drive, eventually, happening, proposal, scripted, texts

pytestmark = pytest.mark.django_db(transaction=True)

DOORS = {
    "the button and the API": lambda c: actions.cancel_request(c, "alice"),
    "the word": lambda c: person_says(c, "cancel", "alice"),
    "/clear": lambda c: person_says(c, "/clear", "alice"),
    "/new": lambda c: person_says(c, "/new", "alice"),
}


def nothing_came(c):
    assert not Plan.objects.filter(conversation=c).exists()
    assert not ActivePlan.objects.exclude(asked_goal="").exists()
    assert not Turn.objects.filter(state__in=["queued", "running", "waiting"]).exists()


@pytest.mark.parametrize("cancel", DOORS.values(), ids=DOORS.keys())
def test_no_plan_comes_when_it_is_cancelled_while_the_model_still_thinks(cancel):
    c = conversation()
    answer = asyncio.Event()
    scripted({**proposal("Read"), "wait": answer}, say("Here it is."))

    async def story(worker):
        await in_db(person_says, c, "/plan tidy up", "alice")
        await eventually(lambda: Turn.objects.filter(state="running").exists())
        await in_db(cancel, c)
        answer.set()
        await eventually(lambda: not Turn.objects.filter(state="running").exists())

    happening(story)
    drive()
    nothing_came(c)


def test_no_plan_comes_when_it_is_cancelled_in_the_midst_of_the_models_words():
    c = conversation()
    scripted(silent("Let me think of"), proposal("Read"), say("Here it is."))

    async def story(worker):
        await in_db(person_says, c, "/plan tidy up", "alice")
        await eventually(lambda: Message.objects.filter(streaming=True).exists())
        await in_db(actions.cancel_request, c, "alice")
        await eventually(lambda: not Turn.objects.filter(state="running").exists(), 2)

    happening(story, at_once=True)
    drive()
    nothing_came(c)


def test_no_plan_comes_when_it_is_cancelled_before_its_turn():
    c = conversation()
    person_says(c, "/plan tidy up", "alice")
    actions.cancel_request(c, "alice")
    model = scripted(proposal("Read"), say("Here it is."))
    drive()
    assert model.requests == []
    nothing_came(c)


def running_turn(c):
    """A turn as another process holds it: the model has called create_plan, nobody carried it out.

    That process learns of a stop only from the row.
    """
    said = person_says(c, "/plan tidy up", "alice")
    Turn.objects.filter(pk=said.turn.pk).update(state="running", epoch=1)
    return Turn.objects.get(pk=said.turn.pk)


def test_a_call_made_before_the_cancelling_is_not_carried_out_after_it():
    c = conversation()
    turn = running_turn(c)
    message = persistence.add_message(turn, "assistant", "text", "")
    made = ToolCall.objects.create(message=message, turn=turn, call_id="1", tool="create_plan")
    actions.cancel_request(c, "alice")
    with pytest.raises(TurnStopped):
        persistence.begin_call(turn, made)
    nothing = Plan.objects.filter(conversation=c)
    assert not nothing.exists()


def test_a_call_that_had_begun_makes_no_plan_any_more():
    c = conversation()
    turn = running_turn(c)
    actions.cancel_request(c, "alice")
    draft = create.PlanDraft(title="Late", subtasks=["Read"])
    with pytest.raises(create.Conflict, match="cancelled"):
        actions.create_plan(c, draft, AGENT, turn)
    assert not Plan.objects.filter(conversation=c).exists()


def test_a_reply_to_something_else_goes_on():
    c = conversation()
    scripted(silent("about the weather"))

    async def story(worker):
        await in_db(person_says, c, "how is it outside?", "alice")
        await eventually(lambda: Message.objects.filter(streaming=True).exists())
        await in_db(person_says, c, "/plan tidy up", "alice")
        await in_db(actions.cancel_request, c, "alice")
        first = await in_db(Turn.objects.order_by("pk").first)
        assert (first.state, first.stop_requested) == ("running", False)

    happening(story)


def test_what_was_said_behind_the_request_goes_back_to_the_composer():
    c = conversation()
    person_says(c, "/plan tidy up", "alice")
    person_says(c, "and be brief", "alice")
    person_says(c, "and in French", "alice")
    talk.save_draft(c, "one more th")
    actions.cancel_request(c, "alice")
    c.refresh_from_db()
    assert c.unsent == "and be brief\n\nand in French\n\none more th"
    assert texts(c, role="user") == ["/plan tidy up"]


def test_after_cancelling_the_next_message_is_an_ordinary_one():
    c = conversation()
    person_says(c, "/plan tidy up", "alice")
    actions.cancel_request(c, "alice")
    scripted(call("write_file", path="a.txt", content="a"), say("Written."))
    person_says(c, "write a file", "alice")
    drive()
    assert texts(c) == ["", "Written."]


# A page that shows an earlier asking


def asked_twice():
    c = conversation()
    first = person_says(c, "/plan paint the fence", "alice").message
    second = person_says(c, "/plan bake a cake", "alice").message
    return c, first.pk, second.pk


def press(c, **values):
    client = Client()
    client.force_login(c.owner)
    return client.post(f"/c/{c.pk}/plan/cancel-asking", values, headers={"HX-Request": "true"})


def goal_of(c):
    return ActivePlan.objects.get(conversation=c).asked_goal


def test_a_stale_page_never_cancels_a_later_asking():
    c, first, second = asked_twice()
    answer = press(c, asking=first)
    assert answer.status_code == 409
    assert "Another plan is asked for now. Nothing was cancelled." in flat(answer.content.decode())
    assert goal_of(c) == "bake a cake"
    assert press(c, asking=second).status_code == 200
    assert goal_of(c) == ""


@pytest.mark.parametrize("values", [{}, {"asking": ""}, {"asking": "x"}, {"asking": "0"}])
def test_a_page_that_names_no_asking_cancels_none(values):
    c, _, _ = asked_twice()
    assert press(c, **values).status_code in (409, 422)
    assert goal_of(c) == "bake a cake"


def test_the_word_from_a_stale_page_cancels_no_later_asking_either():
    c, first, second = asked_twice()
    for seen in (first, 0):
        person_says(c, "cancel", "alice", asking=seen)
        assert goal_of(c) == "bake a cake"
        assert (
            texts(c, "notice", "system")[-1]
            == "Another plan is asked for now. Nothing was cancelled."
        )
    person_says(c, "cancel", "alice", asking=second)
    assert goal_of(c) == ""


def test_the_page_names_the_asking_that_it_shows():
    c, _, second = asked_twice()
    client = Client()
    client.force_login(c.owner)
    html = flat(client.get(f"/c/{c.pk}/").content.decode())
    assert f'<input type="hidden" name="asking" value="{second}">' in html
    press(c, asking=second)
    assert 'name="asking" value="0">' in flat(client.get(f"/c/{c.pk}/").content.decode())
