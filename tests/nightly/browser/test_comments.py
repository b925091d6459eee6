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
