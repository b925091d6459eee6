"""Checks on the page: refused, held, checked again, and a form that does not come."""

import pytest
from playwright.sync_api import expect

from plans.models import Plan
from tests.browser.model import subtasks_to
from tests.browser.scripted_site import approve
from tests.browser.test_checks import NOTES, chat, checks_of, form, tab
from tests.tab import LIVE, armed

__all__ = ["chat", "tab"]


def test_what_cannot_be_saved_says_why_and_keeps_what_was_typed(tab):
    tab.expects("status of 4")
    tab.button("Add a check to subtask 3").click()
    new = form(tab, 3, "Add a check to subtask")
    new.get_by_role("button", name="Save").click()
    expect(new.get_by_role("alert")).to_contain_text("needs its path")
    new.get_by_label("Path").fill("../up.md")
    new.get_by_role("button", name="Save").click()
    expect(new.get_by_role("alert")).to_contain_text("relative to the workspace")
    expect(new.get_by_label("Path")).to_have_value("../up.md")
    new.get_by_text("HTTP", exact=True).click()
    expect(new).not_to_contain_text("relative to the workspace")
    expect(new).to_contain_text("fetch_url is off for Scripted")
    expect(new.get_by_role("button", name="Save")).to_have_attribute("aria-disabled", "true")
    assert checks_of(3) == []


@pytest.fixture
def refused(site):
    """A plan whose first subtask says it is done, and is not."""
    site.change_agent(plan={"enabled": True, "max_attempts": 1})
    first, *others = subtasks_to("quick")
    chat = site.proposed(first | {"checks": [NOTES]}, *others)
    site.do(approve, chat)
    site.drive()
    return chat


def test_a_finish_that_is_refused_says_which_check_and_why_and_then_holds(site, open_tab, refused):
    tab = open_tab().chat(refused)
    tab.sees_connection(LIVE)
    blocks = tab.log.get_by_role("group", name="Not done yet: notes.md failed")
    expect(blocks).to_have_count(3)
    expect(blocks.first).to_contain_text("refused 1 of 3")
    expect(blocks.last).to_contain_text("notes.md is not there.")
    expect(tab.row(1).get_by_role("img", name="A check failed").first).to_be_visible()
    expect(tab.row(1)).to_contain_text("3 finishes were refused by its checks")
    tab.row(1).hover()
    tab.button("Add a check to subtask 1").click()
    form(tab, 1, "Add a check to subtask").get_by_role("button", name="Cancel").click()
    tab.row(1).get_by_role("button", name="Edit check 1 of subtask 1").click()
    expect(form(tab, 1).get_by_label("Path")).to_have_value("notes.md")
    tab.page.keyboard.press("Escape")
    site.file("notes.md").write_text("there")
    with tab.sends():
        armed(tab.row(1).get_by_role("button", name="Retry subtask 1")).click()
    site.drive()
    expect(tab.plan).to_have_attribute("data-state", "done")
    expect(tab.row(1).get_by_role("img", name="Done, checked")).to_be_visible()
    expect(tab.row(2).get_by_role("img", name="Done, by the agent’s word")).to_be_visible()
    expect(tab.progress).to_have_attribute("aria-valuetext", "3 of 3 · 1 checked, 2 by word")
    expect(tab.log).to_contain_text("Subtasks 2 and 3 are done by the agent’s word.")


def test_what_is_done_is_checked_again_and_a_person_may_look_instead(site, open_tab, refused):
    site.file("notes.md").write_text("there")
    site.post(f"/plans/{Plan.objects.get().pk}/subtasks/s1/retry")
    site.drive()
    tab = open_tab().chat(refused)
    tab.sees_connection(LIVE)
    expect(tab.plan).to_contain_text("1 of 3 checked, last at")
    site.file("notes.md").unlink()
    with tab.sends():
        tab.button("Check all").click()
    site.drive()
    expect(tab.row(1)).to_contain_text("No longer true since")
    expect(tab.row(1)).to_contain_text("notes.md is not there.")
    expect(tab.drawer_toggle.get_by_role("img", name="No longer true")).to_be_visible()
    tab.button("I have looked at subtask 1").click()
    expect(tab.row(1)).to_contain_text("Looked at by you,")
    expect(tab.row(1)).to_be_focused()
    expect(tab.progress).to_have_attribute(
        "aria-valuetext", "3 of 3 · 1 looked at by you, 2 by word"
    )
    tab.button("Take back that subtask 1 was looked at").click()
    expect(tab.row(1)).to_contain_text("No longer true since")
    expect(tab.row(1)).to_be_focused()
    tab.button("Add a check to subtask 2").click()
    form(tab, 2, "Add a check to subtask").get_by_label("Path").fill("gone.md")
    tab.page.keyboard.press("Enter")
    tab.row(2).get_by_text("1 check").click()
    with tab.sends():
        tab.button("Check now, subtask 2").click()
    site.drive()
    expect(tab.row(2)).to_contain_text("No longer true since")


def test_why_the_form_of_a_check_does_not_come_is_said(tab):
    tab.expects("500")
    tab.page.route("**/plan/check-editor", lambda route: route.fulfill(status=500, body=""))
    tab.button("Edit check 1 of subtask 1: file notes.md exists").click()
    expect(tab.plan.get_by_role("alert")).to_contain_text("Something broke inside Planside.")


def test_a_check_is_added_of_another_kind_and_removed_by_keyboard_alone(tab):
    add = tab.button("Add a check to subtask 3")
    add.focus()
    add.press("Enter")
    kinds = form(tab, 3, "Add a check to subtask")
    expect(kinds.get_by_role("radio", name="File")).to_be_focused()
    tab.page.keyboard.press("Tab")
    tab.page.keyboard.type("a.md")
    tab.page.keyboard.press("Escape")
    expect(tab.button("Add a check to subtask 3")).to_be_focused()
    tab.page.keyboard.press("Enter")
    expect(kinds.get_by_role("radio", name="File")).to_be_focused()
    for _ in range(4):
        tab.page.keyboard.press("ArrowRight")
    tab.page.keyboard.press("Tab")
    expect(kinds.get_by_role("textbox", name="Question")).to_be_focused()
    tab.page.keyboard.type("Does every link work?")
    tab.page.keyboard.press("Enter")
    line = tab.button("Edit check 1 of subtask 3: review Does every link work?")
    expect(line).to_be_focused()
    tab.page.keyboard.press("Enter")
    expect(form(tab, 3).get_by_role("textbox", name="Question")).to_be_focused()
    for _ in range(3):
        tab.page.keyboard.press("Tab")
    expect(form(tab, 3).get_by_role("button", name="Remove check")).to_be_focused()
    tab.page.keyboard.press("Enter")
    expect(tab.row(3).get_by_role("button", name="Add a check")).to_be_visible()
    expect(tab.row(3).locator(".step-row")).to_be_focused()
    assert checks_of(3) == []
