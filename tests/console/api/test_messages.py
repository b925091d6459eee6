"""Alternatives and the model of a conversation, as scripts have them."""

import pytest

from agents.models import Conversation, Message, Turn
from tests.fake_model import say
from tests.world import drive, scripted


@pytest.fixture
def chat(alice):
    chat = alice.talk()
    tell(alice, chat, "first", say("One."))
    return chat


def tell(api, chat, text, *replies):
    scripted(*replies)
    api.patch(f"/agents/{api.user.username}-writer", {"provider": "openai", "model": "scripted"})
    said = api.post(f"/conversations/{chat}/messages", {"text": text})
    drive()
    return said.json()["message"]["id"]


def listed(api, chat, query=""):
    return api.get(f"/conversations/{chat}/messages{query}").json()["items"]


def texts(rows):
    return [row["text"] for row in rows]


def id_of(text):
    return Message.objects.filter(text=text).latest("pk").pk


def test_a_reply_is_asked_for_again_by_its_id_or_that_of_its_message(alice, chat):
    for text, reply in (("One.", "Uno."), ("first", "Un.")):
        scripted(say(reply))
        answer = alice.post(f"/messages/{id_of(text)}/again")
        assert answer.status_code == 202
        assert answer.json()["turn"]["state"] == "queued"
        drive()
        assert texts(listed(alice, chat)) == ["first", reply]


def test_the_list_has_the_shown_ones_or_all_with_their_place(alice, chat):
    scripted(say("Uno."))
    alice.post(f"/messages/{id_of('One.')}/again", {"model": "openai/another"})
    drive()
    (asked, reply) = listed(alice, chat)
    assert asked["alternative"] == reply["alternative"] == {"number": 2, "count": 2}
    assert (reply["model"], reply["hidden"]) == ("openai/another", False)
    every = listed(alice, chat, "?alternatives=all")
    assert texts(every) == ["first", "One.", "first", "Uno."]
    assert [row["hidden"] for row in every] == [True, True, False, False]
    assert every[0]["alternative"] == {"number": 1, "count": 2}
    assert every[1]["model"] == "openai/scripted"


def test_a_conversation_without_alternatives_says_so(alice, chat):
    assert {row["alternative"] for row in listed(alice, chat)} == {None}


def test_a_message_is_edited_and_walked_back_to(alice, chat):
    scripted(say("Ein."))
    old = id_of("first")
    answer = alice.patch(f"/messages/{old}", {"text": "erstens"})
    assert (answer.status_code, answer.json()["message"]["text"]) == (202, "erstens")
    drive()
    assert texts(listed(alice, chat)) == ["erstens", "Ein."]
    back = alice.post(f"/messages/{old}/show")
    assert (back.status_code, back.json()["hidden"]) == (200, False)
    assert texts(listed(alice, chat)) == ["first", "One."]
    assert alice.post(f"/messages/{old}/show").status_code == 200


def test_a_message_deep_in_another_alternative_is_shown_with_the_way_to_it(alice, chat):
    tell(alice, chat, "second", say("Two."))
    scripted(say("Uno."))
    alice.post(f"/messages/{id_of('One.')}/again")
    drive()
    alice.post(f"/messages/{id_of('Two.')}/show")
    assert texts(listed(alice, chat)) == ["first", "One.", "second", "Two."]


def test_what_cannot_be_is_one_sentence(alice, bob, chat, said):
    message, reply = id_of("first"), id_of("One.")
    said(alice.post("/messages/999/again"), 404)
    for call in (
        lambda: bob.post(f"/messages/{reply}/again"),
        lambda: bob.patch(f"/messages/{message}", {"text": "mine"}),
        lambda: bob.post(f"/messages/{message}/show"),
    ):
        said(call(), 404)
    said(alice.patch(f"/messages/{reply}", {"text": "other"}), 409)
    said(alice.patch(f"/messages/{message}", {"text": "  "}), 422)
    said(alice.post(f"/messages/{reply}/again", {"model": "nobody/x"}), 404)
    said(alice.post(f"/messages/{reply}/again", {"temperature": 1}), 422)
    alice.post(f"/conversations/{chat}/messages", {"text": "/help"})
    said(alice.patch(f"/messages/{id_of('/help')}", {"text": "help"}), 409)
    Turn.objects.update(state="running")
    assert said(alice.post(f"/messages/{reply}/again"), 409) == "Stop the reply first."
    assert texts(listed(alice, chat))[:2] == ["first", "One."]


# The model of a conversation


def test_a_model_is_chosen_for_a_conversation_from_the_next_message_on(alice, chat):
    path = f"/conversations/{chat}"
    assert alice.get(path).json()["model"] is None
    assert alice.patch(path, {"model": "openai/another"}).json()["model"] == "openai/another"
    model = scripted(say("Two."), say("Three."))
    alice.post(f"{path}/messages", {"text": "second"})
    drive()
    assert alice.patch(path, {"model": None}).json()["model"] is None
    alice.post(f"{path}/messages", {"text": "third"})
    drive()
    assert [each["model"] for each in model.requests] == ["another", "scripted"]


def test_a_queued_message_keeps_the_model_it_was_sent_to(alice, chat):
    path = f"/conversations/{chat}"
    alice.patch(path, {"model": "openai/another"})
    alice.post(f"{path}/messages", {"text": "second"})
    alice.patch(path, {"model": "openai/third"})
    model = scripted(say("Two."))
    drive()
    assert model.requests[0]["model"] == "another"


def test_the_title_and_the_model_are_changed_one_without_the_other(alice, chat):
    path = f"/conversations/{chat}"
    alice.patch(path, {"model": "openai/another"})
    answer = alice.patch(path, {"title": "New name"}).json()
    assert (answer["title"], answer["model"]) == ("New name", "openai/another")
    answer = alice.patch(path, {"model": "openai/third"}).json()
    assert (answer["title"], answer["model"]) == ("New name", "openai/third")


@pytest.mark.parametrize("model", ["another", "openai/", "/x", "openai/" + "x" * 201])
def test_a_model_that_cannot_be_is_refused(alice, chat, said, model):
    said(alice.patch(f"/conversations/{chat}", {"model": model}), 422)
    assert Conversation.objects.get(pk=chat).model == ""


def test_what_the_agent_says_of_its_own_models_window_is_not_said_of_another(alice, chat):
    alice.patch("/agents/alice-writer", {"context_window": 600})
    alice.patch(f"/conversations/{chat}", {"model": "openai/another"})
    alice.post(f"/conversations/{chat}/messages", {"text": "second"})
    assert Turn.objects.latest("pk").config["context_window"] is None
    alice.patch(f"/conversations/{chat}", {"model": None})
    alice.post(f"/conversations/{chat}/messages", {"text": "third"})
    assert Turn.objects.latest("pk").config["context_window"] == 600
