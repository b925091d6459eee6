"""Comments on subtasks before the yes, as a person writes, keeps, loses and sends them."""

import pytest
from playwright.sync_api import expect

from plans.models import Plan
from tests.tab import LIVE


@pytest.fixture
def chat(site):
    return site.scripted("quick")


@pytest.fixture
def tab(open_tab, chat):
    tab = open_tab().chat(chat)
    tab.sees_connection(LIVE)
    return tab


def place(tab, number):
    return tab.row(number).locator(".subtask-comment-place")


def write(tab, number, text):
    tab.button(f"Comment on subtask {number}").click()
    field = tab.plan.get_by_role("textbox", name=f"Comment on subtask {number}")
    expect(field).to_be_focused()
    field.fill(text)
    return field


def keep(tab, number, text):
    write(tab, number, text).press("Control+Enter")
    expect(place(tab, number).get_by_role("group")).to_contain_text(text)


def test_a_comment_is_kept_in_every_tab_and_over_a_reload(open_tab, tab, chat):
    other = open_tab().chat(chat)
    other.sees_connection(LIVE)
    tab.page.bring_to_front()  # only there Firefox has a focus
    keep(tab, 2, "Twice.")
    expect(tab.button("Comment on subtask 2")).to_be_focused()
    expect(place(other, 2)).to_contain_text("Twice.")
    expect(tab.plan.locator("#subtask-list-head")).to_contain_text("1 comment")
    tab.page.reload()
    expect(place(tab, 2)).to_contain_text("Twice.")
    tab.button("Edit comment on subtask 2").click()
    tab.plan.get_by_role("textbox", name="Comment on subtask 2").fill("Three times.")
    tab.button("Keep comment").click()
    expect(place(other, 2)).to_contain_text("Three times.")
    tab.button("Remove comment on subtask 2").click()
    expect(place(other, 2)).to_be_empty()
    tab.button("Undo").click()
    expect(place(other, 2)).to_contain_text("Three times.")


def test_kept_and_typed_ones_go_out_together_and_nothing_starts(site, tab):
    keep(tab, 1, "Shorter.")
    write(tab, 3, "Twice.")
    with tab.sends():
        tab.button("Ask for changes 2, comments").click()
    site.drive()
    expect(tab.log).to_contain_text("2 comments on the plan")
    expect(tab.log.locator(".sent-comments > li").last).to_contain_text("Say what came of it")
    expect(tab.log.locator(".sent-comments > li").last).to_contain_text("Twice.")
    expect(tab.log).to_contain_text("No new version came of your 2 comments.")
    expect(place(tab, 3).get_by_role("group")).to_contain_text("Twice.")
    expect(tab.button("Start without the 2 comments")).to_be_visible()
    expect(tab.plan.locator("form.editor")).to_have_count(0)
    assert Plan.objects.get().approved_version is None


def test_a_comment_that_is_open_outlives_a_new_version(site, tab):
    field = write(tab, 3, "Twice.")
    site.patch(f"/plans/{Plan.objects.get().pk}/subtasks/s3", name="Say it all")
    tab.sees_plan(version=2)
    expect(tab.row(3)).to_contain_text("Say it all")
    expect(field).to_have_value("Twice.")
    expect(field).to_be_focused()
    field.press("Control+Enter")
    expect(place(tab, 3).get_by_role("group")).to_contain_text("Twice.")
