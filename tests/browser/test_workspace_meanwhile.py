"""The agent's files while more than one thing happens: late answers, polls beside a person's own
act, what goes while it is open."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE
from tests.browser.test_workspace import drop, folder, let_go, opened, row, tab, view
from tests.tab import wait_for

__all__ = ["folder", "tab"]

LOST = "That did not get through. Check the connection and try again."
ROWS, STAMPS = re.compile(r"/workspace/rows\?"), re.compile(r"/workspace/stamps\?")
README = re.compile(r"/workspace/file\?path=README")
A_FEW_POLLS = 6_000  # ms


def alert(tab):
    return tab.page.locator("#files-alert")


def heading(tab, name):
    return view(tab).get_by_role("heading", name=name)


CUT_OFF = """(part) => {
  const { fetch } = window;
  window.fetch = async (...asked) => {
    const answer = await fetch(...asked);
    if (!answer.url.includes(part)) return answer;
    const body = new ReadableStream({ start: (broken) => broken.error(new TypeError("network error")) });
    return new Response(body, answer);
  };
}"""


def looked(tab):
    """The rows have been asked for anew, as something has changed."""
    return tab.page.expect_response(ROWS)


def rename(tab, name, typed):
    row(tab, name).press("F2")
    field = tab.page.get_by_role("textbox", name=f"New name of {name}")
    field.fill(typed)
    return field


# Reading


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
    expect(row(tab, "other.md")).to_have_attribute("aria-selected", "true")
    expect(row(tab, "README.md")).to_have_attribute("aria-selected", "false")


def test_late_news_of_a_file_does_not_replace_the_one_that_was_opened_since(tab, folder):
    (folder / "other.md").write_text("# Another\n")
    row(opened(tab), "README.md").click()
    expect(heading(tab, "Read me")).to_be_visible()
    held = tab.hold(README)
    with tab.page.expect_request(README):
        (folder / "README.md").write_text("# Written anew\n")
    row(tab, "other.md").click()
    expect(heading(tab, "Another")).to_be_visible()
    let_go(tab, held[0])
    expect(heading(tab, "Another")).to_be_visible()


# Answers that break off while they are read


def test_an_act_whose_answer_is_cut_off_says_so_and_the_tree_shows_what_came_of_it(tab, folder):
    (folder / "other.md").write_text("# Another\n")
    opened(tab)
    row(tab, "other.md").press("Delete")
    undo = tab.button("Undo")
    expect(undo).to_be_visible()
    tab.page.evaluate(CUT_OFF, "/workspace/restore")
    undo.click()
    expect(alert(tab)).to_have_text(LOST)
    expect(row(tab, "other.md")).to_be_visible(timeout=A_FEW_POLLS)
    tab.page.evaluate(CUT_OFF, "/workspace/rename")
    rename(tab, "other.md", "third.md").press("Enter")
    expect(row(tab, "third.md")).to_be_visible(timeout=A_FEW_POLLS)
    expect(alert(tab)).to_have_text(LOST)
    tab.page.evaluate(CUT_OFF, "/workspace/delete")
    row(tab, "third.md").press("Delete")
    expect(row(tab, "third.md")).to_have_count(0, timeout=A_FEW_POLLS)
    expect(alert(tab)).to_have_text(LOST)


def test_a_file_whose_answer_is_cut_off_is_not_just_missing(tab, folder):
    opened(tab)
    tab.page.evaluate(CUT_OFF, "/workspace/file")
    row(tab, "README.md").click()
    expect(alert(tab)).to_have_text(LOST)


# What is dropped


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


def test_that_a_folder_was_left_out_stays_said_beside_what_was_taken_in(tab):
    opened(tab)
    tab.page.evaluate(
        """() => (DataTransferItem.prototype.webkitGetAsEntry = function () {
          return { isDirectory: this.getAsFile().name === "pictures" };
        })"""
    )
    drop(tab.page.locator("#file-tree"), "pictures", "a.txt")
    expect(row(tab, "a.txt")).to_be_visible()
    expect(alert(tab)).to_have_text("pictures is a folder: drop the files in it.")


def test_why_one_of_several_files_was_not_taken_stays_said(tab):
    tab.expects("status of 413")
    refusal = {"status": 413, "content_type": "text/plain", "body": "big.bin is too large."}
    tab.page.route(re.compile(r"/upload\?.*name=big"), lambda route: route.fulfill(**refusal))
    opened(tab)
    drop(tab.page.locator("#file-tree"), "big.bin", "a.txt")
    expect(row(tab, "a.txt")).to_be_visible()
    expect(alert(tab)).to_have_text("big.bin is too large.")
    row(tab, "README.md").click()
    expect(alert(tab)).to_have_text("")


def test_files_behind_one_whose_answer_broke_off_are_taken_in(tab, folder):
    tab.page.route(
        re.compile(r"/upload\?.*name=first"), lambda route: route.fulfill(body='{"path": ')
    )
    opened(tab)
    drop(tab.page.locator("#file-tree"), "first.txt", "second.txt")
    expect(row(tab, "second.txt")).to_be_visible()
    expect(alert(tab)).to_have_text(LOST)
    assert (folder / "second.txt").read_text() == "dropped"


# Renaming


def test_why_a_name_was_refused_stays_said_while_the_folder_changes(tab, folder):
    opened(tab)
    field = rename(tab, "README.md", "a/b")
    tab.page.keyboard.press("Enter")
    expect(field).to_have_accessible_description("A name cannot have a / in it.")
    with looked(tab):
        (folder / "by-the-agent.txt").write_text("new")
    tab.page.evaluate("() => fetch(location.href).then((answer) => answer.text())")
    expect(field).to_have_accessible_description("A name cannot have a / in it.")


def test_a_file_that_came_while_another_was_renamed_is_shown_then(tab, folder):
    opened(tab)
    field = rename(tab, "README.md", "half typ")
    with looked(tab):
        (folder / "by-the-agent.txt").write_text("new")
    tab.page.evaluate("() => fetch(location.href).then((answer) => answer.text())")
    expect(field).to_have_value("half typ")
    tab.page.keyboard.press("Escape")
    expect(row(tab, "by-the-agent.txt")).to_be_visible()


# What the buttons are about


def test_a_folder_that_goes_takes_its_buttons_with_it(tab, folder):
    tab.expects("status of 404")  # a look at what it holds may come before the one that misses it
    opened(tab)
    row(tab, "src").click()
    expect(tab.button("Delete src")).to_be_visible()
    (folder / "src").rename(folder / "elsewhere")
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
    find.press_sequentially("api")
    find.press("Enter")
    wait_for(tab, lambda: held)
    for route in held:
        route.continue_()
    expect(heading(tab, "API reference")).to_be_visible()
    expect(tab.button("Delete docs")).to_be_hidden()


@pytest.fixture
def read_while_searching(tab):
    row(opened(tab), "README.md").click()
    expect(heading(tab, "Read me")).to_be_visible()
    tab.page.get_by_role("searchbox", name="Find a file").fill("flow")
    expect(row(tab, "docs/img/flow.png")).to_be_visible()
    return tab


def test_the_open_file_is_deleted_where_it_has_no_row(read_while_searching, folder):
    tab = read_while_searching
    tab.button("Delete README.md").click()
    expect(heading(tab, "Read me")).to_have_count(0)
    assert not (folder / "README.md").exists()
    tab.button("Undo").click()
    expect(heading(tab, "Read me")).to_be_visible()


def test_the_open_file_is_renamed_where_it_has_no_row(read_while_searching, folder):
    tab = read_while_searching
    tab.button("Rename README.md").click()
    field = view(tab).get_by_role("textbox", name="New name of README.md")
    expect(field).to_be_focused()
    tab.page.keyboard.press("Escape")
    expect(tab.button("Rename README.md")).to_be_focused()
    tab.page.keyboard.press("Enter")
    tab.page.keyboard.type("ABOUT")
    tab.page.keyboard.press("Enter")
    expect(heading(tab, "ABOUT.md")).to_be_visible()
    expect(view(tab)).to_be_focused()
    assert (folder / "ABOUT.md").exists() and not (folder / "README.md").exists()


def test_where_the_open_file_has_all_the_room_a_refusal_stands_above_it(tab, folder):
    tab.expects("status of 422")
    row(opened(tab), "README.md").click()
    expect(heading(tab, "Read me")).to_be_visible()
    tab.page.set_viewport_size(PHONE)
    refusal = {"status": 422, "content_type": "text/plain", "body": "It is in use."}
    tab.page.route(re.compile("/workspace/delete"), lambda route: route.fulfill(**refusal))
    tab.button("Delete README.md").click()
    expect(alert(tab)).to_have_text("It is in use.")
    expect(alert(tab)).to_be_in_viewport()
    expect(row(tab, "README.md")).to_be_hidden()
    assert alert(tab).bounding_box()["y"] < view(tab).bounding_box()["y"]


# The drawer, and the button


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
    expect(tab.page.get_by_role("tree")).to_be_hidden()


def test_a_script_that_does_not_come_is_said_and_asked_for_again(tab):
    tab.expects(r"workspace\.js", "ERR_FAILED")
    script = re.compile(r"/workspace\.js")
    tab.page.route(script, lambda route: route.abort())
    tab.button("Files").click()
    expect(tab.alerts.first).to_have_text(LOST)
    tab.page.unroute(script)
    opened(tab)


def test_a_panel_that_was_refused_is_asked_for_again(site, tab):
    file = site.agent_file("scripted")
    aside = file.with_name("aside.json")
    file.rename(aside)
    tab.button("Files").click()
    expect(tab.page.locator(".files-refusal")).to_be_visible()
    aside.rename(file)
    tab.button("Close files").click()
    opened(tab)
    row(tab, "README.md").click()
    expect(heading(tab, "Read me")).to_be_visible()


# Looking at what has changed


def test_what_a_slow_server_does_not_answer_is_not_asked_again(clock, tab):
    opened(tab)
    held = tab.hold(STAMPS)
    with tab.page.expect_request(STAMPS):
        pass
    for _ in range(3):
        clock.fast_forward(A_FEW_POLLS)
    tab.has_sent_all()
    assert len(held) == 1
    held[0].continue_()


def test_marks_that_changed_while_searching_are_in_the_tree_that_comes_back(tab):
    opened(tab)
    tab.page.get_by_role("searchbox", name="Find a file").fill("flow")
    expect(row(tab, "docs/img/flow.png")).to_be_visible()

    def mark(route):
        route.fulfill(json=route.fetch().json() | {"marks": "another"})

    with tab.page.expect_response(STAMPS):
        tab.page.route(STAMPS, mark)
    with looked(tab):
        tab.page.get_by_role("searchbox", name="Find a file").press("Escape")
    tab.page.unroute(STAMPS)
    expect(row(tab, "README.md")).to_be_visible()


def test_news_of_each_of_many_unfolded_folders_is_shown(tab, folder):
    for number in range(70):
        (folder / f"many-{number:02}").mkdir()
    opened(tab)
    expect(row(tab, "many-69")).to_be_visible()
    tab.page.locator("[data-path^='many-']").evaluate_all("(all) => all.forEach((e) => e.click())")
    expect(tab.page.locator("[data-path^='many-'][aria-expanded=true]")).to_have_count(70)
    for number in (0, 69):
        (folder / f"many-{number:02}" / f"{number}.txt").write_text("new")
        expect(row(tab, f"{number}.txt")).to_be_visible()
