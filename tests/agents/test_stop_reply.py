"""Stopping a reply: what waited behind it starts by itself no more, and none of it is lost."""

import pytest

from agents import actions as talk
from agents.db import in_db
from agents.models import Message
from console.chat_commands import handle_message as person_says
from tests.fake_model import silent
from tests.world import conversation, eventually, happening, scripted, texts

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("typed", ["", "and wh"])
@pytest.mark.parametrize("queued", [["second"], ["second", "third"], ["b", "c\nd", "e", "f"]])
def test_all_that_was_queued_is_in_the_composer_in_its_order(queued, typed):
    c = conversation()
    scripted(silent("thinking"))

    async def story(worker):
        await in_db(person_says, c, "first", "alice")
        await eventually(lambda: Message.objects.filter(streaming=True).exists())
        for text in queued:
            await in_db(person_says, c, text, "alice")
        await in_db(talk.save_draft, c, typed)
        await in_db(talk.stop_reply, c, "alice")
        await eventually(lambda: not c.turns.filter(state__in=["queued", "running"]).exists(), 2)

    happening(story)
    c.refresh_from_db()
    assert c.draft == "\n\n".join([*queued, *([typed] if typed else [])])
    assert texts(c, role="user") == ["first"]


@pytest.mark.parametrize("path", ["draft", "stop", "say"])
def test_a_page_that_has_not_seen_the_stop_leaves_what_it_gave_back(client, path):
    c = conversation()
    scripted(silent("thinking"))

    async def story(worker):
        await in_db(person_says, c, "first", "alice")
        await eventually(lambda: Message.objects.filter(streaming=True).exists())
        await in_db(person_says, c, "second", "alice")
        await in_db(c.refresh_from_db, fields=["seq"])
        await in_db(talk.stop_reply, c, "alice")
        await in_db(post, client, c, path, "typed late", {"Planside-Seen": str(c.seq)})

    happening(story)
    c.refresh_from_db()
    assert c.draft == "second"
    post(client, c, "draft", "second, typed on", {"Planside-Seen": str(c.seq)})
    c.refresh_from_db()
    assert c.draft == "second, typed on"


def test_stopping_twice_keeps_what_the_first_stop_gave_back(client):
    c = conversation()
    scripted(silent("thinking"))

    async def story(worker):
        await in_db(person_says, c, "first", "alice")
        await eventually(lambda: Message.objects.filter(streaming=True).exists())
        await in_db(person_says, c, "second", "alice")
        await in_db(stop_from_the_page, client, c, "typed since")
        await in_db(stop_from_the_page, client, c, "second\n\ntyped since")

    happening(story)
    c.refresh_from_db()
    assert c.draft == "second\n\ntyped since"


def stop_from_the_page(client, c, text):
    post(client, c, "stop", text)


def post(client, c, path, text, headers=()):
    client.force_login(c.owner)
    headers = {"HX-Request": "true", **dict(headers)}
    return client.post(f"/c/{c.pk}/{path}", {"text": text}, headers=headers)
