"""A server that is there and says nothing, beside an open drawer."""

from playwright.sync_api import expect

from tests.browser.test_offline import GONE, interrupted, shows_beside_a_hung_socket, tries_now
from tests.tab import LIVE, OFFLINE

__all__ = ["interrupted"]


def test_what_others_do_is_shown_beside_a_hung_socket_and_an_open_drawer(site, open_tab, clock):
    shows_beside_a_hung_socket(site, open_tab(), clock, is_closed=False)


DRAWN_LATE = """(line) => {
  line.textContent = "Scripted is answering";
  document.dispatchEvent(new CustomEvent("htmx:after:swap"));
}"""


def test_offline_nothing_says_that_the_agent_is_answering_and_back_the_line_says_it_again(
    site, open_tab, interrupted
):
    tab = open_tab().chat(site.conversation())
    tab.expects(*GONE)
    tab.sees_connection(LIVE)
    line = tab.page.locator("#status")
    with tab.sends():
        tab.say("say half of it")
    site.drive()
    expect(line).to_have_text("Scripted is answering")
    network = tab.page.context.set_offline
    for goes, comes in (
        (lambda: network(True), lambda: network(False)),
        (interrupted, site.comes_back),
    ):
        goes()
        tab.sees_connection(OFFLINE)
        expect(line).to_have_text("")
        line.evaluate(DRAWN_LATE)
        expect(line).to_have_text("")
        comes()
        tries_now(tab)
        expect(line).to_have_text("Scripted is answering")
