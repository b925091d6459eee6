"""Theme, text size and density: nothing falls off the narrowest page."""

from playwright.sync_api import expect

from tests.browser.test_appearance import choose, settings
from tests.tab import LIVE

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
