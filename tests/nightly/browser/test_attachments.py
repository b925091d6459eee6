"""Files into the chat: messages that wait for them, and what can be undone."""

from playwright.sync_api import expect

from tests.browser.test_attachments import chat, choose, file, slow_down, tiles
from tests.tab import wait_for

__all__ = ["chat"]


def test_a_message_that_waits_is_edited_or_discarded(open_tab, chat):
    tab = open_tab().chat(chat)
    tab.expects("ERR_ABORTED")
    slow_down(tab)
    choose(tab, file("session.har", b"x" * 2_000_000))
    held = tab.page.get_by_role("region", name="Message that waits")
    tab.message.fill("first words")
    tab.message.press("Enter")
    held.get_by_role("button", name="Edit").click()
    expect(held).to_have_count(0)
    expect(tab.message).to_have_value("first words")
    expect(tab.message).to_be_focused()
    tab.message.press("Enter")
    held.get_by_role("button", name="Discard").click()
    expect(held).to_have_count(0)
    expect(tab.message).to_have_value("")
    expect(tab.page.locator(".attachment")).to_have_count(0)
    expect(tab.log.get_by_role("article", name="Your message")).to_have_count(0)


def test_a_message_whose_file_does_not_get_up_is_not_sent(open_tab, chat):
    tab = open_tab().chat(chat)
    tab.expects("attachments", "Failed to load resource")
    routes = tab.hold("**/attachments?*")
    choose(tab, file("notes.txt"))
    tab.message.fill("read it")
    tab.message.press("Enter")
    expect(tab.page.get_by_role("region", name="Message that waits")).to_be_visible()
    wait_for(tab, lambda: routes)
    routes[0].abort()
    expect(tab.page.get_by_text("Not sent: a file was not uploaded.")).to_be_visible()
    expect(tab.message).to_have_value("read it")
    expect(tab.log.get_by_role("article", name="Your message")).to_have_count(0)


def test_what_can_be_undone_is_over_with_the_next_message(open_tab, chat):
    tab = open_tab().chat(chat)
    choose(tab, file("notes.txt"))
    tab.button("Remove notes.txt").click()
    toast = tab.page.get_by_text("Removed notes.txt.")
    expect(toast).to_be_visible()
    tab.say("Without it")
    expect(toast).to_have_count(0)
    expect(tab.log).to_contain_text("Without it")
    expect(tab.page.locator("#attachments .attachment")).to_have_count(0)


def test_the_place_of_a_removed_file_is_free_while_it_can_be_brought_back(open_tab, chat):
    tab = open_tab().chat(chat)
    choose(tab, *(file(f"{n}.txt") for n in range(10)))
    expect(tiles(tab)).to_have_count(10)
    tab.button("Remove 3.txt").click()
    choose(tab, file("new.txt"))
    expect(tiles(tab).filter(has_text="new.txt")).to_be_visible()
    expect(tab.page.get_by_text("10 is the most")).to_have_count(0)
    expect(tab.button("Undo")).to_have_count(0)
    choose(tab, file("more.txt"))
    expect(tab.page.get_by_text("10 is the most")).to_be_visible()
