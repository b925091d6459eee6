"""Plans found again: filters, what follows by itself, on paper, and deleting."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.test_library import made, rows, table
from tests.tab import LIVE


@pytest.fixture
def finished(site):
    return site.plan(site.started("quick"))


def test_filters_swap_the_table_and_count(site, open_tab, finished):
    made(site, "Rake the leaves")
    tab = open_tab("/plans/")
    # A filter that is changed before the last answer came takes that request back (hx-sync).
    tab.expects("^request: GET /plans/ net::ERR_ABORTED$")
    tab.page.get_by_role("radio", name=re.compile("^Finished")).check(force=True)
    expect(table(tab)).to_contain_text(finished["title"])
    expect(table(tab)).not_to_contain_text("Rake the leaves")
    tab.page.get_by_role("radio", name=re.compile("^All")).check(force=True)
    tab.page.get_by_role("checkbox", name=re.compile("^Needs me")).check(force=True)
    expect(table(tab)).to_contain_text("Rake the leaves")
    expect(table(tab)).not_to_contain_text("Finished")
    tab.page.get_by_role("radio", name=re.compile("^Finished")).check(force=True)
    expect(tab.page.get_by_text("No finished plans that need you.")).to_be_visible()
    tab.page.get_by_role("link", name="Show all").click()
    expect(table(tab)).to_contain_text("Rake the leaves")


def test_a_running_plan_is_followed(site, open_tab):
    chat = site.scripted("quick")
    plan = site.plan(chat)
    tab = open_tab(f"/plans/{plan['id']}/")
    expect(tab.page.get_by_text("Plan proposed")).to_be_visible()
    site.post(f"/plans/{plan['id']}/approve", version=plan["version"])
    site.drive()
    expect(tab.page.get_by_text("Plan finished")).to_be_visible()


def test_the_changes_are_filtered_in_place_and_the_focus_stays(open_tab, finished):
    tab = open_tab(f"/plans/{finished['id']}/")
    kind = tab.page.get_by_label("Kind", exact=True)
    kind.focus()
    kind.select_option("run")
    expect(tab.page.get_by_text("Plan proposed")).to_have_count(0)
    expect(tab.page.get_by_text("Plan started")).to_be_visible()
    expect(kind).to_be_focused()
    expect(kind).to_have_value("run")


def test_the_list_of_plans_beside_follows_while_it_is_open(site, open_tab):
    plan = made(site, "Mend the fence", "Look", "Nail")
    beside = [{"name": "One"}]
    site.post("/plans", conversation=plan.conversation_id, title="Paint the fence", subtasks=beside)
    tab = open_tab().chat(plan.conversation_id)
    tab.sees_connection(LIVE)
    tab.button("Plans in this conversation").click()
    listed = tab.page.get_by_role("dialog", name="Plans in this conversation")
    expect(listed).to_contain_text("0 of 2 · v1")
    site.patch(f"/plans/{plan.pk}/subtasks/s1", name="Look closely")
    expect(listed).to_contain_text("0 of 2 · v2")
    listed.get_by_role("button", name="Delete Paint the fence").click()
    expect(tab.page.get_by_role("dialog", name="Delete “Paint the fence”?")).to_be_visible()


def test_on_paper_a_plan_is_whole_and_alone(open_tab, finished):
    tab = open_tab(f"/plans/{finished['id']}/")
    tab.page.emulate_media(media="print")
    for gone in ("Plans", "Search plans"):
        expect(tab.page.get_by_role("heading", name=gone, exact=True)).to_have_count(0)
    expect(tab.page.get_by_text("Plan finished")).to_be_visible()
    expect(tab.page.get_by_label("Kind", exact=True)).to_be_hidden()
    ink = tab.page.locator("#plan-name").evaluate("e => getComputedStyle(e).color")
    assert ink == "rgb(0, 0, 0)"
    assert tab.page.evaluate("document.querySelector('.pane > .scroll').clientHeight > 600")


def test_a_plan_is_deleted_after_a_question(site, open_tab):
    plan = made(site, "Throw it away")
    tab = open_tab().chat(plan.conversation_id)
    tab.button("Plans in this conversation").click()
    tab.button("Delete Throw it away").click()
    asked = tab.page.get_by_role("dialog", name=re.compile("^Delete “Throw it away”"))
    asked.get_by_role("button", name="Keep plan").click()
    expect(asked).to_be_hidden()
    tab.button("Delete Throw it away").click()
    asked.get_by_role("button", name="Delete plan").click()
    expect(tab.page.get_by_text("No plans here yet.")).to_be_visible()
    tab.sees_plan(plan_id="")
    expect(tab.articles.filter(has_text="Throw it away")).to_have_count(0)


def test_a_link_to_a_subtask_is_copied_and_leads_there(site, open_tab):
    page = f"/plans/{made(site, 'Prune the roses', 'Look', 'Cut').pk}/"
    tab = open_tab(page, permissions=["clipboard-read", "clipboard-write"])
    tab.button("Copy link to subtask 2").click()
    expect(tab.page.get_by_role("status").filter(has_text="Copied")).to_have_count(1)
    address = tab.page.evaluate("navigator.clipboard.readText()")
    assert address.endswith(f"{page}#s2")
    tab.page.goto("about:blank")
    tab.page.goto(address)
    expect(tab.page.locator("#s2")).to_be_focused()
    expect(tab.page.locator("#s2")).to_be_in_viewport()


def test_a_link_beside_the_conversation_opens_the_drawer_and_the_subtask(site, open_tab):
    told = {"name": "Cut", "description": "With shears."}
    plan = made(site, "Prune the roses", "Look", told)
    tab = open_tab().chat(plan.conversation_id)
    tab.button("Fold").first.click()
    tab.button("Close plan").click()
    tab.page.goto("about:blank")
    tab.page.goto(f"{site.address}/c/{plan.conversation_id}/#subtask-{plan.pk}-s2")
    expect(tab.row(2)).to_be_focused()
    expect(tab.row(2).get_by_text("With shears.")).to_be_visible()


def test_a_plan_is_found_again_by_a_word_of_its_subtasks(site, open_tab):
    made(site, "Water plants", "Fetch the can")
    made(site, "Paint the fence")
    tab = open_tab("/plans/")
    tab.page.get_by_role("searchbox", name="Search plans").fill("fetch CAN")
    expect(rows(tab)).to_have_count(1)
    expect(rows(tab)).to_contain_text("Water plants")
    expect(tab.page).to_have_url(re.compile(r"q=fetch\+CAN"))
    tab.page.reload()
    expect(rows(tab)).to_have_count(1)
    rows(tab).get_by_role("link").click()
    expect(tab.page.get_by_role("heading", name="Water plants")).to_be_visible()
    tab.page.get_by_role("link", name="Close, back to all plans").click()
    expect(tab.page.get_by_role("searchbox", name="Search plans")).to_have_value("fetch CAN")
