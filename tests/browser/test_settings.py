"""Models, tools and grants in Settings, and the questions they lead to, as a person meets them."""

import pytest
from playwright.sync_api import expect

LOOKED_AGAIN = 5_000  # ms after which the page has asked for the file


@pytest.fixture
def asking(site, careful):
    """A chat with a question in it."""
    return site.started("approve")


def test_the_keys_allow_once_and_the_focus_goes_on(asking, site, open_tab):
    tab = open_tab().chat(asking)
    tab.plan.get_by_role("link", name="write_file", exact=True).click()
    expect(tab.page.get_by_role("group", name="Let it use write_file?")).to_be_focused()
    expect(tab.button("Allow once")).to_be_visible()
    with tab.sends():
        tab.page.keyboard.press("Control+Enter")
    expect(tab.log.get_by_text("allowed once")).to_be_attached()
    site.drive()
    tab.sees_plan(state="done")
    assert site.file("new.txt").read_text() == "new"


def test_what_another_tab_decides_ends_the_question_here(asking, site, open_tab):
    here, there = open_tab().chat(asking), open_tab().chat(asking)
    here.button("Deny").click()
    reason = here.page.get_by_label("Tell the agent why (optional)")
    reason.press_sequentially("half a ")
    there.button("Allow once").click()
    expect(here.log.get_by_text("allowed once")).to_be_attached()
    expect(here.page.get_by_role("group", name="Let it use write_file?")).to_have_count(0)
    expect(here.alerts).to_have_text("Settled elsewhere. Your text is kept.")
    here.page.bring_to_front()  # only there Firefox has a focus
    expect(reason).to_be_focused()
    here.page.keyboard.type("thought")
    site.drive()
    here.sees_plan(state="done")
    expect(reason).to_have_value("half a thought")
    expect(here.button("Deny")).to_have_count(0)
    reason.press("Control+Enter")
    expect(here.message).to_have_value("half a thought")
    expect(here.message).to_be_focused()
    expect(here.alerts).to_have_count(0)
