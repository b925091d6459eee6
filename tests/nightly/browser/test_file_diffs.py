"""What a call did to a file: set apart from when it came."""

from playwright.sync_api import expect

from tests.browser.test_file_diffs import tab

__all__ = ["tab"]


def test_what_a_reply_changed_is_set_apart_from_when_it_came(tab):
    link = tab.page.locator(".message-foot > .change-link")
    expect(link).to_contain_text("+")
    beside = link.locator("+ .meta")
    assert beside.evaluate("""(it) => getComputedStyle(it, "::before").content""") == '"· "'
