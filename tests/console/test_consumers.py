"""The socket: whose it is, what it says first, and that it follows what happens."""

import asyncio
import threading
from functools import partial

import pytest
from channels.layers import get_channel_layer
from channels.testing import WebsocketCommunicator

from agents.db import in_db
from agents.models import Conversation, Message
from console.asgi import application
from plans import actions
from tests.inner import (
    NOT_YOURS,
    SIGN_IN,
    consumers,
    fragments,
    group_of,
    sessions,
    text_group_of,
)
from tests.inner import Conversation as Consumer
from tests.inner import actions_add_message as add_message
from tests.waiting import nothing_comes
from tests.world import conversation, person, plan_of, proposed

pytestmark = pytest.mark.django_db(transaction=True)


def socket(pk, user=None, after=0):
    communicator = WebsocketCommunicator(
        Consumer.as_asgi(), f"/ws/conversations/{pk}/?after={after}"
    )
    communicator.scope["url_route"] = {"kwargs": {"pk": pk}}
    communicator.scope["user"] = user
    return communicator


async def closed_with(communicator):
    await communicator.connect()
    return (await communicator.receive_output())["code"]


async def test_a_stranger_is_told_to_sign_in():
    c = await in_db(conversation)
    assert await closed_with(socket(c.pk)) == SIGN_IN


async def test_someone_elses_conversation_is_not_there():
    c = await in_db(conversation)
    charlie = await in_db(person, "charlie")
    assert await closed_with(socket(c.pk, charlie)) == NOT_YOURS


@pytest.mark.parametrize("name", [None, "charlie"])
async def test_who_was_not_let_in_is_read_nothing_by_naming_an_event(name, no_waiting):
    c = await in_db(proposed, "Read")
    refused = socket(c.pk, name and await in_db(person, name))
    assert await closed_with(refused) in (SIGN_IN, NOT_YOURS)
    for event in (5, 10**17):
        await refused.send_to(str(event))
    assert await nothing_comes(refused)


async def test_who_is_let_go_is_told_nothing_more(no_waiting):
    c = await in_db(proposed, "Read")
    ours = socket(c.pk, await in_db(person))
    await ours.connect()
    await ours.receive_from()
    await in_db(Conversation.objects.filter(pk=c.pk).update, owner=await in_db(person, "bob"))
    assert (await ours.receive_output())["code"] == NOT_YOURS
    await ours.send_to(str(10**17))
    await in_db(add_message, c, "notice", "For bob alone.")
    assert await nothing_comes(ours)
    await ours.disconnect()


async def test_another_site_cannot_open_a_socket():
    communicator = WebsocketCommunicator(
        application,
        "/ws/conversations/1/",
        headers=[(b"origin", b"https://elsewhere.example"), (b"host", b"localhost")],
    )
    connected, _ = await communicator.connect()
    assert not connected


async def test_it_first_says_how_things_are():
    c = await in_db(proposed, "Read", "Write")
    ours = socket(c.pk, await in_db(person))
    await ours.connect()
    html = await ours.receive_from()
    assert 'id="plan"' in html
    assert "Write" in html
    await ours.disconnect()


async def test_it_brings_what_happens_and_nothing_twice(no_waiting):
    c = await in_db(proposed, "Read")
    seq = (await in_db(Conversation.objects.get, pk=c.pk)).seq
    ours = socket(c.pk, await in_db(person), after=seq)
    await ours.connect()
    first = await ours.receive_from()
    assert 'data-kind="text"' not in first
    await in_db(add_message, c, "notice", "It has happened.")
    html = await ours.receive_from()
    assert html.count("It has happened.") == 1
    assert await nothing_comes(ours)
    await ours.disconnect()


