"""Requests on their threads."""

import asyncio
import gc
import threading
import time
import weakref
from pathlib import Path
from types import SimpleNamespace

import pytest
from asgiref.testing import ApplicationCommunicator
from django.http import FileResponse, HttpResponse
from django.test import AsyncRequestFactory
from django.urls import path

from tests.inner import THREADS, LimitedRequest, PooledASGIHandler

go, hung, ended = threading.Event(), threading.Semaphore(0), threading.Semaphore(0)


def hanging(request):
    hung.release()
    go.wait(10)
    return thread(request)


def thread(request):
    return HttpResponse(str(threading.get_ident()))


async def waiting(request):
    hung.release()
    try:
        await asyncio.Event().wait()
    finally:
        ended.release()


def reading(request):
    hung.release()
    go.wait(10)
    read.append(request.read())
    return thread(request)


def sending(request):
    hung.release()
    go.wait(10)
    files.append(Path(__file__).open("rb"))  # noqa: SIM115 -- the answer closes it
    return FileResponse(files[-1])


read, files = [], []
urlpatterns = [
    path("hanging", hanging),
    path("reading", reading),
    path("sending", sending),
    path("thread", thread),
    path("waiting", waiting),
]


@pytest.fixture
def pages(settings):
    settings.ROOT_URLCONF = __name__
    settings.MIDDLEWARE = []
    go.clear()
    yield PooledASGIHandler()
    go.set()


async def begin(pages, path):
    """A request that a browser has sent; the answer is not there yet."""
    scope = AsyncRequestFactory().get(path).scope | {"method": "GET", "path": path}
    browser = ApplicationCommunicator(pages, scope)
    await browser.send_input({"type": "http.request"})
    return browser


async def hang(pages, count):
    """Requests that have reached their threads and wait there for `go`."""
    browsers = [await begin(pages, "/hanging") for _ in range(count)]
    for _ in browsers:
        assert await asyncio.to_thread(hung.acquire, timeout=60)
    return browsers


async def answer_of(browser, seconds=5):
    """The thread that has answered."""
    start = await browser.receive_output(seconds)
    assert start["status"] == 200
    body = await browser.receive_output(seconds)
    await browser.wait()
    return int(body["body"])


async def get(pages, path):
    return await answer_of(await begin(pages, path))


async def test_a_request_whose_reader_has_gone_holds_up_nobody(pages):
    (gone,) = await hang(pages, 1)
    await gone.send_input({"type": "http.disconnect"})
    other = await asyncio.wait_for(get(pages, "/thread"), 8)
    waiting = await hang(pages, 2)
    go.set()
    await gone.wait()
    threads = {await answer_of(browser) for browser in waiting}
    assert other in threads
    go.clear()
    waiting = await hang(pages, 3)
    go.set()
    again = {await answer_of(browser) for browser in waiting}
    assert len(again) == 3 and threads < again, "the one that hung serves again"


async def test_what_an_async_view_waits_for_ends_when_its_client_leaves(pages):
    browser = await begin(pages, "/waiting")
    assert await asyncio.to_thread(hung.acquire, timeout=60)
    await browser.send_input({"type": "http.disconnect"})
    assert await asyncio.to_thread(ended.acquire, timeout=60)
    await browser.wait()


async def test_views_that_wait_for_others_leave_their_places_to_other_requests(pages):
    slow = [await begin(pages, "/waiting") for _ in range(THREADS)]
    for _ in slow:
        assert await asyncio.to_thread(hung.acquire, timeout=60)
    await asyncio.sleep(0)
    assert not pages.places.locked()
    assert await get(pages, "/thread")
    for browser in slow:
        await browser.send_input({"type": "http.disconnect"})
        await browser.wait()
    for _ in range(THREADS):
        await pages.places.acquire()
    assert pages.places.locked(), "each place was given back once"


async def test_what_was_sent_whole_is_read_to_its_end_when_its_client_leaves(pages):
    scope = AsyncRequestFactory().post("/reading").scope
    browser = ApplicationCommunicator(pages, scope)
    await browser.send_input({"type": "http.request", "body": b"all of it"})
    assert await asyncio.to_thread(hung.acquire, timeout=60)
    await browser.send_input({"type": "http.disconnect"})
    await asyncio.sleep(0)
    go.set()
    await browser.wait()
    assert read == [b"all of it"]


async def test_a_request_goes_to_the_thread_that_was_used_last(pages):
    assert len({await get(pages, "/thread") for _ in range(5)}) == 1


async def test_whoever_waits_too_long_gets_a_thread_of_their_own(pages):
    slow = await hang(pages, THREADS)
    extra = await get(pages, "/thread")
    go.set()
    used = {extra, *[await answer_of(browser) for browser in slow]}
    assert len(used) == THREADS + 1
    until = time.monotonic() + 60
    while used <= {each.ident for each in threading.enumerate()}:
        assert time.monotonic() < until, "what is more than enough is let go"
        await asyncio.sleep(0.01)


async def test_a_file_is_closed_though_its_reader_left_before_it_was_opened(pages):
    browser = await begin(pages, "/sending")
    assert await asyncio.to_thread(hung.acquire, timeout=60)
    await browser.send_input({"type": "http.disconnect"})
    await asyncio.sleep(0)
    go.set()
    await browser.wait()
    assert files[0].closed


@pytest.mark.parametrize("has_begun", [True, False])
def test_an_answer_that_breaks_ends_the_connection_or_says_so(monkeypatch, has_begun):
    """Daphne stops looking after all requests if one cannot be told of its error."""
    done = []
    request = LimitedRequest.__new__(LimitedRequest)
    request._response_started = has_begun
    request.channel = SimpleNamespace(loseConnection=lambda: done.append("hung up"))
    monkeypatch.setattr(LimitedRequest, "basic_error", lambda self, status, *_: done.append(status))
    request.handle_exception(ValueError("in mid-stream"))
    assert done == (["hung up"] if has_begun else [500])


async def test_what_a_client_has_not_read_is_let_go_of_without_a_collection(pages):
    """Else twenty downloads that are given up keep what they were sent, until one comes."""

    class Connection:
        """What a server sends through; it holds all that is not read yet."""

        async def send(self, message):
            pass

    messages = [{"type": "http.request"}, {"type": "http.disconnect"}]

    async def receive():
        return messages.pop(0) if messages else await asyncio.Event().wait()

    connection = Connection()
    held = weakref.ref(connection)
    scope = AsyncRequestFactory().get("/thread").scope | {"method": "GET", "path": "/thread"}
    gc.disable()
    try:
        await pages(scope, receive, connection.send)
        del connection
        await asyncio.sleep(0)
        assert held() is None
    finally:
        gc.enable()
