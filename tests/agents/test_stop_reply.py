"""Stopping a reply: what waited behind it starts by itself no more, and none of it is lost."""

import pytest

from agents.db import in_db
from agents.models import Conversation, Message
from tests.fake_model import silent
from tests.inner import agents_actions as talk
from tests.inner import handle_message as person_says
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

    happening(story, at_once=True)
    c.refresh_from_db()
    assert c.unsent == "\n\n".join([*queued, *([typed] if typed else [])])
    assert texts(c, role="user") == ["first"]


@pytest.fixture
def stopped():
    """A conversation with a reply that was stopped while "second" waited behind it; the number of
    the last event before that."""
    c = conversation()
    scripted(silent("thinking"))

    async def story(worker):
        await in_db(person_says, c, "first", "alice")
        await eventually(lambda: Message.objects.filter(streaming=True).exists())
        await in_db(person_says, c, "second", "alice")
        await in_db(c.refresh_from_db, fields=["seq"])
        await in_db(talk.stop_reply, c, "alice")

    happening(story)
    before, c = c.seq, Conversation.objects.get(pk=c.pk)
    return c, before


@pytest.mark.parametrize(("path", "box"), [("draft", "second\n\ntyped late"), ("say", "second")])
def test_a_page_that_has_not_seen_the_stop_leaves_what_it_gave_back(client, stopped, path, box):
    c, before = stopped
    post(client, c, path, "typed late", seen=before)
    assert kept(c) == box


def test_what_a_stop_gave_back_is_kept_once_by_the_page_that_shows_it(client, stopped):
    c, before = stopped
    assert post(client, c, "draft", "second\n\ntyped on", seen=c.seq).status_code == 204
    assert kept(c) == "second\n\ntyped on"
    # What comes from a page that has not seen it yet, or late, is older than that.
    assert post(client, c, "draft", "typed before", seen=before).status_code == 409
    assert kept(c) == "second\n\ntyped on"


def test_stopping_twice_keeps_what_the_first_stop_gave_back(client):
    c = conversation()
    scripted(silent("thinking"))

    async def story(worker):
        await in_db(person_says, c, "first", "alice")
        await eventually(lambda: Message.objects.filter(streaming=True).exists())
        await in_db(person_says, c, "second", "alice")
        await in_db(post, client, c, "stop")
        await in_db(post, client, c, "stop")

    happening(story)
    assert kept(c) == "second"


def test_what_two_stops_give_back_stands_in_the_order_it_was_sent_in():
    c = conversation()
    talk.save_draft(c, "typed")
    for text in ("first", "second", "third"):
        talk.keep_unsent(c, [talk.start_turn(c, text, "alice")[1]], "stopped")
    assert kept(c) == "first\n\nsecond\n\nthird\n\ntyped"


def test_a_draft_longer_than_a_message_is_kept_whole(client):
    c = conversation()
    post(client, c, "draft", "x" * 300_000)
    assert len(kept(c)) == 300_000


def kept(c):
    return Conversation.objects.get(pk=c.pk).unsent


def post(client, c, path, text="", seen=None):
    client.force_login(c.owner)
    headers = {"HX-Request": "true"} | ({} if seen is None else {"Planside-Seen": str(seen)})
    return client.post(f"/c/{c.pk}/{path}", {"text": text}, headers=headers)
