"""What of a growing text is a block by itself, and how often it is sent."""

import asyncio

import pytest
from channels.layers import get_channel_layer

from tests.inner import (
    FRAME_SECONDS,
    LiveText,
    frame_seconds,
    split_blocks,
    text_group_of,
)


def test_a_long_frame_comes_less_often_so_that_no_more_is_sent():
    assert frame_seconds(500) == FRAME_SECONDS
    assert frame_seconds(200_000) / frame_seconds(20_000) == pytest.approx(10)


def test_what_only_begins_like_a_fence_does_not_keep_a_block_open():
    assert split_blocks("``` a`b\n\nnext") == ["``` a`b\n\n", "next"]


def test_many_blank_lines_are_one_block():
    assert split_blocks("\n\n\na\n\n\n\nb") == ["\n\n\na\n\n", "\n\nb"]


async def nothing_saved(message, text):
    pass


async def test_parts_that_are_there_already_are_shown_together():
    layer = get_channel_layer()
    channel = await layer.new_channel()
    await layer.group_add(text_group_of(8), channel)
    live = LiveText(8, 1, nothing_saved)
    for part in ("one ", "two ", "three"):
        await live.add(part)
    frame = await asyncio.wait_for(layer.receive(channel), 60)
    assert frame["blocks"] == [(0, "one two three")]
    await live.close()
