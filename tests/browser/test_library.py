"""Plans found again, a plan's page, and several plans of one conversation, in a browser."""

import re

from playwright.sync_api import expect

from plans.models import Plan
from tests.tab import LIVE, OFFLINE

A_LOOK = 2_000  # ms between two looks at the list


def table(tab):
    return tab.page.get_by_role("table", name=re.compile("^Your plans"))


def rows(tab):
    return table(tab).locator("tbody tr")


def made(site, title, *subtasks):
    """A plan of these subtasks that waits for its start."""
    return Plan.objects.get(conversation=site.proposed(*subtasks, title=title, goal=title))


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


def test_the_list_follows_what_is_new_and_says_when_it_cannot(site, open_tab, clock):
    tab = open_tab("/plans/")
    tab.expects("ERR_INTERNET_DISCONNECTED")
    tab.sees_connection(LIVE)
    made(site, "Sweep the yard")
    clock.fast_forward(A_LOOK)
    expect(table(tab)).to_contain_text("Sweep the yard")
    row = rows(tab).get_by_role("link", name=re.compile("^Sweep the yard"))
    row.focus()
    tab.page.context.set_offline(True)
    tab.sees_connection(OFFLINE)
    tab.page.context.set_offline(False)
    clock.fast_forward(A_LOOK)
    tab.sees_connection(LIVE)
    made(site, "Clean the gutter")
    clock.fast_forward(A_LOOK)
    expect(table(tab)).to_contain_text("Clean the gutter")
    expect(row).to_be_focused()


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
