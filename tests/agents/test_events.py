"""Telling listeners that there is something to read."""

import asyncio

import pytest
from asgiref.sync import SyncToAsync, sync_to_async
from channels.layers import get_channel_layer
from django.utils import timezone

from agents import events
from agents.engine import persistence
from agents.models import Conversation, Event, Message, TurnState
from tests.world import conversation


async def told(layer, channel):
    async with asyncio.timeout(2):
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
        await asyncio.sleep(0.05)
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
