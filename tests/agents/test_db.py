"""The threads in which readings and writings happen."""

import asyncio
import threading

import pytest

from agents.db import in_reader

pytestmark = pytest.mark.django_db(transaction=True)


async def test_a_reading_does_not_wait_for_another_one():
    began, go_on = threading.Event(), threading.Event()

    def long_reading():
        began.set()
        assert go_on.wait(10)

    other = asyncio.create_task(in_reader(long_reading))
    await asyncio.to_thread(began.wait, 10)
    async with asyncio.timeout(8):
        assert await in_reader(lambda: "read") == "read"
    go_on.set()
    await other
