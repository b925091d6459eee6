"""Stopping a reply: what is left or sent before the page shows it."""

from playwright.sync_api import expect

from tests.browser.test_stop import answering
from tests.tab import wait_for


def test_a_page_that_is_left_before_it_shows_the_stop_keeps_both_texts(site, open_tab):
    tab = answering(site, open_tab, "second", deaf=True)
    tab.message.press_sequentially("half a word")
    with tab.page.expect_response("**/stop"):
        tab.button("Stop the reply").click()
    tab.message.press_sequentially(" and more")
    tab.page.reload()
    expect(tab.message).to_have_value("second\n\nhalf a word and more")


def test_what_is_sent_between_the_stop_and_its_being_drawn_does_not_come_back(site, open_tab):
    tab = answering(site, open_tab, "second")
    held = tab.hold("**/stop")
    tab.message.press_sequentially("sent behind it")
    tab.button("Stop the reply").click()
    wait_for(tab, lambda: held)
    said = tab.hold("**/say")
    tab.message.press("Enter")
    wait_for(tab, lambda: said)
    held[0].continue_()
    expect(tab.message).to_have_value("second")
    said[0].continue_()
    expect(tab.log).to_contain_text("sent behind it")
    expect(tab.message).to_have_value("second")
