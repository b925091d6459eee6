"""When a plan ends, the conversation says so once, with what came of it."""

import pytest
from django.test import Client

from agents.models import Message
from plans import actions
from plans.documents import create_plan
from tests.fake_model import call, fails, say
from tests.markup import flat
from tests.world import conversation, drive, plan_of, proposed, scripted

pytestmark = pytest.mark.django_db(transaction=True)

OUTCOME = "All **done**:\n\n- the docs\n- the links"


def page(c):
    client = Client()
    client.force_login(c.owner)
    return flat(client.get(f"/c/{c.pk}/").content.decode())


def closing(html):
    """The card as it stands in the page; there is one."""
    assert html.count('data-kind="closing"') == 1
    return html.split('data-kind="closing"', 1)[1].split("</article>", 1)[0]


def test_the_outcome_a_tool_gave_stands_in_the_chat_with_its_lines_and_the_facts():
    c = proposed("Read", "Write")
    actions.approve_plan(plan_of(c), 1, "alice", run="no")
    actions.skip_subtask(plan_of(c), "s2", "alice", "not needed")
    scripted(call("finish_subtask", outcome="read"), call("finish_plan", outcome=OUTCOME))
    actions.run_plan(plan_of(c), "alice")
    drive()
    card = closing(page(c))
    assert "<strong>done</strong>" in card
    assert "the links</li>" in card
    assert "2 of 2 · 1 done, 1 abandoned" in card
    assert "Finished at" in card
    assert "Skipped by you: not needed" in card


def test_what_the_agent_has_said_itself_is_not_said_twice():
    c = proposed("Read")
    scripted(call("finish_subtask", outcome="read"), say("It is all read."))
    actions.approve_plan(plan_of(c), 1, "alice")
    drive()
    html = page(c)
    assert "It is all read." not in closing(html)
    assert "It is all read." in html


def test_an_approved_document_and_a_plan_of_skipped_steps_have_one_too():
    plan = create_plan(conversation(), title="T", content="Words.", by="alice")
    actions.approve_plan(plan, 1, "alice")
    assert "Approved as v1." in closing(page(plan.conversation))

    c = proposed("Read")
    actions.approve_plan(plan_of(c), 1, "alice", run="no")
    actions.skip_subtask(plan_of(c), "s1", "alice")
    scripted(say("Nothing came of it."))
    drive()
    assert "Ended without a result at" in closing(page(c))


def test_a_cancelled_plan_has_none_and_a_finished_one_has_one_though_it_is_ended_twice():
    c = proposed("Read")
    actions.cancel_plan(plan_of(c), "alice")
    assert not Message.objects.filter(meta__has_key="closing").exists()
    plan = create_plan(conversation(), title="T", content="Words.", by="alice")
    for _ in range(2):
        actions.approve_plan(plan, 1, "alice")
        actions.finish_plan(plan, "again", "alice")
    assert Message.objects.filter(meta__has_key="closing").count() == 1


LISTED = "- Read: Three files.\n  And a fourth.\n- Write: written"


def test_an_outcome_put_together_is_a_list_in_the_drawer_the_card_and_the_page():
    c = proposed("Read", "Write")
    done = [
        call("finish_subtask", outcome=text) for text in ("Three files.\nAnd a fourth.", "written")
    ]
    scripted(*done, fails(401))
    actions.approve_plan(plan_of(c), 1, "alice")
    drive()
    assert plan_of(c).outcome == LISTED
    client = Client()
    client.force_login(c.owner)
    html = page(c)
    drawer = html.split('id="plan"', 1)[1].split("</aside>", 1)[0]
    for shown in (
        drawer,
        closing(html),
        flat(client.get(f"/plans/{plan_of(c).pk}/").content.decode()),
    ):
        assert "Write: written</li>" in shown
        assert "Read: Three files.\nAnd a fourth.</li>" in shown
