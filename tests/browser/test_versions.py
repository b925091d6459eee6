"""The drawer's versions: what changed, between any two, and back again."""

import pytest
from playwright.sync_api import expect

from tests.tab import LIVE


@pytest.fixture
def chat(site):
    """v1 by the agent, approved by nobody; v2 renames, v3 adds one and rewords another."""
    chat = site.scripted("quick")
    subtasks = f"/plans/{site.plan(chat)['id']}/subtasks"
    site.patch(f"{subtasks}/s2", name="Then do it quickly")
    site.post(subtasks, name="Run every example", expected_outcome="All pass", after="s1")
    return chat


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


def test_live_news_do_not_throw_the_comparison_away(site, open_tab, chat):
    tab = opened(open_tab(), chat)
    field = tab.plan.get_by_label("Compare v3 with")
    field.select_option("1")
    expect(changed(tab)).to_contain_text("Edited subtask 3")
    field.focus()
    site.patch(f"/plans/{site.plan(chat)['id']}/subtasks/s3", name="Say it aloud")
    tab.sees_plan(version=4)
    expect(versions(tab).get_by_role("button")).to_have_count(4)
    expect(tab.plan.get_by_label("Compare v3 with")).to_have_value("1")
    expect(tab.plan.get_by_label("Compare v3 with")).to_be_focused()
    expect(tab.subtasks).to_be_hidden()
    tab.button("Back to plan").click()
    tab.sees_rows("Read", "Run every", "Then do it", "Say it aloud")


# The agent changes the plan while the person is editing


def test_the_agents_change_keeps_the_text_of_an_open_editor(site, open_tab):
    chat = site.scripted("quick")
    tab = open_tab().chat(chat)
    tab.sees_connection(LIVE)
    field = tab.edit(1, "My own words")
    site.post(f"/plans/{site.plan(chat)['id']}/revise", feedback="check first")
    site.drive()
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
