"""Requests on their threads."""

import asyncio
import threading

from asgiref.sync import sync_to_async

from console.serving.handler import SEATS, Seats, Sitting, on


async def sit(seats, work):
    """As the handler does it: on a seat, until the thread is done with it."""
    seat = await seats.take()
    sitting = Sitting(seats, seat)

    def answer():
        with sitting:
            return work()

    try:
        with on(seat):
            return await sync_to_async(answer)()
    finally:
        sitting.never_came()


async def test_a_request_whose_reader_has_gone_holds_up_nobody():
    seats, go = Seats(), threading.Event()
    hanging = asyncio.create_task(sit(seats, lambda: go.wait(10)))
    while not seats.taken:
        await asyncio.sleep(0)
    await asyncio.sleep(0.05)
    hanging.cancel()
    await asyncio.wait([hanging])
    try:
        assert await asyncio.wait_for(sit(seats, lambda: "answered"), 2) == "answered"
        assert seats.taken == 1, "the thread that hangs is still taken"
    finally:
        go.set()
    while seats.taken:
        await asyncio.sleep(0.01)
    assert len(seats.free) == 2


async def test_a_request_goes_to_the_thread_that_was_used_last():
    seats = Seats()
    threads = {await sit(seats, threading.get_ident) for _ in range(5)}
    await asyncio.sleep(0.05)
    assert len(threads) == len(seats.free) == 1


async def test_whoever_waits_too_long_gets_a_thread_of_their_own():
    seats, go = Seats(), threading.Event()
    slow = [asyncio.create_task(sit(seats, lambda: go.wait(10))) for _ in range(SEATS)]
    while seats.taken < SEATS:
        await asyncio.sleep(0.01)
    try:
        assert await asyncio.wait_for(sit(seats, lambda: "answered"), 5) == "answered"
    finally:
        go.set()
        await asyncio.wait(slow)
    while seats.taken:
        await asyncio.sleep(0.01)
    assert len(seats.free) <= SEATS, "what is more than enough is let go"
