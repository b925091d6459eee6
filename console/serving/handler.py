"""Django behind Daphne: a request is one hop, to a thread that keeps its database connection.

Django's own handler gives every request a thread of its own, which opens a database connection,
and takes four hops for each: 25 to 43 % more processor time for a real turn on SQLite, 10 to 18 %
on PostgreSQL (docs/decisions/0008).
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from threading import Event, Lock
from typing import IO, Any, ParamSpec, TypeVar

from asgiref.sync import SyncToAsync, ThreadSensitiveContext, sync_to_async
from django import db
from django.core import signals
from django.core.exceptions import DisallowedHost, RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.http import FileResponse, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.urls import set_script_prefix
from django.utils.translation import gettext
from django.views.defaults import server_error

from agents.db import AWAY, kept_connection
from console.middleware import LOAD_AGAIN, page_of

P = ParamSpec("P")
R = TypeVar("R")

BODY = "planside.body"  # in the scope: the file that the body of a request is
THREADS = 8
# Seconds a request waits for a thread before it gets an extra one: whoever occupies all of them
# that long asks a slow server for something, and must not keep others from working.
PATIENCE = 0.3
RETRY_AFTER = "2"  # seconds
DISK_FULL = "53100"  # PostgreSQL's code


class Pages(ASGIHandler):
    """Runs middleware and view, all of them sync, on one of a few threads."""

    def __init__(self) -> None:
        super(ASGIHandler, self).__init__()
        self.load_middleware(is_async=False)
        self.threads = RequestThreads()
        self.streaming = new_thread("streaming")
        # Their receivers look after the connection of their own thread; here `respond` does.
        for signal in (signals.request_started, signals.request_finished):
            signal.disconnect(db.close_old_connections)
        signals.request_started.disconnect(db.reset_queries)

    async def handle(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, unless its client leaves before."""
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        if BODY in scope:
            body.close()
            body = scope.pop(BODY)
        reading = Lock()  # whoever has it closes the body: a thread may read on without its client
        is_over, streams = Event(), list[HttpResponseBase]()
        try:
            set_script_prefix(get_script_prefix(scope))
            request, response = self.create_request(scope, body)
            if request is not None:
                answering = self.threads.run(self.respond, request, body, reading, is_over, streams)
                response = await self.until_gone(answering, receive)
            if response is not None and response.streaming:
                with run_on(self.streaming):
                    await self.until_gone(self.send_response(response, send), receive)
            elif response is not None:
                await self.send_response(response, send)
        finally:
            is_over.set()
            for stream in streams:
                stream.close()
            if reading.acquire(blocking=False):
                body.close()

    async def until_gone(self, work: Coroutine[Any, Any, R], receive: Any) -> R | None:
        """What the work gives; None, and its end, once the client has left."""
        try:
            async with asyncio.timeout(None) as presence:
                leaving = asyncio.create_task(end_with_client(presence, receive))
                try:
                    return await work
                finally:
                    leaving.cancel()
        except TimeoutError:
            if presence.expired():
                return None
            raise

    def create_request(self, scope: Any, body_file: Any) -> Any:
        """Also refuses heads whose fields Python cannot make sense of."""
        try:
            return super().create_request(scope, body_file)
        except (ValueError, LookupError):
            return None, unreadable(scope["path"])

    def respond(
        self,
        request: HttpRequest,
        body: IO[bytes],
        reading: Lock,
        is_over: Event,
        streams: list[HttpResponseBase],
    ) -> HttpResponseBase:
        if not reading.acquire(blocking=False):
            raise asyncio.CancelledError
        with closing(body), kept_connection():
            response = self.get_response(request)
            if isinstance(response, FileResponse):
                response.block_size = self.chunk_size
            if response.streaming:
                streams.append(response)
            if not response.streaming or is_over.is_set():
                response.close()  # its content stays; or its client has left
            return response


async def end_with_client(presence: asyncio.Timeout, receive: Any) -> None:
    """Behind the body of a request only its client's leaving comes."""
    await receive()
    presence.reschedule(0)