async def test_a_burst_of_events_is_read_together(monkeypatch):
    c = await in_db(conversation)
    ours = socket(c.pk, await in_db(person))
    await ours.connect()
    await ours.receive_from()
    is_read, goes_on = threading.Event(), threading.Event()
    read = fragments.changes

    def read_slowly(pk, after):
        changes = read(pk, after)
        is_read.set()
        assert goes_on.wait(10)
        return changes

    monkeypatch.setattr(fragments, "changes", read_slowly)
    await in_db(add_message, c, "notice", "The first.")
    assert await asyncio.to_thread(is_read.wait, 10)
    await in_db(say_much, c)
    goes_on.set()
    frames = [await ours.receive_from() for _ in range(2)]
    assert [frame.count('data-kind="notice"') for frame in frames] == [1, 20]
    await ours.disconnect()


def say_much(c):
    for number in range(20):
        add_message(c, "notice", f"notice {number}.")


async def test_a_change_is_drawn_once_for_all_pages_and_shown_on_each(monkeypatch):
    c = await in_db(proposed, "Read")
    alice = await in_db(person)
    pages = [socket(c.pk, alice) for _ in range(4)]
    for page in pages:
        await page.connect()
        await page.receive_from()
    drawn = []
    for name in ("plan_first", "the_rest", "changes"):
        draw = getattr(fragments, name)
        spy = partial(lambda draw, *args: drawn.append(draw.__name__) or draw(*args), draw)
        monkeypatch.setattr(fragments, name, spy)
    await in_db(actions.update_subtask, await in_db(plan_of, c), "s1", {"name": "Read on"}, "alice")
    for page in pages:
        glance, rest = [await page.receive_from() for _ in range(2)]
        assert "Read on" in glance and 'id="cursor"' in rest
    assert sorted(drawn) == ["plan_first", "the_rest"]
    assert not consumers.drawing
    for page in pages:
        await page.disconnect()


async def test_what_nobody_announced_is_read_when_the_page_names_it(monkeypatch, no_waiting):
    monkeypatch.setattr(sessions, "CHECK_EVERY", 60)
    c = await in_db(conversation)
    ours = socket(c.pk, await in_db(person))
    await ours.connect()
    await ours.receive_from()
    get_channel_layer().groups.clear()  # as a Redis that has forgotten who listens
    await in_db(add_message, c, "notice", "It has happened.")
    assert await nothing_comes(ours)
    await ours.send_to(str((await in_db(Conversation.objects.get, pk=c.pk)).seq))
    assert "It has happened." in await ours.receive_from()
    await ours.disconnect()


async def test_what_nobody_announced_is_shown_soon_all_the_same(no_waiting):
    c = await in_db(conversation)
    ours = socket(c.pk, await in_db(person))
    await ours.connect()
    await ours.receive_from()
    get_channel_layer().groups.clear()
    await in_db(add_message, c, "notice", "It has happened.")
    assert "It has happened." in await ours.receive_from()
    await ours.disconnect()


async def test_what_the_page_waits_for_does_not_wait_for_a_burst_to_end(monkeypatch):
    monkeypatch.setattr(consumers, "BURST", 60)
    c = await in_db(conversation)
    ours = socket(c.pk, await in_db(person))
    await ours.connect()
    await in_db(say_much, c)  # one more is announced while one is read
    await in_db(add_message, c, "notice", "And mine.")
    await ours.send_to(str((await in_db(Conversation.objects.get, pk=c.pk)).seq))
    while "And mine." not in await ours.receive_from():
        pass
    await ours.disconnect()


@pytest.mark.parametrize("named", ["0", "1", "-1", "one", "9" * 40])
async def test_a_page_that_names_nothing_new_is_sent_nothing(named, no_waiting):
    c = await in_db(conversation)
    await in_db(add_message, c, "notice", "It has happened.")
    ours = socket(c.pk, await in_db(person))
    await ours.connect()
    await ours.receive_from()
    await ours.send_to(named)
    assert await nothing_comes(ours)
    await ours.disconnect()


