"""Django behind Daphne: a request is one hop, to a thread that keeps its database connection.

Django's own handler gives every request a thread of its own, which opens a database connection,
and hops for each middleware.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

from asgiref.sync import SyncToAsync, ThreadSensitiveContext, sync_to_async
from django import db
from django.core import signals
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from console.serving.unavailable import not_http

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
        self.afterwards = new_thread("afterwards")
        # They look after the connection of the thread they run on: here that is the seat's.
        for signal in (signals.request_started, signals.request_finished):
            signal.disconnect(db.close_old_connections)
        signals.request_started.disconnect(db.reset_queries)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """What is left to do for a request, its files and live tails included, has a thread too."""
        with on(self.afterwards):
            await self.handle(scope, receive, send)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        seat = await self.seats.take()
        sitting = Sitting(self.seats, seat)
        try:
            with on(seat):
                return await sync_to_async(self.answer)(request, sitting)
        finally:
            sitting.never_came()

    def create_request(self, scope: Any, body_file: Any) -> Any:
        """Also refuses heads whose fields Python cannot make sense of."""
        try:
            return super().create_request(scope, body_file)
        except (ValueError, LookupError):
            return None, not_http(scope["path"])

    def answer(self, request: HttpRequest, sitting: Sitting) -> HttpResponseBase:
        with sitting:
            db.close_old_connections()
            try:
                return self.get_response(request)
            finally:
                db.close_old_connections()


def new_thread(name: str) -> ThreadSensitiveContext:
    """A thread for what has to stay on one. It is never left: a request whose reader has gone may
    still have something to put away.
    """
    context = ThreadSensitiveContext()
    SyncToAsync.context_to_thread_executor[context] = ThreadPoolExecutor(1, name)
    return context


@contextmanager
def on(thread: ThreadSensitiveContext) -> Iterator[None]:
    """Whatever is sync in here runs on that thread."""
    token = SyncToAsync.thread_sensitive_context.set(thread)
    try:
        yield
    finally:
        SyncToAsync.thread_sensitive_context.reset(token)


class Sitting:
    """From when a request gets a seat until its thread is done with it: whoever asked may have
    gone away before."""

    def __init__(self, seats: Seats, seat: ThreadSensitiveContext) -> None:
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
        self.free: list[ThreadSensitiveContext] = []
        self.taken = 0
        self.waiting: deque[asyncio.Future[None]] = deque()

    async def take(self) -> ThreadSensitiveContext:
        if self.taken >= SEATS:
            turn = asyncio.get_running_loop().create_future()
            self.waiting.append(turn)
            try:
                await asyncio.wait([turn], timeout=PATIENCE)
            finally:
                turn.cancel()
        self.taken += 1
        return self.free.pop() if self.free else new_thread("request")

    def give_back(self, seat: ThreadSensitiveContext) -> None:
        self.taken -= 1
        if len(self.free) < SEATS:
            self.free.append(seat)
        else:
            thread = SyncToAsync.context_to_thread_executor.pop(seat)
            thread.submit(db.connections.close_all)
            thread.shutdown(wait=False)
        while self.waiting:
            if not (turn := self.waiting.popleft()).done():
                turn.set_result(None)
                return