class RequestThreads:
    """Threads that wait for requests; the one used last is used first, it is the warmest."""

    def __init__(self) -> None:
        self.idle: list[ThreadSensitiveContext] = []
        self.busy = 0
        self.waiting: deque[asyncio.Future[None]] = deque()

    async def run(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """On one of the threads. It is busy until the function returns, even if nobody waits.

        Cancelling this cancels what the function awaits, if it is an async view.
        """
        if self.busy >= THREADS:
            freed = asyncio.get_running_loop().create_future()
            self.waiting.append(freed)
            try:
                await asyncio.wait([freed], timeout=PATIENCE)
            finally:
                freed.cancel()
        self.busy += 1
        thread = self.idle.pop() if self.idle else new_thread("request")
        loop, first = asyncio.get_running_loop(), Lock()

        def occupied() -> R:
            if not first.acquire(blocking=False):
                raise asyncio.CancelledError
            try:
                return function(*args, **kwargs)
            finally:
                with suppress(RuntimeError):  # the loop has ended: nobody waits for a thread
                    loop.call_soon_threadsafe(self.release, thread)

        try:
            with run_on(thread):
                return await sync_to_async(occupied)()
        finally:
            if first.acquire(blocking=False):  # cancelled before the thread took it up
                self.release(thread)

    def release(self, thread: ThreadSensitiveContext) -> None:
        self.busy -= 1
        if len(self.idle) < THREADS:
            self.idle.append(thread)
        else:
            executor = SyncToAsync.context_to_thread_executor.pop(thread)
            executor.submit(db.connections.close_all)
            executor.shutdown(wait=False)
        while self.waiting:
            if not (freed := self.waiting.popleft()).done():
                freed.set_result(None)
                return


def new_thread(name: str) -> ThreadSensitiveContext:
    """A thread for what has to stay on one. Leaving the context would end it, and a request whose
    client has gone may still have something to clean up.
    """
    context = ThreadSensitiveContext()
    SyncToAsync.context_to_thread_executor[context] = ThreadPoolExecutor(1, name)
    return context


@contextmanager
def run_on(thread: ThreadSensitiveContext) -> Iterator[None]:
    """Whatever is sync in here runs on that thread."""
    token = SyncToAsync.thread_sensitive_context.set(thread)
    try:
        yield
    finally:
        SyncToAsync.thread_sensitive_context.reset(token)


# Answers to a request that broke or cannot be read


def internal_error(request: HttpRequest) -> HttpResponse:
    """Django's handler500; where the database was away or full, the page says so.

    The API says the same in its own shape.
    """
    error = sys.exc_info()[1]
    if not isinstance(error, AWAY):
        return server_error(request)
    cause = error.__cause__
    is_full = getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
    again = {"again": page_of(request)}
    if is_full or getattr(cause, "sqlstate", None) == DISK_FULL:
        return HttpResponse(render_to_string("507.html", again), status=507)
    page = render_to_string("503.html", again)
    return HttpResponse(page, status=503, headers={"Retry-After": RETRY_AFTER})


def token_refused(request: HttpRequest, reason: str = "") -> HttpResponse:
    """settings.CSRF_FAILURE_VIEW: a sign-in makes a new token, older pages have the old one."""
    page = render_to_string("403_csrf.html", {"again": page_of(request)})
    return HttpResponse(page, status=403, headers=LOAD_AGAIN)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler400: a form with too many fields, a body cut short, a host nobody named."""
    if isinstance(exception, DisallowedHost):
        return unreadable(
            request.path,
            gettext("This server does not go by that name: see PLANSIDE_ALLOWED_HOSTS."),
        )
    return unreadable(request.path)


def unreadable(path: str, sentence: str = "") -> HttpResponse:
    sentence = sentence or gettext("The server cannot read this request.")
    if path.startswith("/api/"):
        return JsonResponse({"detail": sentence}, status=400)
    return HttpResponse(sentence, "text/plain; charset=utf-8", 400)
