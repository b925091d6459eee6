"""The walk on a phone, and what another process makes beside an open page."""

import json

from playwright.sync_api import expect

from tests.browser.conftest import PHONE
from tests.console.serving import manage
from tests.tab import GOAL, wait_for


def test_on_a_phone_the_walk_is_the_same_in_a_sheet(site, open_tab):
    chat = site.conversation()
    tab = open_tab(viewport=PHONE, has_touch=True, is_mobile=True).chat(chat)
    with tab.sends():
        tab.say("/plan I want to quick")
    site.drive()
    expect(tab.button("Start plan")).to_be_visible()
    wait_for(tab, lambda: is_inside(tab, tab.plan))  # once it has slid in
    count = tab.rows.count()
    tab.rename(1, "Renamed on a phone")
    tab.sees_plan(version=2)
    tab.button(f"Edit subtask {count}").click()
    tab.editor(f"Edit subtask {count}").get_by_role(
        "button", name=f"Remove subtask {count}"
    ).click()
    expect(tab.rows).to_have_count(count - 1)
    tab.button("Start v3").click()
    tab.sees_plan(approved_version=3)
    tab.page.keyboard.press("Escape")
    expect(tab.plan).to_be_hidden()
    expect(tab.message).to_be_visible()
    site.drive()
    tab.drawer_toggle.click()
    tab.sees_plan(state="done")
    expect(tab.row(1)).to_contain_text("Renamed on a phone")
    assert tab.page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def is_inside(tab, part):
    box, screen = part.bounding_box(), tab.page.viewport_size
    return (
        box["x"] >= 0 and box["x"] + box["width"] <= screen["width"] and box["y"] < screen["height"]
    )


def test_a_plan_made_by_a_command_appears_in_the_list_by_itself(site, open_tab):
    tab = open_tab().chat(site.proposed())
    tab.page.evaluate("window.isTheSamePage = true")
    code, out, _ = manage(site.home, "plan", "new", GOAL, "--json", PLANSIDE_MODEL="demo/docs")
    assert code == 0
    made = json.loads(out)["conversation"]
    expect(tab.page.locator(f"#conversation-{made}")).to_be_visible()
    assert tab.page.evaluate("window.isTheSamePage")
