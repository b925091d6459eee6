"""Files into the chat: chosen, pasted, dropped, and sent with a message."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import FIREFOX
from tests.images import PETROL, RED, png

PICTURE = png(390, 700, (RED, PETROL))
CRAWLING, FAST = 20_000, 10_000_000  # bytes a second


def file(name, data=b"line\n" * 100, kind="text/plain"):
    return {"name": name, "mimeType": kind, "buffer": data}


SHOT = file("shot.png", PICTURE, "image/png")


def choose(tab, *files):
    tab.page.locator("#files").set_input_files(list(files))


def tiles(tab):
    return tab.page.get_by_role("list", name="Attachments", exact=True).get_by_role("listitem")


def slow_down(tab):
    """The network, so far that what is sent is not there before one has looked; what ends that."""
    if FIREFOX:
        pytest.skip("only Chromium lets a test slow its network down")
    wire = tab.page.context.new_cdp_session(tab.page)
    wire.send("Network.enable")

    def set_speed(speed):
        wire.send(
            "Network.emulateNetworkConditions",
            {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": speed},
        )

    set_speed(CRAWLING)
    return lambda: set_speed(FAST)


def drag(tab, kind):
    tab.page.evaluate(
        """(type) => {
          const dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File(["hello"], "dropped.txt"));
          dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
        }""",
        kind,
    )


@pytest.fixture
def chat(site):
    return site.conversation()


def test_a_picture_and_a_log_go_with_a_message_by_the_keyboard_alone(site, open_tab, chat):
    tab = open_tab().chat(chat)
    with tab.page.expect_file_chooser() as chooser:
        tab.button("Attach files").press("Enter")
    chooser.value.set_files([SHOT, file("browser.log")])
    expect(tiles(tab)).to_have_text([re.compile("shot.png.*2 kB", re.S), re.compile("browser.log")])
    expect(tab.message).to_be_focused()
    tab.message.fill("what is wrong here?")
    with tab.sends():
        tab.message.press("Enter")
    site.drive()
    message = tab.log.get_by_role("article", name="Your message")
    expect(message.get_by_role("link", name="Open shot.png")).to_be_visible()
    expect(message.get_by_role("link", name="browser.log")).to_be_visible()
    expect(tiles(tab)).to_have_count(0)
    expect(tab.log.get_by_text("Understood.")).to_be_visible()
    [asked] = site.model.requests
    parts = asked["messages"][-1]["content"]
    assert [part["type"] for part in parts] == ["text", "image_url"]
    expect(message.get_by_role("img")).to_have_js_property("complete", True)
    box = message.get_by_role("img").bounding_box()
    assert box["width"] <= 280 and box["height"] <= 176


def test_a_message_waits_for_its_file_and_goes_by_itself(open_tab, chat):
    tab = open_tab().chat(chat)
    speed_up = slow_down(tab)
    choose(tab, file("session.har", b"x" * 1_200_000))
    expect(tab.page.get_by_text(re.compile(r"^\d.*of 1\.2 MB$"))).to_be_visible()
    expect(tab.page.locator("#uploading-hint")).to_have_text("Sends when 1 file is up")
    tab.message.fill("this is the session")
    tab.message.press("Enter")
    held = tab.page.get_by_role("region", name="Message that waits")
    expect(held).to_contain_text("this is the session")
    expect(held).to_contain_text("Sends when 1 file is up")
    expect(tab.message).to_have_value("")
    tab.message.fill("and this follows it")
    tab.message.press("Enter")
    expect(held).to_have_count(2)
    speed_up()
    expect(held).to_have_count(0)
    own = tab.log.get_by_role("article", name="Your message")
    expect(own).to_have_count(2)
    expect(own.first).to_contain_text("session.har")
    expect(own.last).to_contain_text("and this follows it")


def test_an_upload_that_is_cut_off_says_so_and_is_tried_again(open_tab, chat):
    tab = open_tab().chat(chat)
    tab.expects("attachments", "Failed to load resource")
    tab.page.route("**/attachments?*", lambda route: route.abort())
    choose(tab, file("notes.txt"))
    tile = tab.page.locator("#uploads .attachment")
    expect(tile).to_contain_text("Not uploaded")
    tab.page.unroute("**/attachments?*")
    tile.get_by_role("button", name="Try again").click()
    expect(tiles(tab)).to_have_text(re.compile("notes.txt"))
    expect(tile).to_have_count(0)


def test_files_are_dropped_anywhere_on_the_page_and_pictures_pasted_but_no_table(open_tab, chat):
    tab = open_tab().chat(chat)
    zone = tab.page.get_by_text("Drop to attach to your message")
    drag(tab, "dragenter")
    expect(zone).to_be_visible()
    expect(tab.page.get_by_text("They land in uploads, among Scripted’s files.")).to_be_visible()
    drag(tab, "dragleave")
    expect(zone).to_be_hidden()
    drag(tab, "dragenter")
    drag(tab, "drop")
    expect(zone).to_be_hidden()
    expect(tiles(tab)).to_have_text(re.compile("dropped.txt"))
    paste(tab, "1\t2")
    paste(tab)
    expect(tiles(tab)).to_have_text([re.compile("dropped.txt"), re.compile("image.png")])


def paste(tab, text=""):
    tab.message.focus()
    tab.page.evaluate(
        """(text) => {
          const clipboardData = new DataTransfer();
          clipboardData.items.add(new File(["x"], "image.png", { type: "image/png" }));
          if (text) clipboardData.setData("text/plain", text);
          const event = new ClipboardEvent("paste", { bubbles: true, cancelable: true });
          Object.defineProperty(event, "clipboardData", { value: clipboardData });  // Firefox takes none
          document.activeElement.dispatchEvent(event);
        }""",
        text,
    )
