"""A command that prints a gigabyte: what is kept of it, and who else gets a turn."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path

from tests.agents.test_shell import call, root

__all__ = ["root"]


async def test_a_gigabyte_neither_fills_memory_nor_blocks_the_server(root):
    beats, sizes = [], [resident()]

    async def beat():
        while True:
            beats.append(len(sizes))
            sizes.append(resident())
            await asyncio.sleep(0.01)

    heart = asyncio.create_task(beat())
    text = await call(
        root, "yes aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa | head -c 1073741824; echo; echo end"
    )
    heart.cancel()
    assert text.endswith("\nend") and len(text) < 60_000
    assert max(sizes) - sizes[0] < 50_000_000
    assert len(beats) > 10, "others have had their turn while it was read"


def resident():
    with suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0
