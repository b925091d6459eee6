"""What of a growing text is a block by itself, and how often it is sent."""

import pytest

from agents.engine.streaming import FRAME_SECONDS, frame_seconds, split_blocks


def test_a_long_frame_comes_less_often_so_that_no_more_is_sent():
    assert frame_seconds(500) == FRAME_SECONDS
    assert frame_seconds(200_000) / frame_seconds(20_000) == pytest.approx(10)


def test_what_only_begins_like_a_fence_does_not_keep_a_block_open():
    assert split_blocks("``` a`b\n\nnext") == ["``` a`b\n\n", "next"]


def test_many_blank_lines_are_one_block():
    assert split_blocks("\n\n\na\n\n\n\nb") == ["\n\n\na\n\n", "\n\nb"]
