"""A new chat: an empty one, and only one of them however often it is asked for."""

import pytest

from agents.models import Conversation
from tests.fake_model import say
from tests.inner import (
    choose_model,
    delete_conversation,
    pin_conversation,
    rename_conversation,
    save_draft,
)
from tests.inner import handle_message as person_says
from tests.world import conversation, person, scripted

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def here(client):
    c = conversation()
    client.force_login(person())
    return c


def opened(client, c, **more):
    answer = client.post("/c/new", {"agent": c.agent_id, **more})
    return int(answer.headers["Location"].strip("/").split("/")[-1])


def test_asking_for_a_new_chat_often_leaves_one_behind(client, here):
    person_says(here, "hello", "alice")
    first = opened(client, here)
    assert first != here.pk
    assert [opened(client, here) for _ in range(3)] == [first] * 3
    assert Conversation.objects.count() == 2


def test_opening_the_address_of_the_button_leads_to_a_chat_and_begins_none(client, here):
    answer = client.get("/c/new", follow=True)
    assert answer.status_code == 200 and answer.redirect_chain[-1][0] == f"/c/{here.pk}/"
    assert Conversation.objects.count() == 1


def test_the_empty_one_comes_to_the_top_of_the_list(client, here):
    long_ago = here.created_at.replace(year=2020)
    Conversation.objects.filter(pk=here.pk).update(updated_at=long_ago)
    conversation()
    assert opened(client, here) == here.pk
    newest = Conversation.objects.order_by("-updated_at").first()
    assert newest is not None and newest.pk == here.pk


def test_what_is_to_be_said_stands_in_the_empty_one(client, here):
    assert opened(client, here, text="/plan tidy up") == here.pk
    here.refresh_from_db()
    assert here.draft == "/plan tidy up"


TOUCHED = {
    "a message": lambda c: (scripted(say("Hi.")), person_says(c, "hello", "alice")),
    "a draft": lambda c: save_draft(c, "half a sen"),
    "a title": lambda c: rename_conversation(c, "Mine"),
    "a pin": lambda c: pin_conversation(c, True),
    "a model": lambda c: choose_model(c, "demo/docs"),
    "gone": delete_conversation,
    "a file": lambda c: c.attachments.create(media_type="text/plain", in_box=True),
    "somebody else's": lambda c: Conversation.objects.filter(pk=c.pk).update(owner=person("bob")),
}


@pytest.mark.parametrize("touch", TOUCHED)
def test_a_conversation_that_holds_anything_is_no_new_chat(client, here, touch):
    TOUCHED[touch](here)
    assert opened(client, here) != here.pk
