"""What needs the person, for everybody: nothing that axe finds."""

from playwright.sync_api import expect

from tests.browser.test_needs import TELLS, waiting
from tests.nightly.browser.states.test_pages import violations

__all__ = ["waiting"]


def test_the_page_is_whole_for_everybody(site, open_tab, waiting):
    tab = open_tab("/needs/")
    expect(tab.page.locator(".need-card")).to_have_count(4)
    assert violations(tab) == []
    for name in ("Skip", "Ask for changes"):
        tab.button(name).click()
    assert violations(tab) == []


def test_the_settings_of_a_browser_that_was_not_asked_yet_are_whole(open_tab):
    tab = open_tab("/settings/notifications/")
    tab.page.evaluate("localStorage.setItem('leave', 'default')")
    tab.page.add_init_script(TELLS)
    tab.page.reload()
    expect(tab.button("Ask this browser")).to_be_visible()
    assert violations(tab) == []
