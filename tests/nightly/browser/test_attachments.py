"""Files into the chat: messages that wait for them, and what can be undone."""

import re

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


# Files that the page makes by itself: 20 MB take Playwright half a minute to hand over.
CHOOSE = """(input, sizes) => {
  const chosen = new DataTransfer();
  for (const [name, size] of sizes) {
    chosen.items.add(new File([new Uint8Array(size)], name, { type: "text/plain" }));
  }
  input.files = chosen.files;
  input.dispatchEvent(new Event("change", { bubbles: true }));
}"""


def test_what_cannot_be_attached_is_named_the_rest_goes_on_and_send_stays_in_view(open_tab, chat):
    tab = open_tab().chat(chat)
    few = [[f"{number}.txt", 500] for number in range(10)]
    sizes = [["large.zip", 20_400_000], ["none.txt", 0], *few, ["late.txt", 500]]
    tab.page.locator("#files").evaluate(CHOOSE, sizes)
    said = tab.page.locator("#refused-files .note > span:not(.end)")
    expect(said).to_have_count(3)
    assert set(said.all_inner_texts()) == {
        "none.txt is empty.",
        "large.zip has 20.4 MB; 20 MB is the most.",
        "11 files; 10 is the most. late.txt was left out.",
    }
    expect(tiles(tab)).to_have_count(10)
    for left in (2, 1):
        tab.button("Dismiss").first.click()
        expect(said).to_have_count(left)
    tab.page.set_viewport_size({"width": 390, "height": 480})
    expect(tab.button("Send")).to_be_in_viewport(ratio=1)
    words, button = said.bounding_box(), tab.button("Dismiss").bounding_box()
    assert button["x"] > words["x"] + words["width"]
    assert button["y"] < words["y"] + words["height"]


def test_delete_on_a_tile_removes_it_and_undo_brings_it_back(site, open_tab, chat):
    tab = open_tab().chat(chat)
    choose(tab, file("one.txt"), file("two.txt"))
    expect(tiles(tab)).to_have_count(2)
    tab.button("Remove one.txt").press("Delete")
    expect(tab.page.get_by_text("Removed one.txt.")).to_be_visible()
    expect(tab.button("Remove two.txt")).to_be_focused()
    tab.button("Undo").click()
    expect(tiles(tab)).to_have_count(2)
    expect(tab.button("Remove one.txt")).to_be_focused()
    tab.button("Remove one.txt").press("Backspace")
    tab.button("Remove two.txt").press("Backspace")
    expect(tab.message).to_be_focused()
    # The first one is gone for good, the other one can come back.
    expect(tab.page.locator("#attachments .attachment")).to_have_count(1)
    wait_for(tab, lambda: not site.file("uploads/one.txt").exists())


def test_tiles_stay_over_a_reload_and_stand_in_every_tab(open_tab, chat):
    tab, other = open_tab().chat(chat), open_tab().chat(chat)
    choose(tab, file("notes.txt"))
    for each in (tab, other):
        expect(tiles(each)).to_have_count(1)
    tab.page.reload()
    expect(tiles(tab)).to_have_text(re.compile("notes.txt"))
    other.button("Remove notes.txt").click()
    expect(tiles(other).first).to_be_hidden()
    other.page.reload()
    expect(tiles(other)).to_have_count(0)
    expect(tiles(tab)).to_have_count(0)
