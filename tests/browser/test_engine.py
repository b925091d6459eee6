"""A person steers a run: leaves out what failed, and plans the rest anew."""

import pytest
from playwright.sync_api import expect

from tests.browser.model import script
from tests.fake_model import call, rule
from tests.tab import LIVE, armed

FRESH = call(
    "revise_current_plan",
    explanation="You asked for paper.",
    subtasks=[{"name": "Write it on paper"}],
)


@pytest.fixture
def failed(site, open_tab):
    """A tab in which the second subtask of three has failed."""
    site.plays(rule(FRESH, user="^Replan the rest", results=0), *script()["rules"])
    site.change_agent(plan={"enabled": True, "max_attempts": 1})
    tab = open_tab().chat(site.started("fail"))
    tab.sees_connection(LIVE)
    expect(tab.button("Retry subtask 2")).to_be_visible()
    return tab


def test_a_failed_subtask_is_skipped_with_a_reason_and_the_rest_finishes(site, failed):
    failed.button("Skip subtask 2").click()
    dialog = failed.page.get_by_role("dialog", name="Skip subtask 2?")
    reason = dialog.get_by_role("textbox", name="Why? (optional)")
    expect(reason).to_be_focused()
    reason.fill("the disk is old")
    armed(dialog.get_by_role("button", name="Skip")).click()
    expect(dialog).to_be_hidden()
    expect(failed.row(2)).to_contain_text("Skipped by you: the disk is old")
    expect(failed.log).to_contain_text("Skipped by you: the disk is old")
    expect(failed.button("Skip subtask 3")).to_be_visible()
    with failed.sends():
        failed.button("Go on").click()
    site.drive()
    expect(failed.row(3)).to_have_attribute("data-state", "done")
    expect(failed.plan).to_have_attribute("data-state", "done")


def test_the_rest_is_planned_anew_and_waits_for_a_yes(site, failed):
    failed.button("Replan from here").click()
    expect(failed.page.get_by_role("dialog", name="Replan from subtask 2?")).to_be_visible()
    failed.page.keyboard.press("Escape")
    failed.button("Replan").click()
    dialog = failed.page.get_by_role("dialog", name="Replan the rest?")
    dialog.get_by_role("textbox", name="What should be different? (optional)").fill("On paper.")
    failed.page.reload()
    failed.sees_connection(LIVE)
    hint = dialog.get_by_role("textbox", name="What should be different? (optional)")
    expect(hint).to_have_value("On paper.")
    expect(dialog.get_by_role("alert")).to_contain_text("not sent yet")
    hint.focus()
    expect(armed(dialog.get_by_role("button", name="Replan"))).to_be_visible()
    with failed.sends():
        failed.page.keyboard.press("Control+Enter")
    site.drive()
    expect(dialog).to_be_hidden()
    expect(failed.log).to_contain_text("Replan the rest, from subtask 2 on. On paper.")
    expect(failed.rows).to_have_count(2)
    expect(failed.row(2)).to_contain_text("Write it on paper")
    with failed.sends():
        failed.button("Start v2").click()
    site.drive()
    expect(failed.plan).to_have_attribute("data-state", "done")
