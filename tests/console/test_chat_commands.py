"""/clear takes the view away and nothing else; /new leaves the conversation behind as it was."""

import re

import pytest
from django.test import Client

from agents.db import in_db
from agents.models import Conversation, Message, Turn
from plans import actions
from plans.models import ActivePlan, Plan, Run, State
from plans.schemas import PlanEdit
from tests.builders import proposed_plan
from tests.fake_model import call, say, silent
from tests.inner import console_thread as thread
from tests.inner import fragments_changes as changes
from tests.inner import handle_message
from tests.markup import flat
from tests.world import conversation, drive, eventually, happening, person, plan_of, scripted, tell

pytestmark = pytest.mark.django_db(transaction=True)


# /clear


def page(c, query="", user=None):
    client = Client()
    client.force_login(user or c.owner)
    return client.get(f"/c/{c.pk}/{query}")


def log(c, query=""):
    html = flat(page(c, query).content.decode())
    return html.split('id="log"', 1)[1].split('class="foot"', 1)[0]


def cleared_one():
    c = proposed_plan("Read the docs")
    scripted(say("Certainly."))
    tell(c, "before the clearing")
    tell(c, "/clear")
    return c


def test_before_a_clear_nothing_is_offered():
    c = proposed_plan("Read")
    assert "Show what was cleared" not in log(c)
    assert 'id="cleared"' not in log(c, "?cleared=true")


def test_what_was_cleared_is_shown_above_a_divider_with_its_plan_at_each_load():
    c = cleared_one()
    assert "before the clearing" not in log(c)
    assert link(c).startswith(f"/c/{c.pk}/?cleared=true")
    for _ in range(2):
        html = log(c, "?cleared=true")
        above, _, below = html.partition('id="cleared-end"')
        assert "before the clearing" in above
        assert 'data-kind="plan"' in above
        assert "Read the docs" in above
        assert "before the clearing" not in below


def test_what_was_cleared_can_only_be_read():
    c = cleared_one()
    Turn.objects.update(state="failed")
    above = log(c, "?cleared=true").split('id="cleared-end"')[0]
    assert "hx-post" not in above
    assert "data-open-plan" not in above


def test_no_element_stands_twice_beside_what_was_said_since():
    c = cleared_one()
    scripted(say("Hello."))
    tell(c, "after it")
    html = flat(page(c, "?cleared=true").content.decode())
    ids = [part.split('"')[0] for part in html.split(' id="')[1:]]
    assert len(ids) == len(set(ids))


def test_a_long_part_comes_in_pages_without_what_was_said_since(monkeypatch):
    c = conversation()
    for text in ("first", "second", "third"):
        scripted(say("Yes."))
        tell(c, text)
    tell(c, "/clear")
    monkeypatch.setattr(thread, "MESSAGES_PER_PAGE", 2)
    html = log(c, "?cleared=true")
    assert "first" not in html
    client = Client()
    client.force_login(c.owner)
    address = html.split('id="earlier-cleared" hx-get="')[1].split('"')[0].replace("&amp;", "&")
    assert 'hx-target="#earlier-cleared"' in (more := flat(client.get(address).content.decode()))
    assert "second" in more


def test_the_models_context_stays_cleared():
    c = cleared_one()
    page(c, "?cleared=true")
    model = scripted(say("Hello."))
    tell(c, "after it")
    assert "before the clearing" not in str(model.requests)


def test_another_clear_takes_the_shown_part_away():
    c = cleared_one()
    c.refresh_from_db()
    after = c.seq
    tell(c, "/clear")
    assert 'hx-target="#cleared" hx-swap="delete"' in changes(c.pk, after)[1]


def link(c):
    """Where "Show what was cleared" leads."""
    return re.search(r'href="([^"]*)">Show what was cleared', log(c))[1]


