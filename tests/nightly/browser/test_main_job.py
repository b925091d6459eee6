"""The main job beside a server in a process, which Ctrl-C ends."""

import signal

import pytest

from tests.browser.test_main_job import mends_the_docs, shown
from tests.nightly.browser.process import Process
from tests.patience import at_most
from tests.tab import LIVE, wait_for


@pytest.fixture
def site(tmp_path):
    process = Process(tmp_path / "home", PLANSIDE_DEMO_PACE="0.02", PLANSIDE_MODEL="demo/docs")
    yield process
    if process.is_up:
        process.end()


def test_after_ctrl_c_and_another_start_it_is_all_still_there(site, open_tab):
    tab = open_tab(signed_in=False)
    tab.expects("WebSocket", "Failed to load resource", "htmx:(ws:)?error", "net::ERR_")
    tab.page.goto(site.link)
    mends_the_docs(site, tab)
    before = shown(tab)
    seconds, code, out, err = site.end(signal.SIGINT)
    assert (code, out, err) == (0, "", "")
    assert seconds < at_most(2)
    site.start()
    tab.page.reload()
    tab.sees_connection(LIVE)
    wait_for(tab, lambda: shown(tab) == before)
