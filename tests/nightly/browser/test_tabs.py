"""The walk on a phone, and what another process makes beside an open page."""

import json
import re

from playwright.sync_api import expect

from tests.browser.conftest import PHONE
from tests.browser.test_tabs import BETWEEN_POLLS, asks
from tests.console.serving import manage
from tests.tab import GOAL, LIVE, wait_for


def test_on_a_phone_the_walk_is_the_same_in_a_sheet(site, open_tab):
    chat = site.conversation()
    tab = open_tab(viewport=PHONE, has_touch=True, is_mobile=True).chat(chat)
    with tab.sends():
        tab.say("/plan I want to quick")
    site.drive()
    expect(tab.button("Start plan")).to_be_visible()
    wait_for(tab, lambda: is_inside(tab, tab.plan))  # once it has slid in
    count = tab.rows.count()
    tab.rename(1, "Renamed on a phone")
    tab.sees_plan(version=2)
    tab.button(f"Edit subtask {count}").click()
    tab.editor(f"Edit subtask {count}").get_by_role(
        "button", name=f"Remove subtask {count}"
    ).click()
    expect(tab.rows).to_have_count(count - 1)
    tab.button("Start v3").click()
    tab.sees_plan(approved_version=3)
    tab.page.keyboard.press("Escape")
    expect(tab.plan).to_be_hidden()
    expect(tab.message).to_be_visible()
    site.drive()
    tab.drawer_toggle.click()
    tab.sees_plan(state="done")
    expect(tab.row(1)).to_contain_text("Renamed on a phone")
    assert tab.page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def is_inside(tab, part):
    box, screen = part.bounding_box(), tab.page.viewport_size
    return (
        box["x"] >= 0 and box["x"] + box["width"] <= screen["width"] and box["y"] < screen["height"]
    )


def test_a_plan_made_by_a_command_appears_in_the_list_by_itself(site, open_tab):
    tab = open_tab().chat(site.proposed())
    tab.page.evaluate("window.isTheSamePage = true")
    code, out, _ = manage(site.home, "plan", "new", GOAL, "--json", PLANSIDE_MODEL="demo/docs")
    assert code == 0
    made = json.loads(out)["conversation"]
    expect(tab.page.locator(f"#conversation-{made}")).to_be_visible()
    assert tab.page.evaluate("window.isTheSamePage")


PROMPT = 4_000  # ms in which a change of another conversation is in the list


def test_the_new_title_is_in_the_field_of_who_has_not_typed_another(site, open_tab):
    chat = site.conversation()
    tab = open_tab().chat(chat)
    tab.sees_connection(LIVE)

    def rename(title):
        site.patch(f"/conversations/{chat}", title=title)

    tab.page.get_by_label("Conversation menu").click()
    tab.button("Rename").click()
    dialog = tab.page.get_by_role("dialog", name="Rename conversation")
    rename("First")
    expect(dialog.get_by_role("alert")).to_have_text("It is called “First” now.")
    expect(dialog.get_by_label("Title")).to_have_value("First")
    dialog.get_by_label("Title").fill("Mine")
    rename("Second")
    expect(dialog.get_by_role("alert")).to_have_text(
        "It is called “Second” now. Your text is kept."
    )
    expect(dialog.get_by_label("Title")).to_have_value("Mine")


def test_what_was_cleared_is_shown_hidden_and_shown_again_after_another_clear(site, open_tab):
    tab = open_tab().chat(site.conversation())
    show = tab.page.get_by_role("link", name="Show what was cleared")
    for number, text in enumerate(("the first", "the second"), 1):
        with tab.sends():
            tab.say(text)
        site.drive()
        expect(tab.log.get_by_text("Understood.")).to_have_count(number)
        expect(tab.button("Stop the reply")).to_be_hidden()
        tab.say("/clear")
        expect(show).to_be_visible()
        show.click()
        expect(tab.log).to_contain_text(text)
        expect(show).to_be_hidden()
    tab.say("the third")
    expect(tab.log).to_contain_text("the third")
    expect(show).to_be_hidden()
    tab.page.get_by_role("link", name="Hide it").click()
    expect(tab.log).not_to_contain_text("the second")
    expect(show).to_be_visible()


