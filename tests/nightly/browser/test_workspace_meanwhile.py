"""The agent's files while more than one thing happens: late answers, polls beside a person's own
act, what goes while it is open."""

import re

from playwright.sync_api import expect

from tests.browser.test_workspace import (
    BETWEEN_LOOKS,
    STAMPS,
    drop,
    folder,
    let_go,
    looks,
    opened,
    row,
    tab,
)
from tests.browser.test_workspace_meanwhile import LOST, README, alert, heading, rename

__all__ = ["folder", "tab"]


def test_of_two_files_that_are_opened_the_last_one_stays(tab, folder):
    (folder / "other.md").write_text("# Another\n")
    opened(tab)
    held = tab.hold(README)
    with tab.page.expect_request(README):
        row(tab, "README.md").click()
    row(tab, "other.md").click()
    expect(heading(tab, "Another")).to_be_visible()
    let_go(tab, held[0])
    expect(heading(tab, "Another")).to_be_visible()
    expect(row(tab, "other.md")).to_have_attribute("aria-current", "true")
    expect(row(tab, "README.md")).not_to_have_attribute("aria-current", "true")


def test_what_is_dropped_on_a_folder_that_is_only_read_does_not_open_in_place_of_the_page(
    site, open_tab, tmp_path
):
    may = {"list_files": "allow"}
    site.change_agent("scripted", workspace=str(tmp_path), tools={**may, "write_file": "off"})
    tab = open_tab().chat(site.conversation())
    tab.button("Files").click()
    expect(tab.page.get_by_text("Read only", exact=True)).to_be_visible()
    prevented = tab.page.locator("#file-tree").evaluate(
        """(element) => ["dragover", "drop"].map((type) => {
          const dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File(["dropped"], "a.txt"));
          const event = new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true });
          element.dispatchEvent(event);
          return event.defaultPrevented;
        })"""
    )
    assert prevented == [True, True]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_goes_takes_its_buttons_with_it(tab, folder):
    tab.expects("status of 404")  # a look at what it holds may come before the one that misses it
    opened(tab)
    row(tab, "src").click()
    expect(tab.button("Delete src")).to_be_visible()
    (folder / "src").rename(folder / "elsewhere")
    looks(tab)
    expect(row(tab, "src")).to_have_count(0)
    expect(tab.button("Delete src")).to_be_hidden()
    row(tab, "docs").click()
    expect(tab.button("Rename docs")).to_be_visible()
    tab.page.get_by_role("searchbox", name="Find a file").fill("README")
    expect(row(tab, "docs")).to_have_count(0)
    expect(tab.button("Rename docs")).to_be_hidden()


def test_enter_opens_what_was_typed_though_its_rows_come_later(tab):
    opened(tab)
    held = tab.hold("**q=api*")
    find = tab.page.get_by_role("searchbox", name="Find a file")
    with tab.page.expect_request("**q=api*"):
        find.press_sequentially("api")
        find.press("Enter")
    held.release()
    expect(heading(tab, "API reference")).to_be_visible()
    expect(tab.button("Delete docs")).to_be_hidden()


def test_a_plan_that_comes_waits_behind_the_files_for_who_is_in_them(site, tab):
    opened(tab)
    field = rename(tab, "README.md", "half typ")
    chat = int(re.search(r"/c/(\d+)/", tab.page.url)[1])
    site.says(chat, "/plan I want to quick")
    site.drive()
    expect(tab.log.get_by_text("Here is the plan.")).to_be_visible()
    expect(field).to_be_focused()
    expect(field).to_have_value("half typ")
    tab.page.keyboard.press("Escape")
    tab.button("Close files").click()
    expect(tab.plan).to_be_visible()
    tab.sees_plan(state="todo")


def test_a_plan_that_comes_is_shown_to_who_is_not_in_the_files(site, tab):
    opened(tab)
    with tab.sends():
        tab.say("/plan I want to quick")
    site.drive()
    expect(tab.plan).to_be_visible()
    expect(tab.page.locator("#file-tree")).to_be_hidden()


def test_what_a_slow_server_does_not_answer_is_not_asked_again(clock, tab):
    opened(tab)
    held = tab.hold(STAMPS)
    for _ in range(3):
        clock.fast_forward(BETWEEN_LOOKS)
    tab.has_sent_all()
    assert len(held) == 1
    held[0].continue_()


def test_what_changed_while_searching_is_in_the_tree_that_comes_back(tab, folder):
    opened(tab)
    tab.page.get_by_role("searchbox", name="Find a file").fill("flow")
    expect(row(tab, "docs/img/flow.png")).to_be_visible()
    (folder / "by-the-agent.txt").write_text("new")
    looks(tab)
    expect(row(tab, "by-the-agent.txt")).to_have_count(0)
    tab.page.get_by_role("searchbox", name="Find a file").press("Escape")
    expect(row(tab, "by-the-agent.txt")).to_be_visible()


def test_what_is_dropped_with_others_is_taken_in_and_why_those_were_not_stays_said(tab, folder):
    tab.expects("413", "ERR_FAILED")
    refusal = {"status": 413, "content_type": "text/plain", "body": "big.bin is too large."}
    tab.page.route(re.compile(r"/upload\?.*name=big"), lambda route: route.fulfill(**refusal))
    tab.page.route(re.compile(r"/upload\?.*name=first"), lambda route: route.abort())
    tree = opened(tab).page.locator("#file-tree")
    drop(tree, "big.bin", "a.txt")
    expect(row(tab, "a.txt")).to_be_visible()
    expect(alert(tab)).to_have_text("big.bin is too large.")
    row(tab, "README.md").click()
    expect(alert(tab)).to_have_text("")
    drop(tree, "first.txt", "second.txt")
    expect(row(tab, "second.txt")).to_be_visible()
    expect(alert(tab)).to_have_text(LOST)
    assert (folder / "second.txt").read_text() == "dropped"
    tab.page.evaluate(
        """() => (DataTransferItem.prototype.webkitGetAsEntry = function () {
          return { isDirectory: this.getAsFile().name === "pictures" };
        })"""
    )
    drop(tree, "pictures", "third.txt")
    expect(row(tab, "third.txt")).to_be_visible()
    expect(alert(tab)).to_have_text("pictures is a folder: drop the files in it.")


def test_the_open_file_is_renamed_and_deleted_where_it_has_no_row(tab, folder):
    row(opened(tab), "README.md").click()
    expect(heading(tab, "Read me")).to_be_visible()
    tab.page.get_by_role("searchbox", name="Find a file").fill("flow")
    expect(row(tab, "docs/img/flow.png")).to_be_visible()
    tab.button("Rename README.md").click()
    field = tab.page.get_by_role("textbox", name="New name of README.md")
    expect(field).to_be_focused()
    tab.page.keyboard.press("Escape")
    expect(tab.button("Rename README.md")).to_be_focused()
    tab.page.keyboard.press("Enter")
    tab.page.keyboard.type("ABOUT")
    tab.page.keyboard.press("Enter")
    expect(heading(tab, "ABOUT.md")).to_be_visible()
    expect(tab.button("Rename ABOUT.md")).to_be_focused()
    assert (folder / "ABOUT.md").exists() and not (folder / "README.md").exists()
    tab.button("Delete ABOUT.md").click()
    expect(heading(tab, "Read me")).to_have_count(0)
    assert not (folder / "ABOUT.md").exists()
    tab.button("Undo").click()
    expect(heading(tab, "Read me")).to_be_visible()
