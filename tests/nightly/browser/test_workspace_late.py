"""The agent's files: a look from before the search ended, answered after that."""

from playwright.sync_api import expect

from tests.browser.test_workspace import STAMPS, folder, opened, row, tab
from tests.browser.test_workspace_meanwhile import ROWS
from tests.tab import wait_for

__all__ = ["folder", "tab"]


def test_marks_that_came_with_a_look_from_before_the_search_ended_are_drawn(tab):
    opened(tab)
    tab.page.get_by_role("searchbox", name="Find a file").fill("flow")
    expect(row(tab, "docs/img/flow.png")).to_be_visible()
    held = []

    def mark(route):
        answer = route.fetch().json() | {"marks": "another"}
        held.append((route, answer)) if not held else route.fulfill(json=answer)

    tab.page.route(STAMPS, mark)
    wait_for(tab, lambda: held)
    tab.page.get_by_role("searchbox", name="Find a file").press("Escape")
    expect(row(tab, "README.md")).to_be_visible()
    with tab.page.expect_response(ROWS):  # of a look after that one
        route, answer = held[0]
        route.fulfill(json=answer)
