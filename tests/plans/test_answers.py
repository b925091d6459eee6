"""An answer belongs to the question that the person had read."""

import pytest
from django.test import Client

from agents.models import ToolCall
from plans import actions
from tests.fake_model import call
from tests.inner import handle_message as person_says
from tests.inner import message_views
from tests.markup import flat
from tests.world import drive, on_screen, plan_of, proposed, scripted, tell, texts

pytestmark = pytest.mark.django_db(transaction=True)


def asking():
    c = proposed("Read")
    scripted(call("ask_user", question="Why?"))
    tell(c, "go")
    assert plan_of(c).question == "Why?"
    return c, ToolCall.objects.get(tool="ask_user").pk


@pytest.mark.parametrize("seen", [0, 999])
def test_a_note_sent_just_as_a_question_arrives_is_no_answer_to_it(seen):
    c, _ = asking()
    said = person_says(c, "by the way, nice work", "alice", on_screen(c), question=seen)
    assert plan_of(c).question == "Why?"
    assert said.turn is not None
    assert texts(c, role="user")[-1] == "by the way, nice work"


def test_the_page_names_the_question_that_it_shows_and_answers_it():
    c, question = asking()
    client = Client()
    client.force_login(c.owner)
    html = flat(client.get(f"/c/{c.pk}/").content.decode())
    assert f'name="question" value="{question}"' in html
    plan = plan_of(c)
    seen = {"plan": plan.pk, "plan_version": plan.version}
    stale = {"text": "a note", "question": 0, **seen}
    client.post(f"/c/{c.pk}/say", stale, headers={"HX-Request": "true"})
    assert plan_of(c).question == "Why?"
    client.post(f"/c/{c.pk}/say", {**stale, "text": "Because.", "question": question})
    assert plan_of(c).question == ""
    assert ToolCall.objects.get(tool="ask_user").result == "The person answered: Because."


def test_of_two_answers_at_once_the_second_is_none_to_the_next_question(monkeypatch):
    """It was let in while the first question stood; then the first answer came before it."""
    c, question = asking()
    address, client = f"/c/{c.pk}/calls/{question}/answer", Client()
    client.force_login(c.owner)

    def meanwhile(_owner):
        scripted(call("ask_user", question="Delete all?"))
        actions.answer_question(plan_of(c), "Because.", "alice")
        drive()

    monkeypatch.setattr(message_views, "count_message", meanwhile)
    answer = client.post(address, {"text": "yes"}, headers={"HX-Request": "true"})
    assert (answer.status_code, plan_of(c).question) == (409, "Delete all?")


def test_a_door_that_does_not_say_what_was_read_still_answers():
    c, _ = asking()
    person_says(c, "Because.", "alice", on_screen(c))
    assert plan_of(c).question == ""
