"""After each verb the focus is at a named place, never lost to the body."""

import re
from contextlib import suppress

from playwright.sync_api import TimeoutError, expect

from tests.tab import LIVE

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


def press(tab, name, within=None):
    """By the keyboard, as it is for those who would lose their place."""
    button = (within or tab.page).get_by_role("button", name=name, exact=True)
    expect(button).to_be_enabled()  # a key does not wait for that, as a click does
    button.focus()
    tab.page.keyboard.press("Enter")


def dialog(tab):
    return tab.page.get_by_role("dialog")


PLAN, ROW, BOX = r"plan-title H2", r"^subtask-\d+-s2", r"^say "


def test_start_and_stop(site, open_tab):
    tab = open_tab().chat(site.scripted("hang"))
    with tab.sends():
        press(tab, "Start plan")
    site.drive()
    tab.sees_plan(state="in_progress")
    focused(tab, PLAN)
    press(tab, "Stop plan")
    with tab.sends():
        press(tab, "Stop plan", dialog(tab))
    site.drive()
    tab.sees_plan(run="idle")
    focused(tab, PLAN)
    press(tab, "Cancel plan")
    press(tab, "Cancel plan", dialog(tab))
    tab.sees_plan(state="abandoned")
    focused(tab, PLAN)


def test_a_verb_of_a_failed_subtask_leads_to_its_row(site, open_tab):
    tab = open_tab().chat(site.started("fail"))
    with tab.sends():
        press(tab, "Retry subtask 2")
    focused(tab, ROW)
    site.drive()
    press(tab, "Skip subtask 2")
    press(tab, "Skip", dialog(tab))
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


def test_undo_leads_to_the_row_that_is_back_when_it_comes_late(site, open_tab):
    """The toast goes with the answer. Until the plan is drawn anew another row stands in the place,
    and whatever else changes on the page finds the focus lost."""
    tab = open_tab(blocked=True).chat(site.scripted("quick"))
    tab.expects("WebSocket")
    tab.row(2).get_by_role("group", name=re.compile("^Subtask 2")).focus()
    tab.page.keyboard.press("Delete")
    expect(tab.rows).to_have_count(2)
    focused(tab, r"^subtask-")
    held = tab.hold(re.compile(r"/c/\d+/(changes|drawer)"))
    press(tab, "Undo")
    expect(tab.button("Undo")).to_have_count(0)
    tab.page.evaluate("document.dispatchEvent(new CustomEvent('htmx:after:swap'))")
    focused(tab, r"^subtask-\d+-s3")
    held.release()
    expect(tab.rows).to_have_count(3)
    focused(tab, r"^subtask-\d+-s4")


def test_a_message_that_waits_goes_back_into_the_box_is_discarded_and_a_reply_is_stopped(
    site, open_tab
):
    tab = open_tab().chat(site.conversation())
    tab.sees_connection(LIVE)
    with tab.sends():
        tab.say("say half of it")
    site.drive()
    expect(tab.log).to_contain_text("Half of an answer")
    tab.say("and then this")
    press(tab, "Edit")
    expect(tab.message).to_have_value("and then this")
    focused(tab, BOX)
    tab.button("Send").click()
    press(tab, "Discard")
    expect(tab.log.get_by_text("Waiting to send")).to_have_count(0)
    focused(tab, r"^log ")
    with tab.sends():
        press(tab, "Stop the reply")
    site.drive()
    expect(tab.log).to_contain_text("You stopped this reply.")
    focused(tab, BOX)
