"""Plans found again, a plan's page, and several plans of one conversation, in a browser."""

import re

from playwright.sync_api import expect

from plans.models import Plan, State
from tests.browser.conftest import PHONE
from tests.builders import known_by
from tests.tab import LIVE, OFFLINE

A_LOOK = 2_000  # ms between two looks at the list


def table(tab):
    return tab.page.get_by_role("table", name=re.compile("^Your plans"))


def rows(tab):
    return table(tab).locator("tbody tr")


def made(site, title, *subtasks):
    """A plan of these subtasks that waits for its start."""
    return Plan.objects.get(conversation=site.proposed(*subtasks, title=title, goal=title))


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


def test_on_a_phone_what_came_of_subtasks_pushes_no_column_out_of_view(site, open_tab):
    plan = made(site, "Sweep the yard", "One", "Two", "Three")
    for key, word in (("s1", "checked"), ("s2", "regressed")):
        site.do(known_by, site.do(plan.subtasks.get, key=key), word)
    site.do(plan.subtasks.filter(key="s3").update, state=State.ABANDONED)
    tab = open_tab("/plans/", viewport=PHONE)
    expect(rows(tab)).to_contain_text("1 checked, 1 no longer true, 1 abandoned")
    box = table(tab).bounding_box()
    assert box["x"] + box["width"] <= PHONE["width"]
