"""What is approved is what was readable: every text an executor gets stands there before the yes."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import DESK

TOLD = "Read every page, and list the links that lead nowhere."
EXPECTED = "A list in notes/links.md"
PLAN = {
    "title": "Mend the links",
    "content": "Only what is in docs/.",
    "expected_outcome": "No link leads nowhere.",
    "subtasks": [
        {"name": "Look", "description": TOLD, "expected_outcome": EXPECTED},
        {"name": "Mend", "description": "Line one\nLine two"},
        {"name": "Tell", "expected_outcome": "One sentence to Bob"},
    ],
}
NARROW = {"width": 360, "height": 700}
TEXTS = (
    *(PLAN["content"], PLAN["expected_outcome"], TOLD, EXPECTED),
    *("Line one\nLine two", "One sentence to Bob"),
)


@pytest.fixture
def width():
    return DESK


@pytest.fixture
def proposed(site, open_tab, width):
    plan = site.post("/plans", agent="scripted", **PLAN)
    tab = open_tab()
    tab.page.set_viewport_size(width)
    tab.chat(plan["conversation"])
    tab.made = plan
    return tab


def open_drawer(tab):
    if not tab.plan.is_visible():
        tab.drawer_toggle.click()
    expect(tab.plan).to_be_visible()


def close_drawer(tab):
    if tab.plan.is_visible():
        tab.button("Close plan").click()
    expect(tab.plan).to_be_hidden()


def card(tab):
    return tab.log.get_by_role("article", name="Plan: Mend the links")


def sees_all(place):
    for text in TEXTS:
        expect(place.get_by_text(text, exact=True)).to_be_visible()


@pytest.mark.parametrize("width", [NARROW])
def test_the_drawer_shows_every_text_before_the_yes_and_so_does_the_card_while_it_is_closed(
    proposed,
):
    open_drawer(proposed)
    sees_all(proposed.plan)
    close_drawer(proposed)
    sees_all(card(proposed))
    assert not proposed.page.evaluate("document.documentElement.scrollWidth > innerWidth")


def within(outer, inner):
    """Neither the element nor what it holds reaches beyond the outer one's right edge."""
    edges, held = outer.bounding_box(), inner.bounding_box()
    assert held["x"] + held["width"] <= edges["x"] + edges["width"]
    assert inner.evaluate("e => e.scrollWidth - e.clientWidth") <= 0
