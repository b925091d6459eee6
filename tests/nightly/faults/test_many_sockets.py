"""Two hundred open pages on one server: each hears of what happens. (1,000 are in the benchmark.)"""

import resource
import select
import time
from contextlib import ExitStack

import pytest

from tests.console.serving import Script, Started
from tests.console.sockets import Page, text_of
from tests.fake_model import FakeModelServer, say
from tests.nightly.faults.processes import megabytes

PAGES = 200
END = 30  # seconds


@pytest.fixture(autouse=True)
def _room_for_the_sockets():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 2 * PAGES:
        resource.setrlimit(resource.RLIMIT_NOFILE, (2 * PAGES, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_two_hundred_open_pages_all_get_an_update(tmp_path):
    with FakeModelServer([say("The answer for everybody.")]) as model, ExitStack() as opened:
        server = Started(
            tmp_path / "home",
            OPENAI_BASE_URL=model.url,
            OPENAI_API_KEY="k",
            PLANSIDE_MODEL="openai/m",
        )
        alice, page = Script(tmp_path / "home"), Page(server)
        c = alice.post(server, "/conversations", {"agent": "docs-writer"})["id"]
        before = megabytes(server.process.pid)
        sockets = [opened.enter_context(page.open(c)) for _ in range(PAGES)]
        for each in sockets:
            text_of(each)  # the state at the beginning
        each_takes = (megabytes(server.process.pid) - before) / PAGES * 1024
        alice.post(server, f"/conversations/{c}/messages", {"text": "hello"})
        assert listeners_without("The answer for everybody.", sockets) == 0
        assert each_takes < 300, "kB"
        assert server.end()[1] == 0


def listeners_without(text, sockets):
    """How many have not heard it in the end."""
    waiting = {each.fileno(): each for each in sockets}
    watch = select.poll()
    for number in waiting:
        watch.register(number, select.POLLIN)
    end = time.monotonic() + END
    while waiting and time.monotonic() < end:
        for number, _ in watch.poll(1000):
            if text in text_of(waiting[number]):
                watch.unregister(number)
                del waiting[number]
    return len(waiting)
