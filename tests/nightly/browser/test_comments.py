"""Comments on subtasks: what is typed where its subtask goes, and on a phone."""

import re

import pytest
from playwright.sync_api import expect

from plans.models import Plan
from tests.browser.conftest import PHONE
from tests.browser.test_comments import chat, keep, tab, write

__all__ = ["chat", "tab"]


def test_a_start_without_keeps_what_is_typed(site, tab):
    write(tab, 3, "Twice.")
    with tab.sends():
        tab.button("Start without the 1 comment").click()
    site.drive()
    tab.sees_plan(state="done")
    expect(tab.plan.locator("form.editor")).to_have_count(0)


def test_the_text_stays_where_its_subtask_is_removed_meanwhile(site, tab):
    write(tab, 3, "Twice.")
    site.delete(f"/plans/{Plan.objects.get().pk}/subtasks/s3")
    tab.sees_plan(version=2)
    lost = tab.plan.get_by_role("textbox", name=re.compile("Comment on subtask 3"))
    expect(lost).to_have_value("Twice.")
    expect(tab.plan).to_contain_text("takes no comment any more. Your text is kept.")
    expect(tab.button("Start v2")).to_be_visible()
    tab.button("Discard").click()
    expect(tab.plan.locator("form.editor")).to_have_count(0)


@pytest.mark.parametrize("typed", ["", "  "])
def test_a_form_without_a_word_goes_with_its_subtask(site, tab, typed):
    write(tab, 3, typed)
    site.delete(f"/plans/{Plan.objects.get().pk}/subtasks/s3")
    tab.sees_plan(version=2)
    expect(tab.rows).to_have_count(2)
    expect(tab.plan.locator("form.editor")).to_have_count(0)
    expect(tab.plan).not_to_contain_text("Your text is kept")
    expect(tab.button("Start v2")).to_be_visible()


def test_on_a_phone_too(open_tab, chat):
    tab = open_tab(viewport=PHONE, has_touch=True).chat(chat)
    tab.drawer_toggle.click()
    keep(tab, 2, "Twice.")
    expect(tab.button("Ask for changes 1, comment")).to_be_in_viewport()
    width = tab.page.evaluate("document.documentElement.scrollWidth")
    assert width <= PHONE["width"]


def test_the_buttons_follow_what_is_kept_and_what_is_typed(tab):
    keep(tab, 1, "Shorter.")
    field = write(tab, 3, "Twice.")
    expect(tab.button("Ask for changes 2, comments")).to_be_visible()
    expect(tab.button("Start without the 2 comments")).to_have_text("Start without")
    expect(tab.plan).to_contain_text("2 comments go to the agent together. It answers with v2.")
    field.press("Escape")
    expect(tab.button("Ask for changes 1, comment")).to_be_visible()
    tab.button("Remove comment on subtask 1").click()
    expect(tab.button("Start plan")).to_have_attribute("data-kind", "go")
    expect(tab.button("Ask for changes")).to_be_visible()
    write(tab, 3, "Twice.")
