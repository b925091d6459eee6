"""Fails a test that sleeps, starts a process or opens a socket, and names those that compute long.

Real time, processes and ports are what makes tests slow, and fail by chance. Where one is the subject
a marker says so: `@pytest.mark.process` for what a tool starts, `@pytest.mark.sockets` for a server
within the test. Under tests/smoke and tests/nightly all is allowed; so is it, until they go, in the
files that tests/platform_until_removed.txt names.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Set
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

TESTS = Path(__file__).parent
FREE = [TESTS / name for name in ("smoke", "nightly", "real", "benchmarks")]
UNTIL_REMOVED = TESTS / "platform_until_removed.txt"
ALL = frozenset(
    {"time.sleep", "subprocess.Popen", "socket.connect"}
)  # as Python's audit calls them
MOST_SECONDS = 5  # of processor time, in one test
SLEEPS = "sleeps: move the clock, or let the queue run until nothing is due (tests/site.py, drive)."
STARTS = "starts {what}: call the command in this process (tests/cli.py), or go to tests/smoke."
CONNECTS = (
    "connects to {what}: fake the wire (tests/fake_model.py), or use the site (tests/site.py)."
)


class Guards:
    """What the running test did that no test may."""

    def __init__(self) -> None:
        self.allowed: Set[str] = ALL
        self.faults: list[str] = []
        self.places: set[tuple[str, int]] = set()

    def watch(self, allowed: Set[str]) -> None:
        self.allowed, self.faults = allowed, []

    def hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if event not in ALL or event in self.allowed:
            return
        if event == "time.sleep":
            if is_of_tests(sys._getframe(2).f_code.co_filename):
                self.refuse(SLEEPS)
        elif event == "subprocess.Popen":
            self.refuse(STARTS.format(what=arguments[0]))
        elif isinstance(address := arguments[1], tuple) and address[:2] not in self.places:
            self.refuse(CONNECTS.format(what=f"{address[0]}:{address[1]}"))

    def refuse(self, what: str) -> None:
        """Kept too: a broad `except` may swallow what is raised."""
        self.faults.append(f"This test {what}")
        if not SURVEY:
            raise AssertionError(self.faults[-1])


guards = Guards()
CPU = pytest.StashKey[float]()
SURVEY = "PLANSIDE_GUARDS_SURVEY" in os.environ


@contextmanager
def lifted() -> Iterator[None]:
    """For what the frame itself needs: the browser, the site."""
    before, guards.allowed = guards.allowed, ALL
    try:
        yield
    finally:
        guards.allowed = before


def is_of_tests(filename: str) -> bool:
    return filename.startswith(str(TESTS))


def allowed_for(item: pytest.Item) -> Set[str]:
    is_free = any(item.path.is_relative_to(folder) for folder in FREE)
    if is_free or str(item.path.relative_to(TESTS.parent)) in UNTIL_REMOVED.read_text().split():
        return ALL
    if item.get_closest_marker("process"):
        return ALL - {"time.sleep"}
    return {"socket.connect"} if item.get_closest_marker("sockets") else set()


def pytest_configure() -> None:
    sys.addaudithook(guards.hear)
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
    if SURVEY:
        for fault in dict.fromkeys(guards.faults):
            report.user_properties.append(("guard", fault))
    elif report.when == "call" and report.passed and guards.faults:
        report.outcome, report.longrepr = "failed", "\n".join(guards.faults)
    if report.when == "teardown":
        report.user_properties.append(("processor", round(cpu() - item.stash[CPU], 1)))
    return report


def pytest_terminal_summary(terminalreporter) -> None:
    """Fails nothing: what a test may compute is a benchmark's business."""
    ended = [each for reports in terminalreporter.stats.values() for each in reports]
    seconds = {
        each.nodeid: dict(each.user_properties).get("processor", 0)
        for each in ended
        if getattr(each, "when", "") == "teardown"
    }
    if SURVEY:
        found = {
            (each.nodeid, v)
            for each in ended
            for k, v in getattr(each, "user_properties", ())
            if k == "guard"
        }
        Path(os.environ["PLANSIDE_GUARDS_SURVEY"]).write_text(
            "".join(f"{a}\t{b}\n" for a, b in sorted(found))
        )
    long = sorted((s, name) for name, s in seconds.items() if s > MOST_SECONDS)
    if long:
        terminalreporter.section("more than 5 CPU seconds: a smaller case, or tests/nightly")
        for s, name in reversed(long):
            terminalreporter.line(f"{s:5.1f} s  {name}")
