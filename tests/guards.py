"""Fails a test that sleeps, starts a process or opens a socket, and names those that compute long.

Real time, processes and ports are what makes tests slow, and fail by chance. Where one is the subject
a marker says so: `process` for a command that the test starts (what a tool of the product starts needs
none), `sockets` for a server within the test. Under tests/smoke and tests/nightly all is allowed; so is
it, until they go, in the files that tests/platform_until_removed.txt names.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Set
from pathlib import Path
from types import FrameType
from urllib.parse import urlsplit

import pytest

TESTS = Path(__file__).parent
PRODUCT = tuple(str(TESTS.parent / app) for app in ("agents", "plans", "console"))
FREE = [TESTS / name for name in ("lint", "smoke", "nightly", "real", "benchmarks")]
UNTIL_REMOVED = (TESTS / "platform_until_removed.txt").read_text().split()
SLEEP, START, CONNECT = "time.sleep", "subprocess.Popen", "socket.connect"  # as Python audits them
ALL = frozenset({SLEEP, START, CONNECT})
# They work for all tests, whichever comes first; nobody can set the time at which a file was changed.
FOR_ALL = {str(TESTS / "database.py"), str(TESTS / "patience.py")}
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
        self.faults: list[str] = []
        self.places: set[tuple[str, int]] = set()

    def watch(self, allowed: Set[str]) -> None:
        self.allowed, self.faults = allowed, []

    def hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if event not in ALL or event in self.allowed:
            return
        if event == CONNECT:
            place = arguments[1]
            if isinstance(place, tuple) and not (place[1] in NOBODY or place[:2] in self.places):
                self.refuse(event, f"{place[0]}:{place[1]}")
        elif is_by_the_test(sys._getframe(1)):
            self.refuse(event, arguments[0])

    def refuse(self, event: str, what: object) -> None:
        """Kept too: a broad `except` may swallow what is raised."""
        self.faults.append(SAYS[event].format(what))
        raise AssertionError(self.faults[-1])


guards = Guards()
CPU = pytest.StashKey[float]()
real_sleep = time.sleep


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
    if is_free or str(item.path.relative_to(TESTS.parent)) in UNTIL_REMOVED:
        return ALL
    if item.get_closest_marker("browser"):
        return {START, CONNECT}
    marked = {"process": START, "sockets": CONNECT}
    return {event for mark, event in marked.items() if item.get_closest_marker(mark)}


def sleep(seconds: float) -> None:
    guards.hear(SLEEP, (seconds,))
    real_sleep(seconds)


def pytest_configure() -> None:
    sys.addaudithook(guards.hear)
    time.sleep = sleep  # of which Python tells its audit only from 3.13 on
    for url in (os.environ.get("TEST_DATABASE_URL"), os.environ.get("TEST_REDIS_URL")):
        if url and (place := urlsplit(url)).port:
            guards.places.add((place.hostname or "", place.port))


def cpu() -> float:
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    guards.watch(allowed_for(item))
    item.stash[CPU] = cpu()
    try:
        return (yield)
    finally:
        guards.watch(ALL)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    if report.when == "call" and report.passed and guards.faults:
        report.outcome, report.longrepr = "failed", "\n".join(guards.faults)
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
