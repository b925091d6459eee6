"""Plans found again, a plan's page, and several plans of one conversation, in a browser."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.test_pages import violations
from tests.tab import A_RUN, LIVE, OFFLINE


def table(tab):
    return tab.page.get_by_role("table", name=re.compile("^Your plans"))


def rows(tab):
    return table(tab).locator("tbody tr")


def made(product, title, *subtasks, conversation=None):
    where = {"conversation": conversation} if conversation else {"agent": "scripted"}
    return product.post("/plans", title=title, subtasks=list(subtasks or ("One",)), **where)


@pytest.fixture(scope="module")
def finished(product):
    chat = product.started("quick")
    return product.wait(chat, lambda plan: plan["state"] == "done")


def test_a_plan_is_found_again_by_a_word_of_its_subtasks(product, open_tab):
    made(product, "Water plants", "Fetch the can")
    made(product, "Paint the fence")
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


def test_the_list_follows_what_is_new_and_says_when_it_cannot(product, open_tab):
    tab = open_tab("/plans/")
    tab.expects("ERR_INTERNET_DISCONNECTED")
    tab.sees_connection(LIVE)
    made(product, "Sweep the yard")
    expect(table(tab)).to_contain_text("Sweep the yard")
    row = rows(tab).get_by_role("link", name=re.compile("^Sweep the yard"))
    row.focus()
    tab.page.context.set_offline(True)
    tab.sees_connection(OFFLINE)
    tab.page.context.set_offline(False)
    tab.sees_connection(LIVE)
    made(product, "Clean the gutter")
    expect(table(tab)).to_contain_text("Clean the gutter")
    expect(row).to_be_focused()


def test_filters_swap_the_table_and_count(product, open_tab, finished):
    made(product, "Rake the leaves")
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


def test_the_list_works_without_script(product, contexts, open_tab):
    made(product, "Sharpen the saw")
    open_tab("/plans/")  # signs in
    tab = open_tab("/plans/?q=saw&sort=-tokens", java_script_enabled=False)
    assert "Sharpen the saw" in tab.page.content()
    tab.page.get_by_role("link", name="Tokens").click()
    expect(tab.page).to_have_url(re.compile("sort=tokens"))
    expect(tab.page).to_have_url(re.compile("q=saw"))


def test_the_page_of_a_plan_opens_its_attempts(open_tab, finished):
    tab = open_tab(f"/plans/{finished['id']}/")
    expect(tab.page.get_by_role("heading", name="Every change")).to_be_visible()
    expect(tab.page.get_by_text("Plan finished")).to_be_visible()
    tab.page.get_by_text("Attempt 1").first.click()
    expect(tab.page.get_by_text("finish_subtask").first).to_be_visible()
    assert violations(tab) == []


def test_a_running_plan_is_followed(product, open_tab):
    chat = product.scripted("quick")
    plan = product.plan(chat)
    tab = open_tab(f"/plans/{plan['id']}/")
    expect(tab.page.get_by_text("Plan proposed")).to_be_visible()
    product.post(f"/plans/{plan['id']}/approve", version=plan["version"])
    expect(tab.page.get_by_text("Plan finished")).to_be_visible(timeout=A_RUN)


def test_the_changes_are_filtered_in_place_and_the_focus_stays(open_tab, finished):
    tab = open_tab(f"/plans/{finished['id']}/")
    kind = tab.page.get_by_label("Kind", exact=True)
    kind.focus()
    kind.select_option("run")
    expect(tab.page.get_by_text("Plan proposed")).to_have_count(0)
    expect(tab.page.get_by_text("Plan started")).to_be_visible()
    expect(kind).to_be_focused()
    expect(kind).to_have_value("run")


def test_a_link_to_a_subtask_is_copied_and_leads_there(open_tab, finished):
    tab = open_tab(f"/plans/{finished['id']}/")
    tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.button("Copy link to subtask 2").click()
    expect(tab.page.get_by_role("status").filter(has_text="Copied")).to_have_count(1)
    address = tab.page.evaluate("navigator.clipboard.readText()")
    assert address.endswith(f"/plans/{finished['id']}/#s2")
    tab.page.goto("about:blank")
    tab.page.goto(address)
    expect(tab.page.locator("#s2")).to_be_focused()
    expect(tab.page.locator("#s2")).to_be_in_viewport()


def test_a_link_beside_the_conversation_opens_the_drawer_and_the_subtask(product, open_tab):
    plan = made(product, "Prune the roses", "Look", "Cut")
    product.script.patch(
        product.server, f"/plans/{plan['id']}/subtasks/s2", {"description": "With shears."}
    )
    tab = open_tab().chat(plan["conversation"])
    tab.button("Fold").first.click()
    tab.button("Close plan").click()
    tab.page.goto("about:blank")
    tab.page.goto(f"{product.address}/c/{plan['conversation']}/#subtask-{plan['id']}-s2")
    expect(tab.row(2)).to_be_focused()
    expect(tab.row(2)).to_contain_text("With shears.")
    expect(tab.row(2).get_by_text("With shears.")).to_be_visible()


def test_the_list_of_plans_beside_follows_while_it_is_open(product, open_tab):
    plan = made(product, "Mend the fence", "Look", "Nail")
    made(product, "Paint the fence", conversation=plan["conversation"])
    tab = open_tab().chat(plan["conversation"])
    tab.sees_connection(LIVE)
    tab.button("Plans in this conversation").click()
    listed = tab.page.get_by_role("dialog", name="Plans in this conversation")
    expect(listed).to_contain_text("0 of 2 · v1")
    product.script.patch(
        product.server, f"/plans/{plan['id']}/subtasks/s1", {"name": "Look closely"}
    )
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


def test_the_list_is_free_of_complaints(product, open_tab, finished):
    tab = open_tab("/plans/?sort=-tokens")
    expect(table(tab)).to_be_visible()
    assert violations(tab) == []


def test_a_finished_plan_leads_to_its_timeline_and_to_another_go(product, open_tab):
    chat = product.started("quick")
    done = product.wait(chat, lambda plan: plan["state"] == "done")
    tab = open_tab().chat(chat)
    tab.button("Use as a new plan").click()
    tab.sees_plan(state="todo", version=1)
    assert product.plan(chat)["id"] != done["id"]
    tab.button("Plans in this conversation").click()
    listed = tab.page.get_by_role("dialog", name="Plans in this conversation")
    expect(listed.get_by_role("listitem")).to_have_count(2)
    assert violations(tab) == []
    listed.get_by_role("button", name=re.compile("^Show ")).click()
    tab.sees_plan(plan_id=done["id"], state="done")
    expect(listed).to_be_hidden()
    tab.plan.get_by_role("link", name="View timeline").click()
    expect(tab.page.get_by_role("heading", name="Every change")).to_be_visible()


def test_no_other_plan_is_shown_while_one_runs(product, open_tab):
    chat = product.started("hang")
    first = product.plan(chat)
    tab = open_tab().chat(chat)
    expect(tab.row(2)).to_have_attribute("data-state", "in_progress")
    product.post(f"/plans/{first['id']}/stop")
    product.wait(chat, lambda plan: plan["run"] == "idle")
    second = made(product, "Another", "Then hang", conversation=chat)
    product.post(f"/plans/{second['id']}/approve", version=1, run="no")
    product.post(f"/plans/{second['id']}/run", mode="all")
    tab.expects("409")
    tab.button("Plans in this conversation").click()
    listed = tab.page.get_by_role("dialog", name="Plans in this conversation")
    listed.get_by_role("button", name=re.compile("^Show ")).click()
    said = listed.get_by_role("alert")
    expect(said).to_have_text("A plan is running in this conversation: stop or pause it first.")
    product.post(f"/plans/{second['id']}/stop")


def test_a_plan_is_deleted_after_a_question(product, open_tab):
    plan = made(product, "Throw it away")
    tab = open_tab().chat(plan["conversation"])
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
