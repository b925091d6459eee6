"""Replies stream over the API while they are being written."""

import asyncio
import json

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient

from agents.models import Message
from tests.fake_model import call, say, think
from tests.inner import Credential, LiveText, LiveTexts, Text, handle_message, tail
from tests.inner import events_record as record
from tests.world import conversation, happening, person, scripted

pytestmark = pytest.mark.django_db(transaction=True)

LONG = "One.\n\nTwo is **longer**.\n\n```\ncode\n\nmore\n```\n\nÄ🙂 at the end."


class Reader:
    """Puts the pieces together as a client does."""

    def __init__(self, pk, alice, after=0):
        self.stream = tail(pk, after, Credential(alice.pk, alice.password), LiveTexts(pk))
        self.pieces, self.texts, self.done, self.seq = [], {}, set(), after
        self.is_growing = True

    async def read(self, until):
        async with asyncio.timeout(10):
            while not until(self):
                for block in (await anext(self.stream)).strip().split("\n\n"):
                    self.take(dict(line.split(": ", 1) for line in block.splitlines()))

    def take(self, fields):
        if "id" in fields:
            self.seq = int(fields["id"])
        if fields.get("event") != "text":
            return
        piece = json.loads(fields["data"])
        self.pieces.append(piece)
        had = self.texts.get(piece["message"], "")
        assert piece["from"] <= len(had), "a piece continues what is there"
        assert piece["text"] or piece["done"], "only what is new is told"
        self.texts[piece["message"]] = had[: piece["from"]] + piece["text"]
        self.is_growing &= self.texts[piece["message"]].startswith(had)
        if piece["done"]:
            self.done.add(piece["message"])


def test_a_reply_and_its_reasoning_stream_piece_by_piece():
    c, alice = conversation(), person()
    scripted({**think("Hmm, well.", LONG), "chunk": 3, "delay": 0.03})

    async def story(worker):
        reader = Reader(c.pk, alice)
        await sync_to_async(handle_message)(c, "tell me", "alice", None)
        await reader.read(lambda r: len(r.done) == 2)
        assert sorted(reader.texts.values()) == ["Hmm, well.", LONG]
        assert {piece["kind"] for piece in reader.pieces} == {"reasoning", "text"}
        assert len([p for p in reader.pieces if p["kind"] == "text"]) > 5
        sent = sum(len(piece["text"]) for piece in reader.pieces)
        assert sent < 1.5 * len(LONG + "Hmm, well."), "only what is new is sent"
        await reader.stream.aclose()

    happening(story, at_once=True)


def test_whoever_was_cut_off_in_mid_reply_gets_it_whole_and_nothing_twice():
    c, alice = conversation(), person()
    scripted({**say(LONG * 5), "chunk": 5, "delay": 0.03})

    async def story(worker):
        first = Reader(c.pk, alice)
        await sync_to_async(handle_message)(c, "tell me", "alice", None)
        await first.read(lambda r: any(len(text) > 60 for text in r.texts.values()))
        await first.stream.aclose()
        second = Reader(c.pk, alice, first.seq)
        await second.read(lambda r: r.done)
        assert list(second.texts.values()) == [LONG * 5]
        assert second.pieces[0]["from"] == 0 and second.is_growing
        await second.stream.aclose()

    happening(story, at_once=True)


def test_a_reply_that_ended_while_nobody_read_is_told_with_its_event():
    c, alice = conversation(), person()
    scripted(call("read_file", path="a"), say("All of it."))

    async def story(worker):
        await sync_to_async(handle_message)(c, "tell me", "alice", None)
        await asyncio.sleep(0)
        while (
            await sync_to_async(Message.objects.filter(text="All of it.", streaming=False).count)()
            < 1
        ):
            await asyncio.sleep(0.01)
        reader = Reader(c.pk, alice)
        await reader.read(lambda r: "All of it." in r.texts.values())
        assert len(reader.done) == len(reader.texts)
        await reader.stream.aclose()

    happening(story, at_once=True)


async def test_a_reply_that_begins_anew_takes_the_place_of_its_beginning():
    c = await sync_to_async(conversation)()
    alice = await sync_to_async(person)()
    message = await Message.objects.acreate(
        conversation=c,
        role="assistant",
        kind="text",
        text="Half a wo",
        streaming=True,
        seq=1,
        changed_seq=1,
    )
    reader = Reader(c.pk, alice)
    await reader.read(lambda r: r.texts)

    async def save(pk, text):
        await Message.objects.filter(pk=pk).aupdate(text=text)

    live = LiveText(c.pk, message.pk, save)
    await live.add("Hello")
    await reader.read(lambda r: r.texts[message.pk] == "Hello")
    await live.close()
    await reader.stream.aclose()


def test_a_row_that_is_behind_what_was_streamed_takes_nothing_back():
    texts = LiveTexts(1)
    assert "Hello wor" in texts.frames_of({7: Text("text", "Hello wor", True)})
    assert texts.frames_of({7: Text("text", "Hello", True)}) == ""
    assert json.loads(texts.frames_of({7: Text("text", "Hello", False)}).partition("data: ")[2]) == {
        "message": 7, "kind": "text", "from": 5, "text": "", "done": True,
    }  # fmt: skip


async def test_a_frame_that_comes_after_the_end_takes_nothing_back():
    c = await sync_to_async(conversation)()
    message = await Message.objects.acreate(
        conversation=c, role="assistant", kind="text", text="Hello world", seq=1, changed_seq=1
    )
    texts = LiveTexts(c.pk)
    ended = [{"subject": f"message:{message.pk}"}]
    assert "Hello world" in await texts.after_events(ended)
    frame = {"message": message.pk, "at": 0, "blocks": [(0, "Hello")]}
    assert await texts.after_frame(frame) == ""
    await Message.objects.filter(pk=message.pk).aupdate(text="", streaming=True)
    anew = await texts.after_frame(frame | {"blocks": [(0, "Another")]})
    assert json.loads(anew.partition("data: ")[2])["done"] is False


async def test_without_the_word_no_text_is_sent_and_nobody_reads_what_is_not_theirs():
    c = await sync_to_async(conversation)()
    await Message.objects.acreate(
        conversation=c, role="assistant", kind="text", text="Hi", streaming=True, seq=1,
        changed_seq=1,
    )  # fmt: skip
    await sync_to_async(record)(c, "turn.queued")
    for name, query, told in (
        ("bob", "?text=1", None),
        ("alice", "?text=1", b"Hi"),
        ("alice", "", b"turn.q"),
    ):
        client = AsyncClient()
        await client.aforce_login(await sync_to_async(person)(name))
        answer = await client.get(
            f"/api/conversations/{c.pk}/events{query}", headers={"Accept": "text/event-stream"}
        )
        assert answer.status_code == (200 if told else 404)
        if told:
            pieces = aiter(answer.streaming_content)
            assert b"listening" in await anext(pieces)
            assert told in await anext(pieces)
            await pieces.aclose()
