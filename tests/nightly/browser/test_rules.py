"""The rules of docs/rules.md about the screen: on a phone, and where nothing may move."""

from playwright.sync_api import expect

from tests.browser.conftest import PHONE


def test_r27_nothing_moves_for_those_who_asked_for_that(site, open_tab):
    tab = open_tab(reduced_motion="reduce").chat(site.started("hang"))
    expect(tab.row(2)).to_have_attribute("data-state", "in_progress")
    assert tab.page.evaluate(MOVING) == []
    tab.page.emulate_media(reduced_motion="no-preference")
    tab.page.wait_for_function(f"() => ({MOVING})().length")  # there is something to hold still


MOVING = """() => document.getAnimations()
  .filter((a) => a.playState === "running" && a.effect.getComputedTiming().duration > 1)
  .map((a) => a.animationName ?? a.transitionProperty)"""


def test_r27_on_a_phone_the_sheet_closes_by_escape_and_gives_focus_back(site, open_tab):
    tab = open_tab(viewport=PHONE).chat(site.scripted("quick"))
    tab.drawer_toggle.click()
    expect(tab.plan.locator(":focus")).to_have_count(1)
    tab.page.keyboard.press("Escape")
    expect(tab.plan).to_be_hidden()
    expect(tab.drawer_toggle).to_be_focused()
