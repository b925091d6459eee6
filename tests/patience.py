"""How long tests wait for what has to come: a minute, on a machine that may be busy.

The tools they use would give up after one second (a socket of Channels) or five (httpx). Who
waits for less, because it must be faster, says so in the call. And nothing is waited for that was
done before and comes out the same: each client of httpx would read all certificates, and Django
would look for all tables each time that it empties them.
"""

import inspect
import os
import socket
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

import httpx
from asgiref.testing import ApplicationCommunicator
from channels.testing import WebsocketCommunicator
from django.core.management.commands import flush
from django.core.management.sql import sql_flush

SECONDS = 60
EMPTYING = {}
LOAD = Path("/proc/loadavg")  # of the last minute; at the fourth place, what runs now
WAITS = (
    ApplicationCommunicator.wait,
    ApplicationCommunicator.receive_output,
    WebsocketCommunicator.receive_output,  # Channels has one of its own
    WebsocketCommunicator.connect,
    WebsocketCommunicator.receive_from,
    WebsocketCommunicator.receive_json_from,
    WebsocketCommunicator.disconnect,
)


def be_patient():
    """From now on, in this process, where no timeout is named."""
    given = inspect.signature(httpx.Client).parameters["timeout"].default  # one for all of httpx
    given.connect = given.read = given.write = given.pool = SECONDS
    for wait in WAITS:
        *before, _ = wait.__defaults__  # the timeout is the last
        wait.__defaults__ = (*before, SECONDS)
    transports = httpx._transports.default
    transports.create_ssl_context = cache(transports.create_ssl_context)
    flush.sql_flush = statements_to_empty


def statements_to_empty(style, connection, **how):
    """Those of all tables, of which there are the same in each test."""
    key = (connection.vendor, *how.items())
    if key not in EMPTYING:
        EMPTYING[key] = sql_flush(style, connection, **how)
    return EMPTYING[key]


def until(is_so):
    """Call `is_so` until it returns something true, and return that; fail after a minute.

    A coroutine calls this by asyncio.to_thread.
    """
    end = time.monotonic() + SECONDS
    while not (found := is_so()):
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.05)
    return found


def until_files_are_older(nanoseconds):
    """Until what was written just now is older than that, by the clock from which files get their
    times: nobody can set the time at which a file was changed (ctime).
    """
    moment = time.time_ns() + nanoseconds
    with tempfile.NamedTemporaryFile() as probe:

        def is_later():
            os.utime(probe.name)
            return Path(probe.name).stat().st_ctime_ns > moment

        until(is_later)


def until_connected(port):
    """A server of ours listens there."""

    def listens():
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return True

    until(listens)


def at_most(seconds):
    """What may take this long on a machine at rest: longer by as much as others want its processors.

    It is a promise of the product that something is quick; that the machine is idle is none.
    """
    with suppress(OSError):
        lately, _, _, running, _ = LOAD.read_text().split()
        wanted = max(float(lately), int(running.split("/")[0]))
        return seconds * max(1, wanted / os.cpu_count())
    return seconds * max(1, os.getloadavg()[0] / os.cpu_count())
