"""Telling listeners that there is something to read."""

import asyncio

import pytest
from asgiref.sync import SyncToAsync, sync_to_async
from channels.layers import get_channel_layer
from django.utils import timezone

from agents.db import in_db
from agents.models import Conversation, Event, Message, Turn, TurnState
from tests.fake_model import say
from tests.inner import events, lifecycle, persistence, start_turn
from tests.world import conversation, happening, scripted


async def told(layer, channel):
    async with asyncio.timeout(60):
        return await layer.receive(channel)


def event(seq, type):
    return events.document(seq, type, "", "", "system", {}, timezone.now())


async def listening(group):
    layer = get_channel_layer()
    channel = await layer.new_channel()
    await layer.group_add(group, channel)
    return layer, channel


async def test_announcements_in_the_wrong_order_tell_the_newest_number(monkeypatch):
    layer, channel = await listening(events.group_of(7))
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(SyncToAsync.threadlocal, "main_event_loop", loop, raising=False)
    events.announce(7, event(6, "turn.ended"))
    events.announce(7, event(5, "plan.updated"))  # committed before, told after
    message = await told(layer, channel)
    assert (message["seq"], message["plan"]) == (6, True)
    assert [each["seq"] for each in message["events"]] == [5, 6]


class SlowLayer:
    """One whose messages are on the way for a while."""

    def __init__(self):
        self.said, self.told = [], []

    async def group_send(self, group, message):
        for _ in range(20):
            await asyncio.sleep(0)
        self.said.append((group, message["seq"]))
        self.told += message["events"]


async def test_what_is_being_told_is_waited_for_at_the_end(monkeypatch):
    layer = SlowLayer()
    monkeypatch.setattr(events, "get_channel_layer", lambda: layer)
    await sync_to_async(events.announce)(8, event(1, "turn.ended"))
    await events.wait_until_sent()
    assert layer.said == [(events.group_of(8), 1)]


@pytest.mark.django_db
def test_an_announcement_carries_its_events_as_they_are_read(
    monkeypatch, django_capture_on_commit_callbacks
):
    layer = SlowLayer()
    monkeypatch.setattr(events, "get_channel_layer", lambda: layer)
    c = conversation()
    data = {"state": TurnState.DONE, "text": "half a \ud83d", "at": (1, 2.5, None)}
    with django_capture_on_commit_callbacks(execute=True):
        events.record(c, "turn.ended", "turn:1", "alice", **data)
    [row] = events.read_after(c.pk, 0)
    assert layer.told == [events.document_of(row)]
    assert row.data == {"state": "done", "text": "half a \ufffd", "at": [1, 2.5, None]}


@pytest.mark.django_db
def test_numbers_have_no_gap_and_no_number_belongs_to_nobody():
    c = conversation()
    assert [events.record(c, "a.b", x=1), events.record(c.pk, "c.d")] == [1, 2]
    rows = Event.objects.filter(conversation=c).order_by("seq")
    assert [(row.seq, row.type, row.data) for row in rows] == [(1, "a.b", {"x": 1}), (2, "c.d", {})]
    assert Conversation.objects.get(pk=c.pk).seq == 2
    with pytest.raises(Conversation.DoesNotExist):
        events.record(c.pk + 1, "a.b")


@pytest.mark.django_db(transaction=True)
def test_a_message_is_there_when_its_number_is_announced(monkeypatch):
    c, changed = conversation(), []

    def announced(pk, event):
        changed.append(Message.objects.filter(conversation=pk, changed_seq=event["seq"]).exists())

    monkeypatch.setattr(events, "announce", announced)
    message = persistence.put(Message(role="assistant", kind="text", text="Here."), c.pk)
    persistence.touch(message, c.pk)
    assert changed == [True, True]


@pytest.mark.django_db(transaction=True)
def test_who_hears_of_a_reply_finds_its_turn_at_its_end():
    """Both are stored at once, so nothing that ends the process comes between."""
    c = conversation()
    scripted(say("Hello."))
    states = []

    async def story(worker):
        layer, channel = await listening(events.group_of(c.pk))
        await in_db(start_turn, c, "hi", "alice")
        types = []
        while "message.updated" not in types:
            types += [event["type"] for event in (await told(layer, channel))["events"]]
        states.append((await in_db(c.turns.get)).state)

    happening(story)
    assert states == ["done"]


@pytest.mark.django_db
@pytest.mark.parametrize("waiting", [0, 1])
def test_the_end_of_a_turn_wakes_the_workers_for_the_one_behind_it(
    waiting, django_capture_on_commit_callbacks
):
    c = conversation()
    turns = [start_turn(c, text, "alice")[1] for text in ("first", "second")[: waiting + 1]]
    Turn.objects.filter(pk=turns[0].pk).update(state=TurnState.RUNNING, epoch=1)
    turns[0].refresh_from_db()
    with django_capture_on_commit_callbacks() as callbacks:
        lifecycle.end(turns[0], TurnState.DONE)
    assert callbacks.count(events.wake) == waiting
