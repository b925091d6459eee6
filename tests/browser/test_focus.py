"""After each verb the focus is at a named place, never lost to the body."""

import re
from contextlib import suppress

from playwright.sync_api import TimeoutError, expect

from tests.tab import armed

FOCUSED = """() => {
  const e = document.activeElement;
  return e === document.body ? "the body" : (e.id || e.closest("[id]").id) + " " + e.tagName;
}"""


def focused(tab, pattern):
    with suppress(TimeoutError):
        is_there = f"(pattern) => new RegExp(pattern).test(({FOCUSED})())"
        tab.page.wait_for_function(is_there, arg=pattern)
    now = tab.page.evaluate(FOCUSED)
    assert re.search(pattern, now), f"the focus is at {now}, not at {pattern}"


def press(tab, name, within=None, *, by_tab=False):
    """By the keyboard, as it is for those who would lose their place."""
    button = (within or tab.page).get_by_role("button", name=name, exact=True)
    expect(armed(button)).to_be_enabled()  # a key does not wait for that, as a click does
    button.focus()
    if by_tab:
        # Else an Enter in the same breath as the one that saved something is no yes (R38).
        tab.page.keyboard.press("Shift+Tab")
        tab.page.keyboard.press("Tab")
        expect(button).to_be_focused()
    tab.page.keyboard.press("Enter")


def dialog(tab):
    return tab.page.get_by_role("dialog")


PLAN, ROW, BOX = r"plan-title H2", r"^subtask-\d+-s2", r"^say "


def test_a_verb_of_a_failed_subtask_leads_to_its_row(site, open_tab):
    tab = open_tab().chat(site.started("fail"))
    with tab.sends():
        press(tab, "Retry subtask 2")
    focused(tab, ROW)
    site.drive()
    press(tab, "Skip subtask 2", by_tab=True)
    press(tab, "Skip", dialog(tab), by_tab=True)
    expect(tab.row(2)).to_have_attribute("data-state", "abandoned")
    focused(tab, ROW)


def test_retrying_what_changed_files_asks_and_gives_the_focus_back(site, open_tab):
    tab = open_tab().chat(site.started("spoil"))
    retry = tab.button("Retry subtask 2")
    expect(retry).to_be_visible()
    press(tab, "Retry subtask 2")
    expect(tab.button("Go on from here")).to_be_focused()
    tab.page.keyboard.press("Escape")
    expect(retry).to_be_focused()
    tab.page.keyboard.press("Enter")
    press(tab, "Back", dialog(tab))
    expect(retry).to_be_focused()
    tab.page.keyboard.press("Enter")
    press(tab, "From a clean copy", dialog(tab))
    focused(tab, ROW)


def test_undo_leads_to_the_row_that_is_back(site, open_tab):
    tab = open_tab().chat(site.scripted("quick"))
    tab.row(2).get_by_role("group", name=re.compile("^Subtask 2")).focus()
    tab.page.keyboard.press("Delete")
    expect(tab.rows).to_have_count(2)
    focused(tab, r"^subtask-")
    press(tab, "Undo")
    expect(tab.rows).to_have_count(3)
    focused(tab, r"^subtask-\d+-s4")
