"""What is said to a model that does not exist is not sent: the message is kept, and it says why."""

import json

import pytest

from agents.models import Message, Turn
from tests.fake_model import say
from tests.inner import Listing, ModelInfo, catalog, create_token, resolve
from tests.markup import html
from tests.world import HTMX, conversation, person, scripted, signed_in, tell

pytestmark = pytest.mark.django_db(transaction=True)

SENTENCE = "There is no model scripted at OpenAI. Nothing was sent, and your message is kept."


def lists(*models):
    listing = Listing("openai", models=[ModelInfo(name) for name in models])
    catalog.store(resolve("openai"), listing, 0.1)


def post(c, text):
    return signed_in(person()).post(f"/c/{c.pk}/say", {"text": text}, headers=HTMX)


@pytest.fixture
def chat():
    return conversation(plan={"enabled": True})


@pytest.mark.parametrize("text", ["hello", "/plan tidy up"])
def test_nothing_is_sent_and_the_message_is_in_the_box(chat, text):
    lists("other")
    answer = post(chat, text)
    assert answer.status_code == 409
    assert not Turn.objects.exists()
    assert not Message.objects.exists()
    chat.refresh_from_db()
    assert chat.draft == text
    note = html(answer)
    assert '<hx-partial hx-target="#agent-note"' in note
    assert "<b>There is no model scripted at OpenAI.</b>" in note
    assert "Nothing was sent, and your message is kept." in note


def test_it_is_sent_where_the_model_is_there_or_nothing_is_known(chat):
    scripted(say("Hello."), say("Again."))
    tell(chat, "hello")
    lists("scripted")
    tell(chat, "once more")
    assert Turn.objects.filter(state="done").count() == 2


def test_scripts_are_refused_in_one_sentence(chat):
    lists("other")
    headers = {"Authorization": f"Bearer {create_token(person(), 'script')}"}
    address = f"/api/conversations/{chat.pk}/messages"
    client = signed_in(person())
    answer = client.post(
        address, json.dumps({"text": "hello"}), content_type="application/json", headers=headers
    )
    assert (answer.status_code, answer.json()["detail"]) == (409, SENTENCE)
    assert not Message.objects.exists()


def test_a_reply_is_not_asked_for_again_of_a_model_that_does_not_exist(chat):
    scripted(say("Hello."))
    tell(chat, "hello")
    lists("scripted")
    [turn] = Turn.objects.all()
    answer = signed_in(person()).post(
        f"/c/{chat.pk}/turns/{turn.pk}/again", {"model": "openai/none"}, headers=HTMX
    )
    assert answer.status_code == 409
    assert "There is no model none at OpenAI." in html(answer)
    turn.refresh_from_db()
    assert not turn.hidden, "the reply stays"


def test_a_word_about_a_plan_and_a_command_need_no_model(chat):
    lists("other")
    assert post(chat, "/help").status_code == 200
