"""The agent's files: what was looked at before something was done, and is answered after that."""

from playwright.sync_api import expect

from tests.browser.test_workspace import folder, opened, row, tab
from tests.browser.test_workspace_meanwhile import ROWS, STAMPS, looked
from tests.tab import wait_for

__all__ = ["folder", "tab"]


def test_a_folder_is_never_drawn_as_it_was_before_something_was_done_in_it(tab, folder):
    opened(tab)
    held = []

    def hold_the_first(route):
        held.append((route, None if held else route.fetch()))
        if len(held) > 1:
            route.continue_()

    tab.page.route(ROWS, hold_the_first)
    (folder / "by-the-agent.txt").write_text("new")
    wait_for(tab, lambda: held)
    row(tab, "README.md").press("Delete")
    expect(row(tab, "README.md")).to_have_count(0)
    tab.hold(STAMPS)  # the next look would put it right
    route, before = held[0]
    route.fulfill(response=before)
    tab.page.evaluate("() => fetch(location.href).then((answer) => answer.text())")
    expect(row(tab, "README.md")).to_have_count(0)
    expect(row(tab, "by-the-agent.txt")).to_be_visible()


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
    with looked(tab):
        route, answer = held[0]
        route.fulfill(json=answer)
