"""What a page shows cannot be read for a moment: it says so by its socket, and comes back."""

import json
import re
import sqlite3
from contextlib import closing

import pytest

from tests.console.serving import ROOT, Script, Started
from tests.console.sockets import Page, close_code, text_of
from tests.inner import consumers

CODES = (consumers.SIGN_IN, consumers.NOT_YOURS, consumers.TOO_MANY, consumers.SERVER_ERROR)


@pytest.fixture
def server(tmp_path):
    server = Started(tmp_path / "home")
    yield server
    if server.process.poll() is None:
        server.end()


def renamed(home, old, new):
    """A table that is missing, as after a disk's fault."""
    with closing(sqlite3.connect(home / "planside.sqlite3")) as database:
        database.execute("PRAGMA legacy_alter_table = on")
        database.execute(f"ALTER TABLE {old} RENAME TO {new}")
        database.commit()


def test_a_page_whose_reading_fails_is_closed_by_a_code_after_which_it_comes_back(server, tmp_path):
    home = tmp_path / "home"
    alice, page = Script(home), Page(server)
    c = alice.post(server, "/conversations", {"agent": "docs-writer"})["id"]
    with page.open(c) as opened:
        text_of(opened)  # the state at the beginning
        renamed(home, "agents_turn", "lost")
        try:
            alice.patch(server, f"/conversations/{c}", {"title": "Renamed meanwhile"})
            code = close_code(opened)
        finally:
            renamed(home, "lost", "agents_turn")
    assert code == consumers.SERVER_ERROR
    with page.open(c) as back:
        assert "Renamed meanwhile" in text_of(back)
    _, code, _, said = server.end()
    assert code == 0 and "could not be shown" in said
    assert "invalid close code" not in said


@pytest.mark.parametrize("code", CODES)
def test_each_closing_code_is_one_that_a_server_may_send(code):
    assert 3000 <= code <= 4999, "RFC 6455, 7.4.2"


def test_the_page_comes_back_after_a_server_error_and_not_after_the_others():
    base = (ROOT / "templates/base.html").read_text()
    config = re.search(r"htmx-config\"\s+content='(.*?)'", base, re.DOTALL)
    reconnects = json.loads(config[1])["ws"]["reconnectCodes"]
    assert [code in reconnects for code in CODES] == [False, False, False, True]
