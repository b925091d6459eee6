"""A page that opens its socket and never reads it, while a long reply is streamed."""

import select
import time

import pytest

from tests.console.serving import Script, Started
from tests.console.sockets import SMALL, Page, heard, text_of
from tests.fake_model import FakeModelServer, say
from tests.nightly.faults.processes import megabytes

# 100,000 characters a second, six bytes on the wire for each quotation mark. Each frame carries a
# growing paragraph whole.
PARAGRAPH = ("word" + '"' * 36 + " ") * 2_500
LONG = say(f"{PARAGRAPH}\n\n" * 9, chunk=2_000, delay=0.02)
END = 90  # seconds: its pings are not answered for 30, and asked every 20


@pytest.fixture
def server(tmp_path):
    with FakeModelServer([LONG]) as model:
        server = Started(
            tmp_path / "home",
            OPENAI_BASE_URL=model.url,
            OPENAI_API_KEY="k",
            PLANSIDE_MODEL="openai/m",
        )
        yield server
        if server.process.poll() is None:
            server.end()


def test_a_page_that_reads_nothing_is_let_go_and_the_others_go_on(server, tmp_path):
    alice, page = Script(tmp_path / "home"), Page(server)
    c = alice.post(server, "/conversations", {"agent": "docs-writer"})["id"]
    with page.open(c, kept=SMALL) as asleep, page.open(c) as awake:
        text_of(awake)  # the state at the beginning
        before = megabytes(server.process.pid)
        alice.post(server, f"/conversations/{c}/messages", {"text": "a long story"})
        read = []
        assert is_let_go(asleep, awake, read), "its socket is still open"
        assert megabytes(server.process.pid) - before < 100, "megabytes"
        assert any("word" in text for text in read), "the other page went on"
    with page.open(c) as back:
        assert "word&quot;" in text_of(back), "who comes back is sent what it has missed"
    assert server.end()[1] == 0


def is_let_go(asleep, meanwhile, read):
    """Whether the server hangs up on a socket that nobody reads, while another one is `read`."""
    watch = select.poll()
    watch.register(asleep, select.POLLRDHUP)
    watch.register(meanwhile, select.POLLIN)
    end = time.monotonic() + END
    while time.monotonic() < end:
        ready = dict(watch.poll(1000))
        if asleep.fileno() in ready:
            return True
        if ready:
            read.append(heard(meanwhile))
    return False
