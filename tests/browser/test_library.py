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
