"""Django behind Daphne: a request is one hop, to a thread that keeps its database connection.

Django's own handler gives every request a thread of its own, which opens a database connection,
and hops for each middleware.
"""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django import db
from django.core import signals
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase

SEATS = 8
# Seconds a request waits for a seat before it gets an extra one: whoever sits that long asks a
# slow server for something, and must not keep others from working.
PATIENCE = 0.3


class Pages(ASGIHandler):
    """Runs middleware and view, all of them sync, on one of a few threads."""

    def __init__(self) -> None:
        super(ASGIHandler, self).__init__()
        self.load_middleware(is_async=False)
        self.seats = Seats()
        self.afterwards = ThreadPoolExecutor(1, "afterwards")
        # They look after the connection of the thread they run on: here that is the seat's.
        for signal in (signals.request_started, signals.request_finished):
            signal.disconnect(db.close_old_connections)
        signals.request_started.disconnect(db.reset_queries)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """What is left to do for a request, its files and live tails included, has a thread too."""
        async with ThreadSensitiveContext(executor=self.afterwards):
            await self.handle(scope, receive, send)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        seat = await self.seats.take()
        sitting = Sitting(self.seats, seat)
        try:
            async with ThreadSensitiveContext(executor=seat):
                return await sync_to_async(self.answer)(request, sitting)
        finally:
            sitting.never_came()

    def answer(self, request: HttpRequest, sitting: Sitting) -> HttpResponseBase:
        with sitting:
            db.close_old_connections()
            try:
                return self.get_response(request)
            finally:
                db.close_old_connections()


class Sitting:
    """From when a request gets a seat until its thread is done with it: whoever asked may have
    gone away before."""

    def __init__(self, seats: Seats, seat: ThreadPoolExecutor) -> None:
        self.seats, self.seat = seats, seat
        self.loop = asyncio.get_running_loop()
        self.came = False

    def __enter__(self) -> None:
        self.came = True

    def __exit__(self, *_: object) -> None:
        with suppress(RuntimeError):  # the loop has ended: nobody waits for a seat any more
            self.loop.call_soon_threadsafe(self.seats.give_back, self.seat)

    def never_came(self) -> None:
        """Cancelled before the thread took it up."""
        if not self.came:
            self.seats.give_back(self.seat)


class Seats:
    """Threads that wait for requests; the one used last is used first, it is the warmest."""

    def __init__(self) -> None:
        self.free: list[ThreadPoolExecutor] = []
        self.taken = 0
        self.waiting: deque[asyncio.Future[None]] = deque()

    async def take(self) -> ThreadPoolExecutor:
        if self.taken >= SEATS:
            turn = asyncio.get_running_loop().create_future()
            self.waiting.append(turn)
            try:
                await asyncio.wait([turn], timeout=PATIENCE)
            finally:
                turn.cancel()
        self.taken += 1
        return self.free.pop() if self.free else ThreadPoolExecutor(1, "request")

    def give_back(self, seat: ThreadPoolExecutor) -> None:
        self.taken -= 1
        if len(self.free) < SEATS:
            self.free.append(seat)
        else:
            seat.submit(db.connections.close_all)
            seat.shutdown(wait=False)
        while self.waiting:
            if not (turn := self.waiting.popleft()).done():
                turn.set_result(None)
                return
