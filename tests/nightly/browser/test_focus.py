"""A dialog on a phone."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import PHONE
from tests.browser.test_focus import BOX, PLAN, dialog, focused, press
from tests.tab import LIVE


def test_the_three_ways_of_retrying_stand_below_each_other_on_a_phone(site, open_tab):
    tab = open_tab(viewport=PHONE).chat(site.scripted("quick"))
    tab.page.locator("#retry-dialog").evaluate("(each) => each.showModal()")
    buttons = dialog(tab).get_by_role("button").all()
    boxes = [each.bounding_box() for each in buttons]
    assert len(boxes) == 3
    assert len({(box["x"], box["width"]) for box in boxes}) == 1
    assert len({box["y"] for box in boxes}) == 3


def test_rename_and_delete_of_a_conversation(site, open_tab):
    tab = open_tab().chat(site.conversation())
    menu = tab.page.get_by_label("Conversation menu")
    menu.focus()
    tab.page.keyboard.press("Enter")
    press(tab, "Rename")
    dialog(tab).get_by_label("Title").fill("Another title")
    tab.page.keyboard.press("Enter")
    expect(tab.page.get_by_role("heading", level=1)).to_have_text("Another title")
    expect(menu).to_be_focused()
    tab.page.keyboard.press("Enter")
    press(tab, "Rename")
    expect(dialog(tab).get_by_label("Title")).to_have_value("Another title")
    tab.page.keyboard.press("Escape")
    expect(menu).to_be_focused()
    tab.page.keyboard.press("Enter")
    with tab.page.expect_navigation():
        press(tab, "Delete conversation")
    focused(tab, BOX)


def test_cancelling_the_asking_for_a_plan(site, open_tab):
    tab = open_tab().chat(site.conversation())
    with tab.sends():
        tab.say("/plan think it over for ever")
    site.drive()
    with tab.sends():
        press(tab, "Cancel planning")
    site.drive()
    expect(tab.button("Cancel planning")).to_be_hidden()
    focused(tab, BOX)


def test_making_copying_and_deleting_an_agent(site, open_tab):
    tab = open_tab("/settings/agents/")
    press(tab, "New agent")
    dialog(tab).get_by_label("Name").fill("Focus finder")
    tab.page.keyboard.press("Enter")
    expect(tab.page.get_by_role("article", name="Focus finder")).to_be_visible()
    focused(tab, r"^agent-focus-finder ")
    press(tab, "Copy agent", tab.page.get_by_role("article", name="Focus finder", exact=True))
    tab.page.wait_for_url("**agent=focus-finder-copy")
    focused(tab, r"^agent-focus-finder-copy ")
    for name in ("focus-finder-copy", "focus-finder"):
        tab.open(f"/settings/agents/?agent={name}")
        card = tab.page.locator(f"#agent-{name}")
        press(tab, "Delete agent", card.locator(":scope > .card-body"))
        press(tab, "Delete agent", dialog(tab))
        expect(card).to_have_count(0)
        focused(tab, r"^main ")


def test_adding_and_removing_a_provider(site, open_tab):
    tab = open_tab("/settings/models/")
    press(tab, "Add provider")
    dialog(tab).get_by_label("Name", exact=True).fill("nearby")
    dialog(tab).get_by_label("Base URL").fill("http://127.0.0.1:9/v1")
    press(tab, "Add provider", dialog(tab))
    tab.page.wait_for_url("**provider=nearby")
    focused(tab, r"^provider-nearby ")
    card = tab.page.locator("#provider-nearby-settings")
    card.get_by_text("Address, protocol, headers and prices").click()
    press(tab, "Remove provider", card)
    press(tab, "Remove provider", dialog(tab))
    expect(tab.page.locator("#provider-nearby")).to_have_count(0)
    focused(tab, r"^main ")


def test_what_is_shown_once_is_at_hand_and_its_end_leads_to_its_card(site, open_tab):
    tab = open_tab("/settings/account/")
    press(tab, "Make a sign-in link")
    expect(tab.button("Copy link")).to_be_focused()
    press(tab, "New token")
    dialog(tab).get_by_label("Name, after what uses it").fill("Focus finder")
    tab.page.keyboard.press("Enter")
    expect(tab.button("Copy token")).to_be_focused()
    press(tab, "Revoke Focus finder")
    expect(dialog(tab).get_by_role("button", name="Keep")).to_be_focused()
    tab.page.keyboard.press("Enter")
    expect(tab.button("Revoke Focus finder")).to_be_focused()
    press(tab, "Revoke Focus finder")
    press(tab, "Revoke", dialog(tab))
    expect(tab.button("Revoke Focus finder")).to_have_count(0)
    focused(tab, r"^account-tokens ")


def test_adding_and_deactivating_a_person(site, open_tab):
    tab = open_tab("/settings/people/")
    press(tab, "Add person")
    dialog(tab).get_by_label("Name").fill("dora")
    tab.page.keyboard.press("Enter")
    expect(tab.button("Copy link")).to_be_focused()
    press(tab, "Deactivate dora")
    expect(dialog(tab).get_by_role("button", name="Keep")).to_be_focused()
    press(tab, "Deactivate", dialog(tab))
    expect(tab.button("Let dora in again")).to_be_visible()
    focused(tab, r"^people-\d+ ")
    press(tab, "Let dora in again")
    expect(tab.button("Deactivate dora")).to_be_visible()
    focused(tab, r"^people-\d+ ")


def test_asking_again_stays_at_the_message_then_archiving_and_clearing_have_their_places(
    site, open_tab
):
    tab = open_tab().chat(site.conversation())
    with tab.sends():
        tab.say("Well?")
    site.drive()
    expect(tab.log).to_contain_text("Understood.")
    expect(tab.button("Stop the reply")).to_be_hidden()
    press(tab, "Ask again")
    expect(tab.page.get_by_role("menuitem").first).to_be_focused()
    with tab.sends():
        tab.page.keyboard.press("Enter")
    site.drive()
    expect(tab.page.get_by_role("group", name="Alternative 2 of 2")).to_be_visible()
    focused(tab, r"^message-\d+ ARTICLE")
    tab.page.get_by_label("Conversation menu").press("Enter")
    press(tab, "Archive")
    expect(tab.page.get_by_text("Archived. Search still finds it.")).to_be_visible()
    expect(tab.page.get_by_label("Conversation menu")).to_be_focused()
    tab.message.fill("/clear ")
    tab.message.press("Enter")
    expect(tab.log).not_to_contain_text("Understood.")
    expect(tab.message).to_be_focused()


def test_start_and_stop(site, open_tab):
    tab = open_tab().chat(site.scripted("hang"))
    with tab.sends():
        press(tab, "Start plan")
    site.drive()
    tab.sees_plan(state="in_progress")
    focused(tab, PLAN)
    press(tab, "Stop plan")
    with tab.sends():
        press(tab, "Stop plan", dialog(tab))
    site.drive()
    tab.sees_plan(run="idle")
    focused(tab, PLAN)
    press(tab, "Cancel plan")
    press(tab, "Cancel plan", dialog(tab))
    tab.sees_plan(state="abandoned")
    focused(tab, PLAN)


def test_undo_leads_to_the_row_that_is_back_when_it_comes_late(site, open_tab):
    """The toast goes with the answer. Until the plan is drawn anew another row stands in the place,
    and whatever else changes on the page finds the focus lost."""
    tab = open_tab(blocked=True).chat(site.scripted("quick"))
    tab.expects("WebSocket")
    tab.row(2).get_by_role("group", name=re.compile("^Subtask 2")).focus()
    tab.page.keyboard.press("Delete")
    expect(tab.rows).to_have_count(2)
    focused(tab, r"^subtask-")
    held = tab.hold(re.compile(r"/c/\d+/(changes|drawer)"))
    press(tab, "Undo")
    expect(tab.button("Undo")).to_have_count(0)
    tab.page.evaluate("document.dispatchEvent(new CustomEvent('htmx:after:swap'))")
    focused(tab, r"^subtask-\d+-s3")
    held.release()
    expect(tab.rows).to_have_count(3)
    focused(tab, r"^subtask-\d+-s4")


def test_a_message_that_waits_goes_back_into_the_box_is_discarded_and_a_reply_is_stopped(
    site, open_tab
):
    tab = open_tab().chat(site.conversation())
    tab.sees_connection(LIVE)
    with tab.sends():
        tab.say("say half of it")
    site.drive()
    expect(tab.log).to_contain_text("Half of an answer")
    tab.say("and then this")
    press(tab, "Edit")
    expect(tab.message).to_have_value("and then this")
    focused(tab, BOX)
    tab.button("Send").click()
    press(tab, "Discard")
    expect(tab.log.get_by_text("Waiting to send")).to_have_count(0)
    focused(tab, r"^log ")
    with tab.sends():
        press(tab, "Stop the reply")
    site.drive()
    expect(tab.log).to_contain_text("You stopped this reply.")
    focused(tab, BOX)
