"""Models, tools and grants in Settings: the questions they lead to, in two tabs and on a phone."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import FIREFOX, PHONE
from tests.browser.test_settings import LOOKED_AGAIN, asking
from tests.tab import wait_for

__all__ = ["asking"]


def test_a_provider_is_added_tested_and_removed(site, open_tab):
    tab = open_tab("/settings/models/")
    tab.expects("422")
    tab.button("Add provider").click()
    dialog = tab.page.get_by_role("dialog", name="Add provider")
    dialog.get_by_label("Name", exact=True).fill("Mine!")
    dialog.get_by_label("Base URL").fill("http://127.0.0.1:9/v1")
    dialog.get_by_label("Key").fill("sk-typed-once")
    dialog.get_by_role("button", name="Add provider").click()
    name = dialog.get_by_label("Name", exact=True)
    expect(name).to_have_attribute("aria-invalid", "true")
    expect(dialog).to_contain_text("A provider's name is 1 to 32 small letters")
    expect(name).to_be_focused()
    name.fill("mine")
    dialog.get_by_role("button", name="Add provider").click()
    card = tab.page.get_by_role("article", name="mine", exact=True)
    expect(card.get_by_role("table")).to_contain_text("fake-model")
    expect(card.get_by_label("Key", exact=True)).to_have_value("•••• •••• •••• once")
    assert "sk-typed-once" not in tab.page.content()
    card.get_by_text("Address, protocol, headers and prices").click()
    card.get_by_role("button", name="Remove provider").click()
    tab.page.get_by_role("dialog").get_by_role("button", name="Remove provider").click()
    expect(card).to_have_count(0)


def test_a_service_that_does_not_answer_is_refused_where_it_was_typed(site, open_tab):
    tab = open_tab("/settings/tools/")
    tab.expects("409", "net::ERR_FAILED", "htmx:error")
    tab.button("Add service").click()
    dialog = tab.page.get_by_role("dialog", name="Add service")
    dialog.get_by_role("textbox", name="Name", exact=True).fill("pets")
    dialog.get_by_role("textbox", name="Address", exact=True).fill("http://127.0.0.1:1")
    dialog.get_by_role("button", name="Add service").click()
    address = dialog.get_by_role("textbox", name="Address", exact=True)
    expect(address).to_have_accessible_description(re.compile(r"127\.0\.0\.1:1"))
    expect(dialog.get_by_role("textbox", name="Name", exact=True)).to_have_value("pets")

    held = tab.hold("**/settings/tools/add")
    dialog.get_by_role("button", name="Add service").click()
    expect(dialog.get_by_text("Asking it what it offers")).to_be_visible()
    expect(dialog.get_by_role("alert")).to_have_count(0)
    wait_for(tab, lambda: held)
    held[0].abort()
    expect(dialog.get_by_role("alert")).to_contain_text("That did not get through.")


def test_always_is_taken_back_in_settings(asking, site, open_tab):
    tab = open_tab().chat(asking)
    tab.button("Always allow").click()
    expect(tab.log.get_by_text("always allowed")).to_be_attached()
    tab.page.get_by_role("link", name="Settings").click()
    nav = tab.page.get_by_role("navigation", name="Settings")
    nav.get_by_role("link", name="Approvals").click()
    calls = tab.page.get_by_role("list", name="Always allowed calls of Scripted")
    expect(calls).to_contain_text("new.txt")
    calls.get_by_role("button", name="Revoke write_file").click()
    expect(calls).to_have_count(0)
    expect(tab.page.get_by_role("status")).to_contain_text(["Revoked. It asks again for Scripted."])
    expect(tab.page.locator("#approvals")).to_be_focused()
    assert json.loads(site.agent_file("scripted").read_text())["always_allow"] == []


def test_a_reason_that_arrived_is_not_kept_when_the_page_hears_of_it_later(asking, open_tab):
    tab = open_tab(blocked=True).chat(asking)
    tab.expects("WebSocket", "ERR_FAILED", "htmx:ws:error")
    tab.button("Deny").click()
    tab.hears_nothing_until_it_asks()
    tab.page.get_by_label("Tell the agent why (optional)").fill("not into this folder")
    tab.button("Deny").click()
    expect(tab.log.get_by_text("Denied by you")).to_be_attached()
    expect(tab.alerts).to_have_count(0)
    expect(tab.button("Discard")).to_have_count(0)


def test_a_reason_that_is_refused_because_another_tab_was_faster_is_kept(asking, open_tab):
    here, there = open_tab().chat(asking), open_tab().chat(asking)
    here.expects("409")
    here.button("Deny").click()
    held = here.hold("**/decide")
    here.page.get_by_label("Tell the agent why (optional)").fill("not into this folder")
    here.button("Deny").click()
    wait_for(here, lambda: held)
    there.button("Allow once").click()
    expect(here.log.get_by_text("allowed once")).to_be_attached()
    expect(here.button("Discard")).to_be_hidden()
    held[0].continue_()
    expect(here.button("Discard")).to_be_visible()
    expect(here.page.get_by_text("was decided already")).to_be_visible()
    here.button("Discard").click()
    expect(here.page.get_by_label("Tell the agent why (optional)")).to_have_count(0)


def test_a_reason_is_handed_over_when_the_conversation_is_cleared_elsewhere(asking, open_tab):
    here, there = open_tab().chat(asking), open_tab().chat(asking)
    here.button("Deny").click()
    here.page.get_by_label("Tell the agent why (optional)").fill("not into this folder")
    there.say("/clear")
    expect(here.message).to_have_value("not into this folder")


def test_a_reason_that_nobody_has_written_goes_with_the_card(asking, open_tab):
    here, there = open_tab().chat(asking), open_tab().chat(asking)
    here.button("Deny").click()
    there.button("Allow once").click()
    expect(here.log.get_by_text("allowed once")).to_be_attached()
    expect(here.page.get_by_label("Tell the agent why (optional)")).to_have_count(0)
    expect(here.alerts).to_have_count(0)


def test_the_question_on_a_phone(asking, open_tab):
    tab = open_tab(viewport=PHONE).chat(asking)
    tab.drawer_toggle.click()
    tab.plan.get_by_role("link", name="write_file", exact=True).click()
    expect(tab.plan).to_be_hidden()
    expect(tab.button("Allow once")).to_be_in_viewport()
    tab.button("Allow once").click()
    expect(tab.log.get_by_text("allowed once")).to_be_attached()


def test_a_file_changed_by_hand_is_told_where_only_the_card_is_seen(site, clock, open_tab):
    site.do(site.make_agent, "by-hand-two", name="By hand two")
    tab = open_tab("/settings/agents/?agent=by-hand-two")
    card = tab.page.get_by_role("article", name="By hand two", exact=True)
    tab.button("Close agent.json").click()
    expect(tab.page.get_by_role("complementary", name="agent.json")).to_be_hidden()
    card.get_by_label("Instructions").fill("typed and not saved")
    site.change_agent("by-hand-two", description="Changed by hand")
    clock.fast_forward(LOOKED_AGAIN)
    expect(card).to_contain_text("agent.json was changed on disk.")
    expect(card.get_by_label("Description")).to_have_value("Changed by hand")
    expect(card.get_by_label("Instructions")).to_have_value("typed and not saved")


def test_a_word_of_the_file_that_changes_nothing_is_told_in_the_conversation(site, open_tab):
    site.do(site.make_agent, "wordy", name="Wordy")
    tab = open_tab().chat(site.conversation("wordy"))
    note = tab.page.get_by_role("note")
    expect(note).to_have_count(0)
    site.change_agent("wordy", tools={"create_plan": "off"})
    tab.say("hello")
    expect(note).to_contain_text('create_plan cannot be "off"')
    assert 'create_plan cannot be "off"' in site.get("/agents/wordy")["warning"]
    note.get_by_role("link", name="Open agent.json").click()
    expect(tab.page.get_by_role("complementary")).to_contain_text('"create_plan": "off"')


@pytest.mark.parametrize("width", [360, 390])
def test_a_plans_page_can_be_closed_on_a_narrow_phone(site, open_tab, width):
    chat = site.scripted("quick")
    tab = open_tab(viewport={"width": width, "height": 780})
    tab.open(f"/plans/{site.plan(chat)['id']}/")
    close = tab.page.get_by_role("link", name="Close, back to all plans")
    box = close.bounding_box()
    assert box["x"] + box["width"] <= width


@pytest.mark.skipif(bool(FIREFOX), reason="Playwright forces no colours on Firefox")
def test_with_forced_colours_what_is_chosen_and_done_can_be_told(site, open_tab):
    tab = open_tab(forced_colors="active", viewport={"width": 1440, "height": 900})
    chat = site.started("hang")
    tab.chat(chat)
    expect(tab.row(2)).to_have_attribute("data-state", "in_progress")
    framed = "e => getComputedStyle(e).outlineStyle"
    assert tab.row(2).evaluate(framed) == "solid"
    chosen = tab.page.locator(".segmented label:has(:checked)").first
    assert chosen.evaluate(framed) == "solid"
    colours = """e => [getComputedStyle(e).color,
        getComputedStyle(e).getPropertyValue("--on-accent")]"""
    mark = tab.row(1).get_by_role("img", name="Done")
    assert "Canvas" in mark.evaluate(colours)[1]


def test_a_card_is_loaded_when_it_is_opened_and_stays_as_it_is(site, open_tab):
    tab = open_tab("/settings/agents/?agent=docs-writer")
    card = tab.page.get_by_role("article", name="Scripted", exact=True)
    expect(card.get_by_label("Description")).to_have_count(0)
    fold = tab.button("Scripted settings")
    fold.press("Enter")
    field = card.get_by_role("textbox", name="Description")
    expect(field).to_have_value("")
    expect(tab.page.get_by_role("complementary", name="agent.json")).to_contain_text("scripted")
    expect(fold).to_be_focused()
    field.press_sequentially("another")  # what is filled in is no change to Firefox
    fold.click()
    expect(tab.page.get_by_text("The description is changed.")).to_be_visible()
    expect(field).to_be_hidden()
    fold.click()
    expect(field).to_have_value("another")
    card.get_by_role("button", name="Delete agent").click()
    expect(tab.page.get_by_role("dialog", name="Delete Scripted?")).to_be_visible()


def test_a_file_changed_by_hand_is_shown_on_the_open_page(site, clock, open_tab):
    tab = open_tab("/settings/agents/?agent=scripted")
    pane = tab.page.get_by_role("complementary", name="agent.json of Scripted")
    expect(pane).to_contain_text("This is the file as it is on disk.")
    site.change_agent(description="Changed by hand")
    clock.fast_forward(LOOKED_AGAIN)
    card = tab.page.get_by_role("article", name="Scripted", exact=True)
    expect(card).to_contain_text("agent.json was changed on disk.")
    expect(pane).to_contain_text("Changed by hand")
    pane.get_by_role("button", name="Edit").click()
    box = pane.get_by_role("textbox", name="agent.json")
    typed = box.inner_text().replace("Changed by hand", "Typed here")
    box.fill(typed)
    site.change_agent(description="Changed again")
    clock.run_for(LOOKED_AGAIN)  # its timer may have been set a moment ago
    expect(tab.alerts).to_contain_text("agent.json changed on disk")
    expect(box).to_contain_text("Typed here")