async def test_streamed_text_goes_through_as_it_comes():
    c = await in_db(conversation)
    ours = socket(c.pk, await in_db(person))
    await ours.connect()
    await ours.receive_from()
    frame = {"type": "text.streamed", "message": 5, "blocks": [[0, "Nine of **fourteen**"]]}
    await get_channel_layer().group_send(text_group_of(c.pk), frame)
    assert "<strong>fourteen</strong>" in await ours.receive_from()
    await ours.disconnect()


async def test_text_saved_between_the_page_and_its_socket_is_not_lost():
    c = await in_db(conversation)
    message = await in_db(add_message, c, Message.Kind.TEXT, "", "assistant")
    await in_db(Message.objects.filter(pk=message.pk).update, streaming=True, text="Half of it")
    drawn = (await in_db(Conversation.objects.get, pk=c.pk)).seq
    page = socket(c.pk, await in_db(person, "alice"), after=drawn)
    await page.connect()
    assert "Half of it" in await page.receive_from()
    await page.disconnect()


async def test_a_deleted_conversation_closes_its_sockets():
    c = await in_db(conversation)
    ours = socket(c.pk, await in_db(person))
    await ours.connect()
    await ours.receive_from()
    await in_db(Conversation.objects.filter(pk=c.pk).delete)
    event = {"type": "conversation.event", "seq": 99, "event": "message.added"}
    await get_channel_layer().group_send(group_of(c.pk), event)
    assert (await ours.receive_output())["code"] == NOT_YOURS


# Drawing what streams


async def opened(name="alice"):
    c = await in_db(conversation)
    page = socket(c.pk, await in_db(person, name))
    await page.connect()
    await page.receive_from()
    return c, page


async def stream(c, *blocks):
    frame = {"type": "text.streamed", "message": 1, "blocks": list(blocks)}
    await get_channel_layer().group_send(text_group_of(c.pk), frame)


async def test_streamed_text_is_drawn_beside_the_event_loop(monkeypatch):
    c, page = await opened()
    threads = []
    draw = fragments.streamed

    def watched(*args):
        threads.append(threading.current_thread())
        return draw(*args)

    monkeypatch.setattr(fragments, "streamed", watched)
    await stream(c, (0, "hello"))
    assert "hello" in await page.receive_from()
    assert threading.main_thread() not in threads
    await page.disconnect()


async def all_heard():
    """Each page has taken what was announced."""
    for _ in range(100):  # turns of the loop; nothing here waits for a clock or a thread
        await asyncio.sleep(0)


async def test_frames_that_come_while_one_is_drawn_become_one(monkeypatch):
    c, page = await opened()
    drawing, go_on = threading.Event(), threading.Event()
    drawn = []

    def slowly(message, blocks):
        drawn.append(blocks)
        drawing.set()
        assert go_on.wait(10)
        return "x"

    monkeypatch.setattr(fragments, "streamed", slowly)
    await stream(c, (0, "one"))
    await asyncio.to_thread(drawing.wait, 10)
    await stream(c, (0, "one."), (1, "tw"))
    await stream(c, (1, "two"))
    await all_heard()
    go_on.set()
    for _ in range(2):
        await page.receive_from()
    assert drawn == [((0, "one"),), ((0, "one."), (1, "two"))]
    await page.disconnect()


async def test_text_that_grew_while_the_state_was_drawn_comes_after_it(monkeypatch):
    c = await in_db(proposed, "Read")
    draw, has_grown = fragments.changes, threading.Event()

    def drawn_late(*args, **kwargs):
        state = draw(*args, **kwargs)
        has_grown.wait(10)
        return state

    monkeypatch.setattr(fragments, "changes", drawn_late)
    ours = socket(c.pk, await in_db(person))
    await ours.connect()
    frame = {"type": "text.streamed", "message": 5, "blocks": [[0, "Half a sentence"]]}
    await get_channel_layer().group_send(text_group_of(c.pk), frame)
    await all_heard()
    assert await ours.receive_nothing(0)
    has_grown.set()
    assert "Half a sentence" not in await ours.receive_from()
    assert "Half a sentence" in await ours.receive_from()
    await ours.disconnect()
