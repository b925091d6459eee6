"""What a call did to a file, read in the conversation: folds, "Show all", and long lines."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import DESK, PHONE
from tests.fake_model import call, rule, say

OLD = "\n".join(f"line {n}" for n in range(60))
NEW = OLD.replace("line 10\n", "LINE 10\n").replace(
    "line 40\n", "line 40 is long, " + "x" * 300 + "\n"
)
RULES = [
    rule(call("write_file", path="a.txt", content=NEW), user="^change", results=0),
    rule(call("write_file", path="b.txt", content="\n".join(["row"] * 812)), results=1),
    rule(say("Done."), results=2),
]


@pytest.fixture
def tab(site, open_tab):
    site.plays(*RULES)
    file = site.file("a.txt")
    file.parent.mkdir()
    file.write_text(OLD)
    return open_tab().chat(site.answered("change it"))


def test_a_diff_folds_unfolds_and_comes_whole(tab):
    page = tab.page
    first, second = page.locator("details.tool > summary").all()
    expect(first).to_contain_text("+2 −2")
    first.focus()
    page.keyboard.press("Enter")
    diff = page.get_by_role("group", name="Changes in a.txt, 2 lines added, 2 removed")
    expect(diff.get_by_text("line 25", exact=True)).to_be_hidden()
    diff.get_by_text("23 unchanged lines").click()
    expect(diff.get_by_text("line 25", exact=True)).to_be_visible()
    is_sideways = "each => each.scrollWidth > each.clientWidth"
    assert diff.evaluate(is_sideways), "long lines scroll"
    assert not page.locator("#log").evaluate(is_sideways)

    second.click()
    diff = page.get_by_role("group", name="Changes in b.txt, 812 lines added")
    expect(diff.locator(".whole-line")).to_have_count(200)
    page.get_by_role("button", name="Show all 812 lines").click()
    expect(diff.locator(".whole-line")).to_have_count(812)
    expect(diff).to_be_focused()
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    page.set_viewport_size(DESK)
    # What was unfolded stays so while the message is drawn anew.
    tab.say("more")
    expect(page.locator("article[data-role=user]")).to_have_count(2)
    expect(diff.locator(".whole-line")).to_have_count(812)


__all__ = ["tab"]


def test_what_a_reply_changed_is_set_apart_from_when_it_came(tab):
    link = tab.page.locator(".message-foot > .change-link")
    expect(link).to_contain_text("+")
    beside = link.locator("+ .meta")
    assert beside.evaluate("""(it) => getComputedStyle(it, "::before").content""") == '"· "'
