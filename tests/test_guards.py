"""What a test may not do is refused, however it is done, and fails it though it is swallowed."""

import asyncio
import multiprocessing
import os
import socket
import subprocess
import time
from contextlib import suppress

import pytest

from tests.guards import guards


async def waits():
    await asyncio.sleep(0.1)


def connects():
    with socket.socket() as opened:
        opened.connect(("127.0.0.1", 4444))


def sends():
    with socket.socket(type=socket.SOCK_DGRAM) as opened:
        opened.sendto(b"x", ("127.0.0.1", 4444))


def forks():
    multiprocessing.get_context("fork").Process(target=int).start()


REFUSED = {
    "sleeps": [lambda: time.sleep(0.1), lambda: asyncio.run(waits())],
    "starts": [
        lambda: subprocess.run(["true"]),
        lambda: os.system("true"),
        lambda: os.popen("true"),
        lambda: os.posix_spawn("/bin/true", ["true"], {}),
        forks,
    ],
    "connects to 127.0.0.1": [connects, sends],
}


@pytest.mark.parametrize(
    ("words", "act"), [(w, act) for w, acts in REFUSED.items() for act in acts]
)
def test_what_a_test_may_not_do_is_refused_and_kept(words, act):
    with suppress(Exception):
        act()
    faults, guards.faults = guards.faults, []
    assert [words in each for each in faults] == [True]


def test_a_moment_between_two_looks_is_no_sleep():
    asyncio.run(asyncio.sleep(0.01))


async def test_where_the_clock_goes_on_by_itself_nobody_sleeps(no_waiting):
    await asyncio.sleep(3600)
