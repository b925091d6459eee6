"""The agent's files beside the conversation: by mouse and by keyboard."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE
from tests.images import PETROL, RED, png

API = "# API reference\n\nReturns `202`.\n\n| Field | Type |\n| --- | --- |\n| url | string |\n"


STAMPS = re.compile(r"/workspace/refresh\?")
BETWEEN_LOOKS = 2_500  # ms


@pytest.fixture
def folder(site):
    folder = site.file("")
    (folder / "docs" / "img").mkdir(parents=True)
    (folder / "docs" / "api.md").write_text(API)
    (folder / "docs" / "img" / "flow.png").write_bytes(png(300, 200, (RED, PETROL)))
    (folder / "src").mkdir()
    (folder / "src" / "app.py").write_text("def act():\n    return 1\n")
    (folder / "README.md").write_text("# Read me\n")
    return folder


@pytest.fixture
def tab(site, folder, open_tab):
    return open_tab().chat(site.conversation("scripted"))


def opened(tab):
    with tab.page.expect_response(STAMPS):
        tab.button("Files").click()
    expect(row(tab, "docs")).to_be_visible()
    return tab


def looks(tab):
    """Look for what has changed, as the page does every few seconds by itself."""
    with tab.page.expect_response(STAMPS):
        tab.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def row(tab, name):
    words = tab.page.get_by_text(name, exact=True)
    return tab.page.locator("#file-tree .tree-row:visible").filter(has=words)


def view(tab):
    return tab.page.get_by_role("region", name="Open file")


def focused(tab):
    return tab.page.locator("#file-tree :focus")


def undo(tab, name):
    """Until its answer is on the page; a look at what has changed may show the file before that."""
    tab.button("Undo").click()
    expect(row(tab, name)).to_be_focused()


def let_go(tab, route):
    """Until the page has seen the answer."""
    with tab.page.expect_response(route.request.url):
        route.continue_()
    tab.page.evaluate("() => fetch(location.href).then((answer) => answer.text())")


def drop(place, *names):
    place.evaluate(
        """(element, names) => {
          const dataTransfer = new DataTransfer();
          for (const name of names) dataTransfer.items.add(new File(["dropped"], name));
          for (const type of ["dragenter", "dragover", "drop"]) {
            element.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
          }
        }""",
        list(names),
    )


def test_the_tree_is_walked_by_the_keyboard_alone(tab):
    tab.message.focus()
    press = tab.page.keyboard.press
    press("Control+Shift+f")
    expect(row(tab, "docs")).to_be_focused()
    press("ArrowRight")
    expect(row(tab, "api.md")).to_be_visible()
    press("ArrowRight")
    expect(row(tab, "img")).to_be_focused()
    press("ArrowRight")
    expect(row(tab, "flow.png")).to_be_visible()
    press("End")
    expect(row(tab, "README.md")).to_be_focused()
    press("Home")
    expect(row(tab, "docs")).to_be_focused()
    for _ in range(3):
        press("ArrowDown")
    expect(row(tab, "api.md")).to_be_focused()
    press("Enter")
    expect(view(tab).get_by_role("heading", name="API reference")).to_be_visible()
    expect(row(tab, "api.md")).to_have_attribute("aria-current", "true")
    press("ArrowLeft")
    expect(row(tab, "docs")).to_be_focused()
    press("ArrowLeft")
    expect(row(tab, "api.md")).to_have_count(0)
    expect(tab.page.locator("#file-tree [tabindex='0']")).to_have_count(1)
    press("Escape")
    expect(tab.page.locator("#file-tree")).to_be_hidden()
    expect(tab.message).to_be_focused()


def test_a_name_that_is_taken_asks_and_both_are_kept(tab, folder):
    tab.expects("status of 409")
    opened(tab)
    row(tab, "docs").click()
    expect(row(tab, "api.md")).to_be_visible()
    sent = {"name": "api.md", "mimeType": "text/plain", "buffer": b"# Another"}
    with tab.page.expect_file_chooser() as chooser:
        tab.button("Upload").click()
    chooser.value.set_files([sent, {**sent, "name": "new.md"}])
    expect(tab.page.get_by_text("api.md is there already.")).to_be_visible()
    expect(tab.button("Keep both")).to_be_focused()
    tab.button("Keep both").click()
    expect(row(tab, "api-2.md")).to_be_focused()
    expect(row(tab, "new.md")).to_be_visible()
    assert (folder / "docs" / "api.md").read_text() == API
    assert (folder / "docs" / "api-2.md").read_text() == "# Another"


def test_an_upload_lands_in_the_folder_that_was_chosen_and_in_the_first_where_none_was(tab, folder):
    opened(tab)
    expect(row(tab, "docs")).to_be_focused()
    sent = {"name": "new.md", "mimeType": "text/plain", "buffer": b"# New"}
    for chosen, named, path in (("", "Scripted", "new.md"), ("src", "src", "src/new.md")):
        if chosen:
            row(tab, chosen).click()
        expect(tab.button("Upload")).to_have_attribute("title", f"Upload into {named}")
        with tab.page.expect_file_chooser() as chooser:
            tab.button("Upload").click()
        chooser.value.set_files([sent])
        expect(tab.page.get_by_text(f"Uploaded {path}", exact=True)).to_be_visible()
        assert (folder / path).exists()
    assert not (folder / "docs" / "new.md").exists()


def test_a_long_name_makes_the_rename_dialog_no_wider_than_a_phone(site, folder, open_tab):
    (folder / f"{'long-' * 20}.md").write_text("text")
    tab = open_tab(viewport=PHONE).chat(site.conversation("scripted"))
    tab.page.keyboard.press("Control+Shift+f")
    row(tab, f"{'long-' * 20}.md").focus()
    tab.page.keyboard.press("F2")
    dialog = tab.page.get_by_role("dialog", name="Rename")
    for name in ("Cancel", "Save"):
        expect(dialog.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
    assert dialog.evaluate("dialog => dialog.scrollWidth <= dialog.clientWidth")


def test_what_was_replaced_comes_back_by_undo_and_so_does_what_replaced_it(tab, folder):
    tab.expects("status of 409")
    row(opened(tab), "README.md").click()
    drop(tab.page.locator("#file-tree"), "README.md")
    tab.button("Replace").click()
    for was, now in (("dropped", "Read me"), ("Read me", "dropped")):
        expect(view(tab)).to_contain_text(was)
        expect(tab.page.get_by_text("Replaced README.md", exact=True)).to_be_visible()
        tab.message.focus()
        undo(tab, "README.md")
        expect(view(tab)).to_contain_text(now)
    assert (folder / "README.md").read_text() == "dropped"
    assert sorted(each.name for each in folder.iterdir()) == ["README.md", "docs", "src"]


def test_what_is_dropped_on_a_folder_lands_in_it_and_not_in_the_message_box(tab, folder):
    opened(tab)
    drop(row(tab, "src"), "a.txt")
    expect(row(tab, "a.txt")).to_be_visible()
    assert (folder / "src" / "a.txt").read_text() == "dropped"
    expect(tab.page.locator("#attachments [data-attachment]")).to_have_count(0)
    expect(tab.page.locator("#drop-zone")).to_be_hidden()


def test_what_is_deleted_comes_back_by_undo(tab, folder):
    opened(tab)
    row(tab, "docs").focus()
    tab.page.keyboard.press("Delete")
    expect(row(tab, "docs")).to_have_count(0)
    expect(row(tab, "src")).to_be_focused()
    expect(tab.page.get_by_text("Deleted docs", exact=True)).to_be_visible()
    assert not (folder / "docs").exists()
    undo(tab, "docs")
    assert (folder / "docs" / "api.md").read_text() == API
