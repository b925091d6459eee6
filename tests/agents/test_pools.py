"""Slow work on threads: nobody waits for what another person has begun (rule R35)."""

import asyncio
import gc
import threading
from contextlib import asynccontextmanager

import pytest

from tests.inner import Pool, person_of_turn, pools

KINDS = [each for each in vars(pools).values() if isinstance(each, Pool)]
ALICE, BOB = 1, 2


@asynccontextmanager
async def busy(pool, count, by=ALICE):
    """So many pieces of one person's work, which last until the end of the block."""
    person_of_turn.set(by)
    go, begun = threading.Event(), threading.Semaphore(0)

    def work():
        begun.release()
        assert go.wait(10)

    tasks = [asyncio.ensure_future(pool.run(work)) for _ in range(count)]
    for _ in range(min(count, pool.each)):
        assert await asyncio.to_thread(begun.acquire, timeout=10)
    try:
        yield tasks, begun
    finally:
        go.set()
        await asyncio.gather(*tasks, return_exceptions=True)


async def done_for(by, pool):
    person_of_turn.set(by)
    return await asyncio.wait_for(pool.run(lambda: "done"), 10)


@pytest.mark.parametrize("pool", KINDS)
async def test_however_much_one_person_asks_for_another_s_work_is_done(pool):
    async with busy(pool, 50) as (_, begun):
        assert await done_for(BOB, pool) == "done"
        assert not begun.acquire(blocking=False), "no more at once than one person may have"
        for other in KINDS:
            if other is not pool:
                assert await done_for(ALICE, other) == "done", "their own of another kind too"


async def test_work_that_nobody_waits_for_any_more_keeps_its_place_until_it_ends():
    pool = Pool("one", 4, 1)
    async with busy(pool, 1) as ([task], _):
        task.cancel()
        await asyncio.wait([task])
        person_of_turn.set(ALICE)
        following = asyncio.ensure_future(pool.run(lambda: "done"))
        assert await done_for(BOB, pool) == "done"
        assert not following.done()
    assert await asyncio.wait_for(following, 10) == "done"


async def test_work_that_is_given_up_before_it_began_leaves_its_place():
    pool = Pool("one", 1, 1)
    async with busy(pool, 1), busy(pool, 0, BOB):
        waits = asyncio.ensure_future(pool.run(lambda: "never"))
        await asyncio.sleep(0)
        waits.cancel()
        await asyncio.wait([waits])
    assert await done_for(BOB, pool) == "done"


async def test_work_that_fails_raises_where_it_is_awaited_and_leaves_its_place():
    pool = Pool("one", 1, 1)
    person_of_turn.set(ALICE)
    with pytest.raises(ZeroDivisionError):
        await pool.run(lambda: 1 / 0)
    assert await done_for(ALICE, pool) == "done"


async def test_nothing_is_kept_of_a_person_whose_work_is_done():
    pool = Pool("one", 1, 1)
    assert await done_for(ALICE, pool) == "done"
    assert not pool.places


async def test_work_that_is_given_up_before_it_begins_is_not_spoken_of(caplog):
    """asyncio speaks of every exception that nobody has asked for, once its future is gone."""
    pool = Pool("one", 1, 2)
    async with busy(pool, 1) as (_, _):
        waits = asyncio.ensure_future(pool.run(lambda: "never"))
        await asyncio.sleep(0)
        waits.cancel()
        await asyncio.wait([waits])
    del waits
    assert await done_for(BOB, pool) == "done"
    gc.collect()
    assert not caplog.records
