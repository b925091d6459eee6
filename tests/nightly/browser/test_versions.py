"""The drawer's versions, by mouse and on a phone: compared, and gone back to."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import PHONE
from tests.browser.test_versions import changed, chat, opened, tag, versions
from tests.browser.test_workspace import let_go
from tests.tab import wait_for

__all__ = ["chat"]


def test_the_tag_leads_to_what_changed_and_back(open_tab, chat):
    tab = opened(open_tab(), chat)
    lines = ("v3", "v2.*Renamed", "v1.*First proposal.*Agent")
    expect(versions(tab).get_by_role("button")).to_have_text(
        [re.compile(rf"^\s*{line}", re.DOTALL) for line in lines]
    )
    expect(tab.plan.get_by_role("heading", name="v3 compared with")).to_be_visible()
    expect(tab.plan.get_by_label("Compare v3 with")).to_have_value("2")
    expect(changed(tab)).to_contain_text("Added as subtask 2")
    expect(changed(tab).locator("ins")).to_have_text(["Run every example", "All pass"])
    expect(tab.subtasks).to_be_hidden()
    assert changed(tab).locator("[data-key], [data-state]").count() == 0
    tab.button("Back to plan").click()
    expect(tab.subtasks).to_be_visible()
    expect(tag(tab, "v3 · 1 change")).to_be_focused()


def test_any_two_versions_can_be_compared(open_tab, chat):
    tab = opened(open_tab(), chat)
    tab.plan.get_by_label("Compare v3 with").select_option("1")
    expect(changed(tab)).to_contain_text("Edited subtask 3, was 2")
    expect(changed(tab).locator("del")).to_have_text(["quick"])
    expect(changed(tab).locator("ins")).to_have_text(
        ["Run every example", "All pass", "do it quickly"]
    )
    versions(tab).get_by_role("button", name=re.compile("^v1")).click()
    expect(changed(tab)).to_contain_text("Then quick")
    expect(changed(tab).locator("ins, del")).to_have_count(0)
    expect(versions(tab).locator("[aria-current]")).to_have_text([re.compile(r"^\s*v1")])


def test_of_two_comparisons_that_are_asked_for_the_last_one_is_shown(open_tab, chat):
    tab = opened(open_tab(), chat)
    held = tab.hold(re.compile(r"/plan/versions\?to=1&"))
    versions(tab).get_by_role("button", name=re.compile("^v1")).click()
    wait_for(tab, lambda: held)
    versions(tab).get_by_role("button", name=re.compile("^v2")).click()
    heading = tab.plan.get_by_role("heading", name="v2 compared with")
    expect(heading).to_be_visible()
    let_go(tab, held[0])
    expect(heading).to_be_visible()


def test_the_card_in_the_conversation_leads_there_too(open_tab, chat):
    tab = open_tab().chat(chat)
    tab.button("Close plan").click()
    tab.log.get_by_role("button", name="v3 · 1 change, compare versions").click()
    expect(changed(tab)).to_contain_text("Added as subtask 2")
    expect(tab.button("Back to plan")).to_be_focused()


def test_going_back_makes_the_next_version_without_asking(site, open_tab, chat):
    tab = opened(open_tab(), chat)
    tab.button("Go back to v2").click()
    tab.sees_plan(version=4)
    expect(versions(tab).get_by_role("button").first).to_contain_text("Went back to v2")
    expect(tab.plan.get_by_role("heading", name="v4 compared with")).to_be_visible()
    expect(changed(tab)).to_contain_text("Removed, was subtask 2")
    assert [row["name"] for row in site.plan(chat)["subtasks"]][1] == "Then do it quickly"
    with tab.sends():
        tab.button("Start v4").click()
    expect(tab.subtasks).to_be_visible()
    site.drive()
    tab.sees_plan(state="done", approved_version=4)


def test_on_a_phone_escape_goes_back_before_it_closes_the_sheet(open_tab, chat):
    tab = open_tab(viewport=PHONE, has_touch=True, is_mobile=True).chat(chat)
    tab.drawer_toggle.click()
    tag(tab, "v3 · 1 change").click()
    expect(changed(tab)).to_contain_text("Added as subtask 2")
    assert tab.page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    tab.page.keyboard.press("Escape")
    expect(tab.subtasks).to_be_visible()
    tab.page.keyboard.press("Escape")
    expect(tab.plan).to_be_hidden()


def test_by_keyboard_alone(open_tab, chat):
    tab = open_tab().chat(chat)
    tag(tab, "v3 · 1 change").focus()
    tab.page.keyboard.press("Enter")
    expect(tab.button("Back to plan")).to_be_focused()
    expect(versions(tab)).to_be_visible()
    for _ in range(3):
        tab.page.keyboard.press("Tab")
    expect(versions(tab).get_by_role("button", name=re.compile("^v2"))).to_be_focused()
    tab.page.keyboard.press("Enter")
    expect(tab.plan.get_by_role("heading", name="v2 compared with")).to_be_visible()
    expect(versions(tab).get_by_role("button", name=re.compile("^v2"))).to_be_focused()
    tab.page.keyboard.press("Escape")
    expect(tab.subtasks).to_be_visible()
    expect(tag(tab, "v3 · 1 change")).to_be_focused()