def test_after_another_clear_the_link_leads_to_another_address():
    """To the address that is shown already, a browser only scrolls."""
    c = cleared_one()
    before = link(c)
    tell(c, "/clear")
    c.refresh_from_db()
    assert link(c) != before
    assert "before the clearing" in flat(
        page(c, link(c).partition(f"/c/{c.pk}/")[2]).content.decode()
    )


def test_somebody_else_sees_nothing_of_it():
    c = cleared_one()
    assert page(c, "?cleared=true", person("bob")).status_code == 404


def test_the_plan_that_was_cleared_is_still_there():
    c = proposed_plan("Read")
    plan = plan_of(c)
    tell(c, "/clear")
    assert plan.title in log(c, "?cleared=true")


# /new


def drawer_of(c):
    client = Client()
    client.force_login(c.owner)
    html = flat(client.get(f"/c/{c.pk}/").content.decode())
    return html.split('id="plan"', 1)[1].split("</aside>", 1)[0]


def finished():
    c = proposed_plan("Read")
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
    c = proposed_plan("Read")
    actions.cancel_plan(plan_of(c), "alice")
    tell(c, "/new")
    assert plan_of(c).reason == "cancelled"
    assert "Cancelled" in drawer_of(c)


def test_new_gives_up_an_open_plan_and_the_drawer_does_not_say_that_there_was_none():
    c = proposed_plan("Read")
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


def test_what_follows_new_stands_in_the_box_of_the_new_conversation():
    c = finished()
    fresh = tell(c, "/new Read the guide\nand mend it").conversation
    assert Conversation.objects.get(pk=fresh.pk).draft == "Read the guide\nand mend it"


def test_clear_takes_a_finished_plan_out_of_the_drawer():
    c = finished()
    tell(c, "/clear")
    assert ActivePlan.objects.get(conversation=c).plan is None


@pytest.mark.parametrize("shown", ["the newer", "the older"])
@pytest.mark.parametrize("typed", ["/clear", "/new"])
def test_every_open_plan_of_the_conversation_ends_and_is_named(typed, shown):
    c = proposed_plan("Read")
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
    c = proposed_plan("Read")
    said = tell(c, "/new")
    assert not said.conversation.messages.exists()


def test_what_waits_to_be_sent_goes_back_into_the_message_box_and_what_was_written_says_why():
    c = conversation()
    scripted(silent("Half of an answer"))

    async def story(worker):
        await in_db(handle_message, c, "the first", "alice")
        await eventually(lambda: Message.objects.filter(streaming=True).exists())
        await in_db(handle_message, c, "the second", "alice")
        await in_db(handle_message, c, "the third", "alice")
        await in_db(handle_message, c, "/clear", "alice")
        await eventually(lambda: not Turn.objects.filter(state="running").exists())

    happening(story)
    c.refresh_from_db()
    assert c.unsent == "the second\n\nthe third"
    assert not Message.objects.filter(conversation=c, text__in=["the second", "the third"]).exists()
    above = log(c, "?cleared=true")
    assert "Cleared while it was being written." in above
    assert "You stopped this reply" not in above


def test_new_leaves_what_waits_to_be_sent_in_the_message_box_of_the_old_conversation():
    c = conversation()
    handle_message(c, "not gone out yet", "alice")
    handle_message(c, "/new", "alice")
    c.refresh_from_db()
    assert c.unsent == "not gone out yet"


def test_new_that_is_sent_again_leads_to_the_conversation_that_it_began():
    c = conversation()
    first = handle_message(c, "/new", "alice", sent_as="once")
    again = handle_message(c, "/new", "alice", sent_as="once")
    assert again.conversation.pk == first.conversation.pk != c.pk
    assert Conversation.objects.count() == 2
    other = handle_message(c, "/new", "alice", sent_as="another")
    assert other.conversation.pk not in (c.pk, first.conversation.pk)
    theirs = conversation(owner="bob")
    assert handle_message(theirs, "/new", "bob", sent_as="once").conversation.owner == theirs.owner
