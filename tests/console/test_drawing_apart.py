"""No page waits behind another's drawing, and the event loop draws nothing."""

import asyncio
import threading

import pytest
from channels.layers import get_channel_layer

from agents.db import in_db, in_reader
from agents.engine.streaming import FRAME_SECONDS, frame_seconds, split_blocks
from agents.events import group_of
from console import fragments
from console.markdown import LONG_OPEN_BLOCK
from tests.console.test_consumers import socket
from tests.world import conversation, person

pytestmark = pytest.mark.django_db(transaction=True)


async def opened(name="alice"):
    c = await in_db(conversation)
    page = socket(c.pk, await in_db(person, name))
    await page.connect(timeout=10)
    await page.receive_from(timeout=10)
    return c, page


async def stream(c, *blocks):
    frame = {"type": "text.streamed", "message": 1, "blocks": list(blocks)}
    await get_channel_layer().group_send(group_of(c.pk), frame)


async def test_streamed_text_is_drawn_beside_the_event_loop(monkeypatch):
    c, page = await opened()
    threads = []
    draw = fragments.streamed

    def watched(*args):
        threads.append(threading.current_thread())
        return draw(*args)

    monkeypatch.setattr(fragments, "streamed", watched)
    await stream(c, (0, "hello"))
    assert "hello" in await page.receive_from(timeout=10)
    assert threading.main_thread() not in threads
    await page.disconnect()


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
    await asyncio.sleep(0.05)
    go_on.set()
    for _ in range(2):
        await page.receive_from(timeout=10)
    assert drawn == [((0, "one"),), ((0, "one."), (1, "two"))]
    await page.disconnect()


async def test_a_page_is_drawn_while_another_one_still_is():
    began, go_on = threading.Event(), threading.Event()

    def long_drawing():
        began.set()
        assert go_on.wait(10)

    other = asyncio.create_task(in_reader(long_drawing))
    await asyncio.to_thread(began.wait, 10)
    async with asyncio.timeout(8):
        assert await in_reader(lambda: "drawn") == "drawn"
    go_on.set()
    await other


def test_a_long_frame_comes_less_often_so_that_no_more_is_sent():
    assert frame_seconds(500) == FRAME_SECONDS
    assert frame_seconds(200_000) / frame_seconds(20_000) == pytest.approx(10)


def test_a_long_block_is_sent_as_typed_until_it_closes():
    text = "**a** " * LONG_OPEN_BLOCK
    assert "<strong>" not in fragments.streamed(1, [(0, text)])
    assert "<strong>" in fragments.streamed(1, [(0, text[:LONG_OPEN_BLOCK] + "\n\n"), (1, "b")])


def test_what_only_begins_like_a_fence_does_not_keep_a_block_open():
    assert split_blocks("``` a`b\n\nnext") == ["``` a`b\n\n", "next"]


def test_many_blank_lines_are_one_block():
    assert split_blocks("\n\n\na\n\n\n\nb") == ["\n\n\na\n\n", "\n\nb"]