def test_what_waits_in_an_ordinary_chat_is_seen_from_another(site, open_tab, clock, careful):
    asking = site.conversation()
    tab = open_tab().chat(site.conversation())
    other = open_tab().chat(asking)
    other.sees_connection(LIVE)
    with other.sends():
        other.say("write it down")
    site.drive()
    expect(other.button("Allow once")).to_be_visible()
    status = other.page.locator("#status")
    expect(status).to_have_text("Needs you: Waiting for you: write_file")
    row = f"#conversation-{asking}"
    clock.fast_forward(BETWEEN_POLLS)
    for page in (other.page, tab.page):
        mark = page.locator(row).get_by_role("img", name="Waiting for you")
        expect(mark).to_be_visible()
        expect(page).to_have_title(re.compile(r"^\([0-9]+\) "))
    other.button("Deny").click()
    with other.sends():
        other.page.get_by_role("button", name="Deny", exact=True).last.click()
    clock.fast_forward(BETWEEN_POLLS)
    expect(tab.page.locator(row).get_by_role("img", name="Waiting for you")).to_have_count(0)


def test_what_a_script_makes_a_chat_ask_is_marked_promptly_in_the_list(
    site, open_tab, clock, careful
):
    asking = site.conversation()
    tab = open_tab().chat(site.conversation())
    tab.sees_connection(LIVE)
    site.says(asking, "write it down")
    site.drive()
    assert asks(site, asking)
    clock.fast_forward(PROMPT)
    mark = tab.page.locator(f"#conversation-{asking}").get_by_role("img", name="Waiting for you")
    expect(mark).to_be_visible()


def test_a_turn_from_before_show_earlier_that_goes_on_is_shown_live_in_its_place(
    site, open_tab, careful, monkeypatch
):
    monkeypatch.setattr("console.thread.MESSAGES_PER_PAGE", 12)
    chat = site.conversation()
    site.says(chat, "write it down")
    site.drive()
    site.says(chat, *(f"/help {number}" for number in range(8)))
    tab, other = open_tab().chat(chat), open_tab("/needs/")
    tab.sees_connection(LIVE)
    expect(tab.button("Show earlier")).to_be_visible()
    expect(tab.log).not_to_contain_text("write it down")
    with other.sends():
        other.button("Allow once").click()
    site.drive()
    expect(tab.log).to_contain_text("Understood.")
    first = tab.log.locator("#thread > :is(section, details)").first
    expect(first).to_contain_text("write it down")
    expect(first).to_contain_text("Understood.")
    ids = tab.articles.evaluate_all("all => all.map((each) => each.id)")
    tab.button("Show earlier").click()
    expect(tab.log).to_contain_text("/help 0")
    tab.page.wait_for_function(
        "count => document.querySelectorAll('#thread article').length > count", arg=len(ids)
    )
    ids = tab.articles.evaluate_all("all => all.map((each) => each.id)")
    assert len(ids) == len(set(ids)), "nothing is shown twice"


def test_what_is_taken_back_elsewhere_goes_on_where_it_is_shown(site, open_tab, clock):
    chat = site.conversation()
    tab, polling = open_tab().chat(chat), open_tab(blocked=True).chat(chat)
    polling.expects("404", "WebSocket")
    site.delete(f"/conversations/{chat}")
    row = f"#conversation-{chat}"
    clock.fast_forward(BETWEEN_POLLS)
    for each in (tab, polling):
        expect(each.page.get_by_text("This conversation was deleted.", exact=False)).to_be_visible()
        expect(each.page.locator(row)).to_have_count(0)
    site.post(f"/conversations/{chat}/restore")
    clock.fast_forward(BETWEEN_POLLS)
    for each in (tab, polling):
        expect(each.page.locator(row)).to_be_visible()
        expect(each.page.get_by_text("This conversation was deleted.", exact=False)).to_have_count(
            0
        )
    tab.sees_connection(LIVE)
