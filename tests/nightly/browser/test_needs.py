"""What needs the person, for everybody: nothing that axe finds."""

from playwright.sync_api import expect

from tests.browser.test_needs import (
    A_LOOK,
    SOUNDS,
    TELLS,
    WORDS,
    entry,
    hidden_tabs,
    sounds,
    told_in_the_end,
    waiting,
)
from tests.nightly.browser.states.test_pages import violations

__all__ = ["hidden_tabs", "waiting"]


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


def test_the_settings_ask_the_browser_and_say_what_it_answered(site, open_tab):
    tab = open_tab(viewport={"width": 1280, "height": 800})
    tab.page.add_init_script(TELLS)
    tab.open("/settings/notifications/")
    expect(tab.page.get_by_text("Allowed in this browser")).to_be_visible()
    tab.button("Send a test").click()
    assert tab.page.evaluate(WORDS) == [["Planside", "Notifications arrive here."]]
    tab.page.evaluate("localStorage.setItem('leave', 'denied')")
    tab.page.reload()
    expect(tab.page.get_by_text("Refused in this browser.")).to_be_visible()
    tab.page.evaluate("localStorage.setItem('leave', 'default')")
    tab.page.reload()
    tab.button("Ask this browser").click()
    expect(tab.page.get_by_text("Allowed in this browser")).to_be_visible()
    tab.page.get_by_role("switch", name="A plan failed").click()
    expect(tab.page.locator("#notifications-said")).to_have_text("Saved.")
    tab.page.reload()
    expect(tab.page.get_by_role("switch", name="A plan failed")).not_to_be_checked()
    tab.page.get_by_role("switch", name="A plan failed").click()
    expect(tab.page.locator("#notifications-said")).to_have_text("Saved.")


def test_a_browser_is_asked_once_when_a_plan_takes_long(site, open_tab, clock):
    tab = open_tab()
    tab.page.add_init_script(TELLS)
    tab.expects("model-check", "ERR_ABORTED")  # its time is up, too
    tab.open("/plans/")
    tab.page.evaluate("localStorage.setItem('leave', 'default')")
    tab.chat(site.started("hang"))
    expect(tab.plan).to_have_attribute("data-run", "running")
    expect(tab.button("Ask this browser")).to_be_hidden()
    clock.fast_forward(61_000)
    expect(tab.button("Ask this browser")).to_be_visible()
    tab.button("Not now").click()
    expect(tab.button("Ask this browser")).to_be_hidden()
    expect(tab.message).to_be_focused()


def test_nothing_is_told_while_a_tab_is_in_view(site, clock, hidden_tabs):
    shown = hidden_tabs[0]
    for tab in hidden_tabs:
        tab.page.evaluate(SOUNDS)
    shown.page.evaluate(
        "window.isAway = false; document.dispatchEvent(new Event('visibilitychange'))"
    )
    site.scripted("quick")
    clock.fast_forward(A_LOOK)
    expect(entry(shown, 1)).to_be_visible()
    assert told_in_the_end(clock, hidden_tabs) == []
    assert sounds(hidden_tabs) == 0, "nor is anything heard"
