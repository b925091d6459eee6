"""Theme, text size and density: at once, in every tab, and nothing falls off the page."""

import pytest
from playwright.sync_api import expect

from tests.tab import LIVE, wait_for

LOOK = """() => ({
  scheme: getComputedStyle(document.documentElement).colorScheme,
  size: getComputedStyle(document.documentElement).fontSize,
  row: Math.round(document.querySelector(".nav a").getBoundingClientRect().height),
})"""


@pytest.fixture
def settings(site, open_tab):
    return open_tab("/settings/appearance/")


def choose(tab, words):
    with tab.page.expect_response("**/appearance/set"):
        tab.page.get_by_text(words, exact=True).click()


def test_a_choice_counts_at_once_in_every_tab_and_after_loading_again(settings, open_tab):
    other = open_tab("/settings/account/")
    for words in ("Dark", "Largest", "Compact"):
        choose(settings, words)
    wanted = {"scheme": "dark", "size": "20.8px", "row": 34}
    for tab in (settings, other):
        looks(tab, **wanted)
    settings.page.reload()
    expect(settings.page.get_by_label("Largest")).to_be_checked()
    looks(settings, **wanted)


def looks(tab, **wanted):
    """Each choice comes to another tab by itself."""
    wait_for(tab, lambda: wanted.items() <= tab.page.evaluate(LOOK).items())


def test_a_choice_that_does_not_get_through_is_taken_back(settings):
    settings.expects("request:", "Failed to (load|fetch)")
    settings.page.route("**/appearance/set", lambda route: route.abort())
    settings.page.get_by_text("Dark", exact=True).click()
    expect(
        settings.page.get_by_role("alert").filter(has_text="did not get through")
    ).to_be_visible()
    expect(settings.page.get_by_label("As the system")).to_be_checked()
    looks(settings, scheme="light dark")


__all__ = ["settings"]


NARROWEST = {"width": 360, "height": 780}


def test_nothing_falls_off_a_narrow_page_with_the_largest_text(settings, site, open_tab):
    choose(settings, "Largest")
    choose(settings, "Compact")
    chat = site.proposed()
    tab = open_tab()
    tab.page.set_viewport_size(NARROWEST)
    pages = ["agents", "models", "tools", "appearance", "account"]
    paths = [f"/c/{chat}/", "/plans/", f"/plans/{site.plan(chat)['id']}/"]
    for path in paths + [f"/settings/{page}/" for page in pages]:
        tab.open(path)
        expect(tab.page.get_by_role("main")).to_be_visible()
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= 360, path
    tab.chat(chat)
    tab.sees_connection(LIVE)
    tab.drawer_toggle.click()
    expect(tab.button("Start plan")).to_be_in_viewport()
    assert tab.plan.evaluate("e => e.scrollWidth <= e.clientWidth")
