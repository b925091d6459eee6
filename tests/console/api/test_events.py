import asyncio
import json

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient

from agents.models import Conversation
from tests.inner import Credential, events, tail
from tests.world import person


@pytest.fixture
def chat(alice):
    return alice.talk()


def test_events_are_listed_in_order_after_a_seq(alice, chat):
    for n in range(3):
        events.record(chat, "message.added", f"message:{n}", "alice", n=n)
    listed = alice.get(f"/conversations/{chat}/events?after=1").json()
    assert [row["seq"] for row in listed["items"]] == [2, 3]
    assert listed["count"] == 2
    last = listed["items"][-1]
    assert (last["type"], last["subject"], last["actor"], last["data"]) == (
        "message.added",
        "message:2",
        "alice",
        {"n": 2},
    )


@pytest.mark.parametrize("after", ["-1", "x"])
def test_a_seq_that_cannot_be_is_a_sentence(alice, chat, said, after):
    said(alice.get(f"/conversations/{chat}/events?after={after}"), 422)


def test_a_seq_far_ahead_brings_nothing(alice, chat):
    assert alice.get(f"/conversations/{chat}/events?after={'9' * 30}").json()["items"] == []


def read(frames):
    """[(id, type, document), …] of a piece of the stream."""
    assert not frames.startswith(":")
    found = []
    for block in frames.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines())
        found.append((int(fields["id"]), fields["event"], json.loads(fields["data"])))
    return found


record = sync_to_async(events.record)


async def listening(chat, after=0):
    """A stream of Alice's behind its first comment."""
    alice = await sync_to_async(person)("alice")
    stream = tail(chat, after, Credential(alice.pk, alice.password))
    assert (await anext(stream)).startswith(":")
    return stream


@pytest.fixture
def live(transactional_db, alice):
    return alice.talk()


async def test_a_tail_brings_what_is_there_and_then_what_comes(live):
    await record(live, "turn.queued")
    stream = await listening(live)
    assert [row[:2] for row in read(await anext(stream))] == [(1, "turn.queued")]
    coming = asyncio.create_task(anext(stream))
    await asyncio.sleep(0)
    await record(live, "turn.ended")
    assert [row[:2] for row in read(await asyncio.wait_for(coming, 60))] == [(2, "turn.ended")]
    await stream.aclose()


async def test_nothing_is_missed_or_repeated_in_a_burst(live):
    stream = await listening(live)
    for _ in range(30):
        await record(live, "message.updated")
    seen = []
    while len(seen) < 30:
        seen += [row[0] for row in read(await asyncio.wait_for(anext(stream), 60))]
    assert seen == list(range(1, 31))
    await stream.aclose()


async def tell(conversation, seq, *told):
    from channels.layers import get_channel_layer

    news = {"type": "conversation.event", "seq": seq, "plan": False, "events": list(told)}
    await get_channel_layer().group_send(events.group_of(conversation), news)


async def next_of(stream):
    return read(await asyncio.wait_for(anext(stream), 60))


async def test_what_is_announced_in_order_is_told_without_reading_it(live, monkeypatch):
    stream = await listening(live)
    await record(live, "turn.queued")
    assert [row[:2] for row in await next_of(stream)] == [(1, "turn.queued")]
    monkeypatch.setattr("console.api.events.read_events", None)  # would break the stream
    await record(live, "turn.ended", "turn:1", state="done")
    [(seq, type, document)] = await next_of(stream)
    assert (seq, type, document["subject"], document["data"]) == (
        2,
        "turn.ended",
        "turn:1",
        {"state": "done"},
    )
    await stream.aclose()


async def test_the_rows_are_read_where_an_announcement_is_missing(live, monkeypatch):
    stream = await listening(live)
    await record(live, "message.added")
    assert [row[0] for row in await next_of(stream)] == [1], "from here on it goes by what it hears"
    for type in ("turn.queued", "turn.started", "turn.ended"):
        with monkeypatch.context() as nobody_hears:
            nobody_hears.setattr(events, "announce", lambda *told: None)
            await record(live, type)
    rows = await sync_to_async(events.read_after)(live, 0)
    last = events.document_of(rows[-1])
    await tell(live, 4, last)
    assert [row[0] for row in await next_of(stream)] == [2, 3, 4]
    await stream.aclose()


