"""/new leaves the conversation behind as it was: a finished plan stays, an open one is given up."""

import pytest
from django.test import Client

from agents.models import Message
from plans import actions
from plans.models import ActivePlan, Plan, Run, State
from plans.schemas import PlanEdit
from tests.fake_model import call, say
from tests.markup import flat
from tests.world import drive, plan_of, proposed, scripted, tell

pytestmark = pytest.mark.django_db(transaction=True)


def drawer_of(c):
    client = Client()
    client.force_login(c.owner)
    html = flat(client.get(f"/c/{c.pk}/").content.decode())
    return html.split('id="plan"', 1)[1].split("</aside>", 1)[0]


def finished():
    c = proposed("Read")
    scripted(call("finish_subtask", outcome="read"), say("It is all read."))
    actions.approve_plan(plan_of(c), 1, "alice")
    drive()
    assert plan_of(c).state == State.DONE
    return c


def test_new_leaves_a_finished_plan_in_the_drawer_of_the_conversation_left_behind():
    c = finished()
    tell(c, "/new")
    assert plan_of(c).state == State.DONE
    assert plan_of(c).title in drawer_of(c)
    assert "No plan here" not in drawer_of(c)


def test_new_leaves_a_cancelled_plan_where_it_is_too():
    c = proposed("Read")
    actions.cancel_plan(plan_of(c), "alice")
    tell(c, "/new")
    assert plan_of(c).reason == "cancelled"
    assert "Cancelled" in drawer_of(c)


def test_new_gives_up_an_open_plan_and_the_drawer_does_not_say_that_there_was_none():
    c = proposed("Read")
    plan = plan_of(c)
    actions.approve_plan(plan, 1, "alice")
    tell(c, "/new")
    plan.refresh_from_db()
    assert (plan.state, plan.reason, plan.run) == (State.ABANDONED, "cleared", Run.IDLE)
    assert ActivePlan.objects.get(conversation=c).plan is None
    assert "No open plan here. Earlier ones are in the list above." in drawer_of(c)


@pytest.mark.parametrize("typed", ["/new", "  /NEW", "/new please"])
def test_new_stays_behind_nowhere_as_a_message(typed):
    c = finished()
    before = list(c.messages.values_list("pk", flat=True))
    said = tell(c, typed)
    assert list(c.messages.values_list("pk", flat=True)) == before
    assert not Message.objects.filter(conversation=said.conversation).exists()
    assert said.message.text == typed


def test_clear_takes_a_finished_plan_out_of_the_drawer():
    c = finished()
    tell(c, "/clear")
    assert ActivePlan.objects.get(conversation=c).plan is None


@pytest.mark.parametrize("shown", ["the newer", "the older"])
@pytest.mark.parametrize("typed", ["/clear", "/new"])
def test_every_open_plan_of_the_conversation_ends_and_is_named(typed, shown):
    c = proposed("Read")
    older = plan_of(c)
    actions.approve_plan(older, 1, "alice", run="no")
    newer = actions.use_again(older, "alice")
    actions.edit_plan(newer, PlanEdit(title="Another one"), "alice", 1)
    if shown == "the older":
        actions.activate_plan(older, "alice")
    said = tell(c, typed)
    assert {plan.reason for plan in Plan.objects.all()} == {"cleared"}
    assert "No open plan here." in drawer_of(c)
    notice = said.conversation.messages.filter(kind="notice").latest("seq").text
    assert older.title in notice and "Another one" in notice
    c.refresh_from_db()
    assert typed == "/new" or said.conversation.messages.latest("seq").seq > c.cleared_seq


def test_a_single_plan_that_ends_with_its_view_needs_no_notice():
    c = proposed("Read")
    said = tell(c, "/new")
    assert not said.conversation.messages.exists()
