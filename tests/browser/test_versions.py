"""The drawer's versions: what changed, between any two, and back again."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE
from tests.browser.test_pages import violations
from tests.browser.test_workspace import let_go
from tests.tab import A_RUN, LIVE, wait_for


@pytest.fixture
def chat(product):
    """v1 by the agent, approved by nobody; v2 renames, v3 adds one and rewords another."""
    chat = product.scripted("quick")
    plan = product.plan(chat)["id"]
    change(product, plan, "s2", name="Then do it quickly")
    product.post(
        f"/plans/{plan}/subtasks", name="Run every example", expected_outcome="All pass", after="s1"
    )
    return chat


def change(product, plan, key, **fields):
    product.script.patch(product.server, f"/plans/{plan}/subtasks/{key}", fields)


def versions(tab):
    return tab.plan.get_by_role("list", name="Versions", exact=True)


def changed(tab):
    return tab.plan.get_by_role("list", name="What changed", exact=True)


def tag(tab, words):
    return tab.plan.get_by_role("button", name=f"{words}, compare versions", exact=True)


def opened(tab, chat, words="v3 · 1 change"):
    tab.chat(chat).sees_connection(LIVE)
    tag(tab, words).click()
    expect(versions(tab)).to_be_visible()
    return tab


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


def test_going_back_makes_the_next_version_without_asking(product, open_tab, chat):
    tab = opened(open_tab(), chat)
    tab.button("Go back to v2").click()
    tab.sees_plan(version=4)
    expect(versions(tab).get_by_role("button").first).to_contain_text("Went back to v2")
    expect(tab.plan.get_by_role("heading", name="v4 compared with")).to_be_visible()
    expect(changed(tab)).to_contain_text("Removed, was subtask 2")
    assert [row["name"] for row in product.plan(chat)["subtasks"]][1] == "Then do it quickly"
    tab.button("Start v4").click()
    expect(tab.subtasks).to_be_visible()
    tab.sees_plan(within=A_RUN, state="done", approved_version=4)


def test_what_changed_since_the_yes_is_shown_first(product, open_tab, chat):
    plan = product.plan(chat)["id"]
    product.post(f"/plans/{plan}/approve", version=3, run="no")
    change(product, plan, "s3", name="Say it aloud")
    change(product, plan, "s2", name="Then do it")
    tab = opened(open_tab(), chat, "v5 · 2 changes")
    expect(tab.plan).to_contain_text("Since you approved v3.")
    expect(tab.plan.get_by_text("2 edited")).to_be_visible()
    expect(tab.plan.get_by_label("Compare v5 with")).to_have_value("3")


def test_live_news_do_not_throw_the_comparison_away(product, open_tab, chat):
    tab = opened(open_tab(), chat)
    field = tab.plan.get_by_label("Compare v3 with")
    field.select_option("1")
    expect(changed(tab)).to_contain_text("Edited subtask 3")
    field.focus()
    change(product, product.plan(chat)["id"], "s3", name="Say it aloud")
    tab.sees_plan(version=4)
    expect(versions(tab).get_by_role("button")).to_have_count(4)
    expect(tab.plan.get_by_label("Compare v3 with")).to_have_value("1")
    expect(tab.plan.get_by_label("Compare v3 with")).to_be_focused()
    expect(tab.subtasks).to_be_hidden()
    tab.button("Back to plan").click()
    tab.sees_rows("Read", "Run every", "Then do it", "Say it aloud")


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


def test_axe_finds_nothing_in_the_versions(open_tab, chat):
    tab = opened(open_tab(), chat)
    tab.plan.get_by_label("Compare v3 with").select_option("1")
    expect(changed(tab).locator("del")).to_be_visible()
    assert violations(tab) == []


def test_html_in_a_name_is_text_there_too(product, open_tab, chat):
    name = '<img src=x onerror=alert(1)> {{ 7*7 }} <ins>"quoted"</ins>'
    change(product, product.plan(chat)["id"], "s3", name=name)
    tab = opened(open_tab(), chat, "v4 · 1 change")
    expect(changed(tab)).to_contain_text(name)
    assert changed(tab).locator("img").count() == 0


# The agent changes the plan while the person is editing


def test_the_agents_change_keeps_the_text_of_an_open_editor(product, open_tab):
    chat = product.scripted("quick")
    tab = open_tab().chat(chat)
    tab.sees_connection(LIVE)
    field = tab.edit(1, "My own words")
    product.post(f"/plans/{product.plan(chat)['id']}/revise", feedback="check first")
    tab.sees_plan(version=2)
    expect(field).to_have_value("My own words")
    expect(field).to_be_focused()
    form = tab.editor("Edit subtask 1")
    expect(form.get_by_role("alert")).to_have_text(
        "The agent changed this plan while you were editing. Your text is kept."
    )
    form.get_by_role("button", name="See v2").click()
    expect(tab.plan.get_by_role("heading", name="v2 compared with")).to_be_visible()
    expect(changed(tab)).to_contain_text("Check first")
    tab.button("Back to plan").click()
    expect(field).to_have_value("My own words")
    form.get_by_role("button", name="Save mine as v3").click()
    tab.sees_plan(version=3)
    tab.sees_rows("My own words", "Then", "Say", "Check first")
