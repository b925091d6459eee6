"""Django behind Daphne: middleware and views run on a few threads that keep their connection.

Django's own handler gives each request a new thread, which opens a database connection: 35 to 42 %
more processor time for a real turn, and on PostgreSQL twenty open streams take all connections of
the pool (docs/decisions/0008).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

from asgiref.sync import ThreadSensitiveContext, iscoroutinefunction, sync_to_async
from django import db
from django.core import signals
from django.core.handlers.asgi import ASGIHandler
from django.http import FileResponse, HttpRequest
from django.http.response import HttpResponseBase
from django.urls import ResolverMatch

from agents.db import keep_connection, kept_connection
from console.serving.errors import unreadable

THREADS = 8
# Seconds a request waits for a thread before it gets an extra one: whoever occupies all of them
# that long asks a slow server for something, and must not keep others from working.
PATIENCE = 0.3

leave_place: ContextVar[Callable[[], object]] = ContextVar("leave_place", default=lambda: None)


class PooledASGIHandler(ASGIHandler):
    """Runs middleware and view, all of them sync, on a thread of a pool."""

    def __init__(self) -> None:
        super(ASGIHandler, self).__init__()
        self.load_middleware(is_async=False)
        self.places = asyncio.Semaphore(THREADS)
        self.idle: list[Executor] = []  # the one used last is used first, it is the warmest
        self.closing = ThreadPoolExecutor(1, "closing")
        # Their receivers look after the connection of their own thread; here `respond` does.
        for signal in (signals.request_started, signals.request_finished):
            signal.disconnect(db.close_old_connections)
        signals.request_started.disconnect(db.reset_queries)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """What Django does beside the view, such as closing an answer, is on one thread for all."""
        sends = [send]

        async def send_on(message: Any) -> None:
            await sends[0](message)

        async with ThreadSensitiveContext(executor=self.closing):
            try:
                await self.handle(scope, receive, send_on)
            finally:
                # What Django raises for who has left holds its frames until they are collected, and
                # by them all that was written and never read.
                sends.clear()

    def create_request(self, scope: Any, body_file: Any) -> Any:
        """Also refuses heads whose fields Python cannot make sense of."""
        try:
            return super().create_request(scope, body_file)
        except (ValueError, LookupError):
            return None, unreadable(scope["path"])

    async def run_get_response(self, request: HttpRequest) -> HttpResponseBase:
        """On a thread of the pool; if the client leaves, wait until its view has ended.

        Then Django closes the body, which the view may read to its end.
        """
        thread, leave, give_back = await self.take_thread()
        loop = asyncio.get_running_loop()
        leave_place.set(lambda: loop.call_soon_threadsafe(leave))
        answers: list[HttpResponseBase] = []
        try:
            async with ThreadSensitiveContext(executor=thread):
                await sync_to_async(self.respond)(request, answers)
        except asyncio.CancelledError:

            def end() -> None:
                for answer in answers:
                    answer.close()
                loop.call_soon_threadsafe(give_back)

            await asyncio.shield(asyncio.wrap_future(thread.submit(end)))
            raise
        except BaseException:
            give_back()
            raise
        give_back()
        return answers[0]

    def resolve_request(self, request: HttpRequest) -> ResolverMatch:
        """An async view waits for others, up to minutes: its thread leaves place for the next one,
        and keeps no connection meanwhile."""
        match = super().resolve_request(request)
        if iscoroutinefunction(match.func):
            leave_place.get()()
            keep_connection(False)
        return match

    def respond(self, request: HttpRequest, answers: list[HttpResponseBase]) -> None:
        keep_connection(True)
        with kept_connection():
            response = self.get_response(request)
        if isinstance(response, FileResponse):
            response.block_size = self.chunk_size
        answers.append(response)

    async def take_thread(self) -> tuple[Executor, Callable[[], None], Callable[[], None]]:
        """A thread, how its place is left while it works on, and how both are given back."""
        taken: list[asyncio.Semaphore] = []
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await self.places.acquire()
            taken.append(self.places)
        thread = self.idle.pop() if self.idle else ThreadPoolExecutor(1, "request")

        def leave() -> None:
            while taken:
                taken.pop().release()

        def give_back() -> None:
            leave()
            if len(self.idle) < THREADS:
                self.idle.append(thread)
            else:
                thread.submit(db.connections.close_all)
                thread.shutdown(wait=False)

        return thread, leave, give_back
