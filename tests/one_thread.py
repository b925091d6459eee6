"""asgiref's bridges without their threads, for tests.

`sync_to_async` and `async_to_sync` send each call to another thread and wait for it there: a fifth of
the processor time of all tests, in an order that the operating system chose. On the main thread a test
needs neither: a sync function is called in place, between two steps of the loop, and a coroutine runs
on a loop of this thread. On other threads (the server of `site`) both are what they are elsewhere.
"""

import asyncio
import contextvars
import threading
from contextlib import contextmanager

import pytest
from asgiref import sync

_call_in_thread = sync.SyncToAsync.__call__
_run_in_thread = sync.AsyncToSync.__call__
_bridge = sync.SyncToAsync.threadlocal


@contextmanager
def one_thread():
    """Both, until the block ends."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sync.SyncToAsync, "__call__", call_in_place)
        patch.setattr(sync.AsyncToSync, "__call__", run_in_place)
        yield


async def call_in_place(self, *args, **kwargs):
    """Instead of `SyncToAsync.__call__`; the loop goes one round before, as it would meanwhile."""
    in_place = self._thread_sensitive and threading.current_thread() is threading.main_thread()
    if not in_place or self.thread_sensitive_context.get(None):
        return await _call_in_thread(self, *args, **kwargs)
    await asyncio.sleep(0)
    loop = asyncio.get_running_loop()
    outer = getattr(_bridge, "main_event_loop", None)
    _bridge.main_event_loop = loop  # where events are announced
    asyncio._set_running_loop(None)  # Django's queries refuse a thread with one
    try:
        return self.func(*args, **kwargs)
    finally:
        asyncio._set_running_loop(loop)
        _bridge.main_event_loop = outer


def run_in_place(self, *args, **kwargs):
    """Instead of `AsyncToSync.__call__`: on a loop of its own, of which nothing is left afterwards."""
    outer = getattr(_bridge, "main_event_loop", None)
    if threading.current_thread() is not threading.main_thread() or asyncio._get_running_loop():
        return _run_in_thread(self, *args, **kwargs)
    _bridge.main_event_loop = None
    context = contextvars.copy_context()
    try:
        if outer is not None and outer.is_running():  # below a function called in place
            return _run_in_thread(self, *args, **kwargs)
        with asyncio.Runner() as runner:
            loop = runner.get_loop()
            task = context.run(loop.create_task, finished(self.awaitable(*args, **kwargs)))
            return loop.run_until_complete(task)
    finally:
        sync._restore_context(context)
        _bridge.main_event_loop = outer


async def finished(awaitable):
    return await awaitable