async def test_an_announcement_that_comes_late_or_twice_tells_nothing(live):
    stream = await listening(live)
    for type in ("turn.queued", "turn.ended"):
        await record(live, type)
        await next_of(stream)
    rows = await sync_to_async(events.read_after)(live, 0)
    first, second = map(events.document_of, rows)
    await tell(live, 1, first)
    await tell(live, 2, first, second)
    await record(live, "message.added")
    assert [row[0] for row in await next_of(stream)] == [3]
    await stream.aclose()


async def test_an_announcement_that_names_no_events_is_read_from_the_rows(live, monkeypatch):
    """One of a process that is older than this one."""
    stream = await listening(live)
    with monkeypatch.context() as nobody_hears:
        nobody_hears.setattr(events, "announce", lambda *told: None)
        await record(live, "turn.queued")
    await tell(live, 1)
    assert [row[0] for row in await next_of(stream)] == [1]
    await stream.aclose()


async def test_a_live_tail_is_not_woken_by_streamed_text(live):
    from channels.layers import get_channel_layer

    stream = await listening(live)
    layer = get_channel_layer()
    assert events.text_group_of(live) not in layer.groups
    assert layer.groups[events.group_of(live)]
    await stream.aclose()


async def test_a_reader_that_leaves_is_forgotten(live):
    from channels.layers import get_channel_layer

    await record(live, "turn.queued")
    stream = await listening(live)
    await anext(stream)
    layer = get_channel_layer()
    assert layer.groups[events.group_of(live)]
    await stream.aclose()
    assert not layer.groups.get(events.group_of(live))


async def test_a_deleted_conversation_ends_the_tail(live, no_waiting):
    stream = await listening(live)
    await sync_to_async(Conversation.objects.all().delete)()
    with pytest.raises(StopAsyncIteration):
        await asyncio.wait_for(anext(stream), 60)


async def test_a_tail_without_news_says_that_it_is_still_there(live, no_waiting):
    stream = await listening(live)
    for _ in range(3):
        assert await asyncio.wait_for(anext(stream), 60) == ": still here\n\n"
    await stream.aclose()


async def test_with_the_accept_header_the_answer_is_a_stream_that_goes_on_from_the_last_id(
    live, alice
):
    for _ in range(3):
        await record(live, "turn.queued")
    answer = await AsyncClient().get(
        f"/api/conversations/{live}/events",
        headers={
            "Accept": "text/event-stream",
            "Last-Event-ID": "2",
            "Authorization": alice.client.defaults["HTTP_AUTHORIZATION"],
        },
    )
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    stream = aiter(answer)
    assert (await anext(stream)).startswith(b":")
    first = (await anext(stream)).decode()
    assert [row[0] for row in read(first)] == [3]
    await stream.aclose()


async def test_a_persons_open_streams_are_limited(live, alice, bob, said, settings):
    settings.SOCKETS_PER_PERSON = 2
    streams = [await listening(live) for _ in range(2)]
    path = f"/conversations/{live}/events"
    answer = await sync_to_async(alice.get)(path, Accept="text/event-stream")
    assert said(answer, 429) == "You have 2 event streams open: close one, then open another."
    assert int(answer.headers["Retry-After"]) > 0
    theirs = await sync_to_async(bob.talk)()
    answer = await sync_to_async(bob.get)(
        f"/conversations/{theirs}/events", Accept="text/event-stream"
    )
    assert answer.status_code == 200, "each person has a limit"
    listed = await sync_to_async(alice.get)(path)
    assert listed.status_code == 200, "a list is no stream"
    await streams[0].aclose()
    await (await listening(live)).aclose()
    await streams[1].aclose()


async def test_of_streams_that_were_let_in_at_once_those_too_many_end(live, settings):
    settings.SOCKETS_PER_PERSON = 1
    first = await listening(live)
    second = await listening(live)
    with pytest.raises(StopAsyncIteration):
        await asyncio.wait_for(anext(second), 60)
    await record(live, "turn.queued")
    assert [row[0] for row in await next_of(first)] == [1]
    await first.aclose()
    third = await listening(live)
    await record(live, "turn.ended")
    assert await next_of(third)
    await third.aclose()
