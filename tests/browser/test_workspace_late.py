"""The agent's files: what was looked at before something was done, and is answered after that."""

from playwright.sync_api import expect

from tests.browser.test_workspace import STAMPS, folder, opened, row, tab
from tests.browser.test_workspace_meanwhile import heading, rename

__all__ = ["folder", "tab"]


def test_a_folder_is_never_drawn_as_it_was_before_something_was_done_in_it(tab, folder):
    opened(tab)
    held = []

    def hold_the_first(route):
        held.append((route, None if held else route.fetch()))
        if len(held) > 1:
            route.continue_()

    tab.page.route(STAMPS, hold_the_first)
    (folder / "by-the-agent.txt").write_text("new")
    with tab.page.expect_request(STAMPS):
        tab.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    row(tab, "README.md").press("Delete")
    expect(row(tab, "README.md")).to_have_count(0)
    tab.hold(STAMPS)  # the next look would put it right
    route, before = held[0]
    route.fulfill(response=before)
    tab.page.evaluate("() => fetch(location.href).then((answer) => answer.text())")
    expect(row(tab, "README.md")).to_have_count(0)
    expect(row(tab, "by-the-agent.txt")).to_be_visible()


def test_an_answer_takes_no_focus_from_who_has_gone_on_meanwhile(tab, folder):
    """Else the next key, as Delete, would be for a row that nobody chose."""
    opened(tab)
    held = tab.hold(STAMPS)
    with tab.page.expect_request(STAMPS):
        rename(tab, "README.md", "a.md").press("Enter")
    tab.page.keyboard.press("Home")
    expect(row(tab, "docs")).to_be_focused()
    with tab.page.expect_response(STAMPS):
        held.release()
    tab.page.evaluate("() => fetch(location.href).then((answer) => answer.text())")
    expect(row(tab, "a.md")).to_be_visible()
    expect(row(tab, "docs")).to_be_focused()
    row(tab, "a.md").click()
    expect(heading(tab, "Read me")).to_be_visible()
    rename(tab, "a.md", "b.md").press("Enter")
    expect(row(tab, "b.md")).to_be_focused()
