"""Ctrl K: words that are nowhere, what was cleared, archived or deleted, and settings."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import PHONE
from tests.browser.test_palette import chat, look_for, option, search

__all__ = ["chat"]


def test_words_that_are_nowhere_begin_a_chat(open_tab, chat):
    tab = open_tab(viewport=PHONE).chat(chat)
    look_for(tab, "quaggas everywhere")
    option(tab, "New chat with “quaggas everywhere”").click()
    expect(tab.message).to_have_value("quaggas everywhere")
    assert not tab.page.url.endswith(f"/c/{chat}/")


def test_what_was_cleared_is_shown_by_itself(open_tab, site, chat):
    site.says(chat, "The okapi question")
    site.drive()
    tab = open_tab().chat(chat)
    tab.say("/clear")
    expect(tab.log).not_to_contain_text("okapi")
    look_for(tab, "okapi")
    option(tab, "You").first.click()
    around = tab.page.get_by_role("region", name="Where it was found")
    expect(around).to_contain_text("The okapi question")
    expect(around).to_contain_text("Cleared.")
    around.get_by_role("link", name="Go to the newest").click()
    expect(around).to_have_count(0)


def test_a_conversation_is_archived_deleted_and_brought_back_by_the_keyboard(open_tab, site, chat):
    site.says(chat, "The quokka question")
    site.drive()
    tab, other = open_tab().chat(chat), open_tab().chat(chat)
    tab.page.bring_to_front()  # in Firefox only the tab in front takes the focus
    look_for(tab, "archive this")
    tab.page.keyboard.press("Enter")
    expect(tab.page.get_by_text("Archived. Search still finds it.")).to_be_visible()
    other.page.get_by_label("Conversation menu").click()
    expect(other.button("Put back into the list")).to_be_visible()
    tab.open("/archive/")
    expect(tab.page.get_by_role("list", name="Archived conversations")).to_contain_text("quokka")
    tab.button("Delete “The quokka question”").click()
    gone = tab.page.get_by_role("list", name="Deleted conversations")
    expect(gone).to_contain_text("The quokka question")
    expect(other.page.get_by_text("This conversation was deleted.", exact=False)).to_be_visible()
    tab.button("Restore “The quokka question”").click()
    expect(tab.log).to_contain_text("The quokka question")


def test_a_setting_is_found_by_its_words_and_opened_at_its_row(open_tab, site):
    tab = open_tab("/plans/")
    tab.page.keyboard.press("Control+k")
    expect(search(tab).get_by_role("option", name="New chat").first).to_be_visible()
    commands = search(tab).get_by_role("group", name="Commands and settings")
    expect(commands.get_by_role("option").first).to_have_accessible_name(re.compile("Needs you"))
    tab.page.keyboard.type("dark")
    option(tab, "Theme").click()
    expect(tab.page).to_have_url(re.compile("/settings/appearance/#setting-theme$"))
    expect(tab.page.locator(":target")).to_contain_text("Theme")
    expect(tab.page.locator(":target")).to_be_in_viewport()


def test_the_keyboard_alone_walks_round_opens_and_comes_back(open_tab, chat):
    tab = open_tab().chat(chat)
    tab.message.focus()
    look_for(tab, "appearance of nothing at all")
    expect(search(tab)).to_contain_text("Nothing matches “appearance of nothing at all”.")
    expect(search(tab).get_by_role("option")).to_have_count(2)
    tab.page.keyboard.press("Escape")
    expect(search(tab)).to_be_hidden()
    expect(tab.message).to_be_focused()
    look_for(tab, "models")
    expect(option(tab, "^Models")).to_be_visible()
    tab.page.keyboard.press("ArrowUp")
    expect(search(tab).get_by_role("option").last).to_have_attribute("aria-selected", "true")
    tab.page.keyboard.press("ArrowDown")
    expect(option(tab, "^Models")).to_have_attribute("aria-selected", "true")
    tab.page.keyboard.press("Enter")
    tab.page.wait_for_url(re.compile("/settings/models/$"))
    tab.page.keyboard.press("Control+k")
    expect(search(tab)).to_be_visible()
    tab.page.keyboard.press("Control+k")
    expect(search(tab)).to_be_hidden()


MARKED = """() => [...(CSS.highlights.get("found") ?? [])].map((range) => ({
  text: range.toString(),
  isInView: (([line, view]) => line.top >= view.top && line.bottom <= view.bottom)(
    [range, document.getElementById("log")].map((each) => each.getBoundingClientRect())),
}))"""


def test_inside_a_long_reply_the_found_words_are_in_view_and_marked(site, open_tab, chat):
    site.says(chat, "tell me at length")
    site.drive()
    tab = open_tab()
    for start in (f"/c/{chat}/", "/plans/"):
        tab.open(start)
        look_for(tab, "wombat paragraph")
        option(tab, "Agent").first.click()
        expect(tab.log.locator("article:focus")).to_contain_text("Wómbat")
        marked = tab.page.evaluate(MARKED)
        assert [each["text"] for each in marked if each["text"] != "Paragraph"] == ["Wómbat"]
        assert all(each["isInView"] for each in marked if each["text"] == "Wómbat")
        assert marked[0]["isInView"], "where both stand"
        tab.page.keyboard.press("Shift")
        assert tab.page.evaluate(MARKED) == []


def test_ctrl_enter_opens_in_a_new_tab_and_a_command_is_run(open_tab, chat):
    tab = open_tab().chat(chat)
    look_for(tab, "plans")
    expect(option(tab, "^Plans")).to_be_visible()
    while option(tab, "^Plans").get_attribute("aria-selected") != "true":
        tab.page.keyboard.press("ArrowDown")
    with tab.page.context.expect_page() as opened:
        tab.page.keyboard.press("Control+Enter")
    expect(opened.value).to_have_url(re.compile("/plans/$"))
    opened.value.close()
    tab.page.keyboard.press("Escape")
    look_for(tab, "every command")
    option(tab, "help").click()
    expect(tab.log).to_contain_text("/clear")
