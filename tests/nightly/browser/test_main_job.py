"""The main job beside a server in a process, which Ctrl-C ends."""

import signal

from tests.browser.test_main_job import mends_the_docs, shown
from tests.patience import at_most
from tests.tab import LIVE, wait_for

NEEDS_A_PROCESS = True


def test_after_ctrl_c_and_another_start_it_is_all_still_there(product, open_tab):
    tab = open_tab(signed_in=False)
    tab.expects("WebSocket", "Failed to load resource", "htmx:(ws:)?error", "net::ERR_")
    tab.page.goto(product.server.link)
    mends_the_docs(product, tab)
    before = shown(tab)
    seconds, code, out, err = product.end(signal.SIGINT)
    assert (code, out, err) == (0, "", "")
    assert seconds < at_most(2)
    product.start()
    tab.page.reload()
    tab.sees_connection(LIVE)
    wait_for(tab, lambda: shown(tab) == before)
