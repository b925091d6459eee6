"""The agent's files while more than one thing happens: late answers, polls beside a person's own
act, what goes while it is open."""

import re

from playwright.sync_api import expect

from tests.browser.test_workspace import (
    STAMPS,
    folder,
    let_go,
    looks,
    opened,
    row,
    tab,
    view,
)
from tests.tab import LIVE, wait_for

__all__ = ["folder", "tab"]

LOST = "That did not get through. Check the connection and try again."
README = re.compile(r"/workspace/file\?path=README")


def alert(tab):
    return tab.page.locator("#files-alert")


def heading(tab, name):
    return view(tab).get_by_role("heading", name=name)


CUT_OFF = """(part) => {
  const { fetch } = window;
  window.fetch = async (...asked) => {
    const answer = await fetch(...asked);
    if (!answer.url.includes(part)) return answer;
    const body = new ReadableStream({ start: (broken) => broken.error(new TypeError("network error")) });
    return new Response(body, answer);
  };
}"""


def rename(tab, name, typed):
    row(tab, name).press("F2")
    field = tab.page.get_by_role("textbox", name=f"New name of {name}")
    field.fill(typed)
    return field


# Reading


def test_late_news_of_a_file_does_not_replace_the_one_that_was_opened_since(tab, folder):
    (folder / "other.md").write_text("# Another\n")
    row(opened(tab), "README.md").click()
    expect(heading(tab, "Read me")).to_be_visible()
    held = tab.hold(STAMPS)
    with tab.page.expect_request(STAMPS):
        (folder / "README.md").write_text("# Written anew\n")
        tab.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    row(tab, "other.md").click()
    expect(heading(tab, "Another")).to_be_visible()
    let_go(tab, held[0])
    expect(heading(tab, "Another")).to_be_visible()


# Answers that break off while they are read


def test_what_is_cut_off_says_so_and_the_tree_shows_what_came_of_it(tab, folder):
    tab.expects("htmx:error")
    (folder / "other.md").write_text("# Another\n")
    opened(tab)
    row(tab, "other.md").press("Delete")
    undo = tab.button("Undo")
    expect(undo).to_be_visible()
    tab.page.evaluate(CUT_OFF, "/workspace/restore")
    undo.click()
    expect(alert(tab)).to_have_text(LOST)
    looks(tab)
    expect(row(tab, "other.md")).to_be_visible()
    tab.page.evaluate(CUT_OFF, "/workspace/rename")
    rename(tab, "other.md", "third.md").press("Enter")
    expect(tab.page.get_by_role("dialog", name="Rename").get_by_role("alert")).to_have_text(LOST)
    tab.page.keyboard.press("Escape")
    expect(row(tab, "third.md")).to_be_visible()
    tab.page.evaluate(CUT_OFF, "/workspace/delete")
    row(tab, "third.md").press("Delete")
    looks(tab)
    expect(row(tab, "third.md")).to_have_count(0)
    expect(alert(tab)).to_have_text(LOST)
    row(tab, "src").click()
    row(tab, "app.py").click()
    expect(alert(tab)).to_have_text("")
    tab.page.evaluate(CUT_OFF, "/workspace/file")
    row(tab, "README.md").click()
    expect(alert(tab)).to_have_text(LOST)  # and not that it is gone


# What is dropped


# Renaming


def test_a_refused_name_and_why_stay_while_the_folder_changes_which_is_shown_then(tab, folder):
    tab.expects("422")
    opened(tab)
    field = rename(tab, "README.md", "a/b")
    tab.page.keyboard.press("Enter")
    expect(field).to_have_accessible_description("A name cannot have a / in it.")
    (folder / "by-the-agent.txt").write_text("new")
    looks(tab)
    expect(field).to_have_accessible_description("A name cannot have a / in it.")
    expect(field).to_have_value("a/b")
    tab.page.keyboard.press("Escape")
    looks(tab)
    expect(row(tab, "by-the-agent.txt")).to_be_visible()


# What the buttons are about


# The drawer, and the button


def test_a_script_and_a_panel_that_do_not_come_are_asked_for_again(site, tab):
    tab.expects(r"/workspace\.", "ERR_FAILED")
    tab.sees_connection(LIVE)  # a fault is said until the server is reached
    tab.page.wait_for_load_state("networkidle")  # what is still to be answered takes it away
    script = re.compile(r"/js/workspace\.")
    tab.page.route(script, lambda route: route.abort())
    tab.button("Files").click()
    expect(tab.alerts.first).to_have_text(LOST)
    tab.page.unroute(script)
    file = site.agent_file("scripted")
    aside = file.with_name("aside.json")
    file.rename(aside)
    tab.button("Files").click()
    expect(tab.page.locator(".files-refusal")).to_be_visible()
    aside.rename(file)
    tab.button("Close files").click()
    opened(tab)
    row(tab, "README.md").click()
    expect(heading(tab, "Read me")).to_be_visible()


def test_an_answer_to_what_was_sent_before_takes_no_fault_away(site, open_tab):
    tab = open_tab()
    tab.expects("/workspace/", "ERR_FAILED")
    held = tab.hold("**/plan/approve")
    tab.chat(site.proposed())
    tab.sees_connection(LIVE)
    tab.button("Start plan").click()
    wait_for(tab, lambda: held)
    tab.page.route("**/workspace/", lambda route: route.abort())
    tab.button("Files").click()
    fault = tab.page.locator("#say-alert")
    expect(fault).to_have_text(LOST)
    held.release()
    tab.sees_plan(approved_version=1)
    expect(fault).to_have_text(LOST)
    tab.say("hello")
    expect(fault).to_be_empty()


# Looking at what has changed
