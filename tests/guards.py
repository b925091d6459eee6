"""Fails a test that sleeps, starts a process or opens a socket, and names those that compute long.

Real time, processes and ports are what makes tests slow, and fail by chance. Where one is the subject
a marker says so: `process` for a command that the test starts (what a tool of the product starts needs
none), `sockets` for a server within the test. A browser test has the frame's browser and site, and
nothing of its own. Under tests/smoke and tests/nightly all is allowed.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Iterator, Set
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.waiting import Skipping

TESTS = Path(__file__).parent
PRODUCT = tuple(str(TESTS.parent / app) for app in ("agents", "plans", "console"))
FREE = [TESTS / name for name in ("lint", "smoke", "nightly", "real", "benchmarks")]
SLEEP, START, CONNECT = "sleeps", "starts", "connects"
KINDS = {"time.sleep": SLEEP, "asyncio.sleep": SLEEP}  # the others are as Python audits them
KINDS |= dict.fromkeys(["subprocess.Popen", "os.system", "os.fork", "os.posix_spawn"], START)
KINDS |= dict.fromkeys(["socket.connect", "socket.sendto"], CONNECT)
ALL = frozenset({SLEEP, START, CONNECT})
# They work for all tests, whichever comes first; nobody can set the time at which a file was changed.
# A model that is played takes the time that its script names.
FRAME = ("database.py", "patience.py", "site.py", "fake_script.py", "browser/conftest.py")
FOR_ALL = {str(TESTS / name) for name in FRAME}
MOMENT = 0.02  # seconds between two looks at what a thread does
LOOPBACK = "127.0.0.1"
NOBODY = (1, 9)  # ports at which no machine answers
MOST_SECONDS = 5  # of processor time, in one test
SAYS = {
    SLEEP: "This test sleeps: move the clock, or let the queue run until nothing is due (drive).",
    START: "This test starts {}: call the command in this process (tests/cli.py), or go to tests/smoke.",
    CONNECT: "This test connects to {}: fake the wire (tests/fake_model.py), or use the site "
    "(tests/site.py).",
}


class Guards:
    """What the running test may do, and what it did that it may not."""

    def __init__(self) -> None:
        self.allowed: Set[str] = ALL
        self.is_browser = False
        self.faults: list[str] = []
        self.places: set[tuple[str, int]] = set()

    def watch(self, allowed: Set[str], is_browser: bool = False) -> None:
        self.allowed, self.is_browser, self.faults = allowed, is_browser, []

    def hear(self, event: str, arguments: tuple[object, ...]) -> None:
        kind = KINDS.get(event)
        if kind is None or kind in self.allowed:
            return
        what = arguments[0] if arguments else "a process"
        if kind == CONNECT:
            place = arguments[1]
            if not isinstance(place, tuple) or place[1] in NOBODY or place[:2] in self.places:
                return
            what = f"{place[0]}:{place[1]}"
        if (kind == CONNECT and not self.is_browser) or is_by_the_test(sys._getframe(1)):
            self.refuse(kind, what)

    def refuse(self, kind: str, what: object) -> None:
        """Kept too: a broad `except` may swallow what is raised."""
        self.faults.append(SAYS[kind].format(what))
        raise AssertionError(self.faults[-1])


guards = Guards()
CPU = pytest.StashKey[float]()
real_sleep, real_async_sleep = time.sleep, asyncio.sleep


def is_by_the_test(frame: FrameType | None) -> bool:
    """Whether a file of the tests did it, and not the product that it calls."""
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith((str(TESTS), *PRODUCT)) and name != __file__:
            return name.startswith(str(TESTS)) and name not in FOR_ALL
        frame = frame.f_back
    return False


def allowed_for(item: pytest.Item) -> Set[str]:
    is_free = any(item.path.is_relative_to(folder) for folder in FREE)
    if is_free:
        return ALL
    marked = {"process": START, "sockets": CONNECT}
    return {event for mark, event in marked.items() if item.get_closest_marker(mark)}


def sleep(seconds: float) -> None:
    guards.hear("time.sleep", (seconds,))
    real_sleep(seconds)


async def async_sleep(delay: float, result: Any = None) -> Any:
    """Where the loop's clock goes on by itself nobody waits."""
    loop: Any = asyncio.get_running_loop()
    if delay > MOMENT and not isinstance(loop._selector, Skipping):
        guards.hear("asyncio.sleep", (delay,))
    return await real_async_sleep(delay, result)


def pytest_configure() -> None:
    sys.addaudithook(guards.hear)
    time.sleep, asyncio.sleep = sleep, async_sleep  # Python tells its audit of none before 3.13
    for url in (os.environ.get("TEST_DATABASE_URL"), os.environ.get("TEST_REDIS_URL")):
        if url and (place := urlsplit(url)).port:
            guards.places |= {(name, place.port) for name in (place.hostname or "", LOOPBACK)}


def cpu() -> float:
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    guards.watch(allowed_for(item), bool(item.get_closest_marker("browser")))
    item.stash[CPU] = cpu()
    try:
        return (yield)
    finally:
        guards.watch(ALL)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    faults, guards.faults = guards.faults, []
    if report.passed and faults:
        report.outcome, report.longrepr = "failed", "\n".join(faults)
    if report.when == "call":  # what ends with the last test is not its own
        report.user_properties.append(("processor", round(cpu() - item.stash[CPU], 1)))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Fails nothing: what a test may compute is a benchmark's business."""
    ended = [each for reports in terminalreporter.stats.values() for each in reports]
    seconds = {
        each.nodeid: dict(each.user_properties).get("processor", 0)
        for each in ended
        if getattr(each, "when", "") == "call"
    }
    if long := sorted((s, name) for name, s in seconds.items() if s > MOST_SECONDS):
        terminalreporter.section("more than 5 CPU seconds: a smaller case, or tests/nightly")
        for s, name in reversed(long):
            terminalreporter.line(f"{s:5.1f} s  {name}")
