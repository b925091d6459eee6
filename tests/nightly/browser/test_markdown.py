"""A reply in markdown: wide formulas, and footnotes that lead there and back."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import PHONE
from tests.browser.test_markdown import page, tab

__all__ = ["page", "tab"]


def test_a_formula_wider_than_the_page_scrolls_by_itself(tab):
    tab.page.set_viewport_size(PHONE)
    for place in ("p", "li"):
        math = tab.page.locator(f".prose {place} > math").first
        math.evaluate(
            "each => each.append(...Array.from({length: 200}, () => each.firstChild.cloneNode(true)))"
        )
        holder = "each => each.closest('p, ul')"
        assert math.evaluate(f"each => ({holder})(each).scrollWidth > innerWidth")
    wide = "each => each.scrollWidth > each.clientWidth"
    assert not tab.page.locator("html").evaluate(wide)
    assert not tab.log.evaluate(wide)


def test_a_footnote_leads_to_its_place_and_back(page):
    page.get_by_role("link", name="1", exact=True).click()
    expect(page.locator(":target")).to_have_text(re.compile("^As far"))
    page.get_by_role("link", name="Back to note 1").click()
    expect(page.locator(":target")).to_have_text("1")
