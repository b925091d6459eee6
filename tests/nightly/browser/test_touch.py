"""With a finger: everything that is pressed is large enough, and subtasks are dragged."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE
from tests.tab import LIVE

FINGER = {"viewport": PHONE, "has_touch": True, "is_mobile": True}
SMALL = """(least) => [...document.querySelectorAll("button, select, summary, input, textarea, a[class]")]
  .filter((e) => e.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
  .filter((e) => !e.matches("p *, dd *, .prose *, .link, [type=hidden], [tabindex='-1']"))
  .map((e) => [e, (e.matches("label *") ? e.closest("label") : e).getBoundingClientRect()])
  .filter(([, box]) => box.width > 1 && Math.min(box.width, box.height) < least)
  .map(([e, box]) => `${e.outerHTML.slice(0, 90)} ${Math.round(box.width)}x${Math.round(box.height)}`)"""


@pytest.mark.parametrize("page", ["appearance", "account", "people", "models", "tools"])
def test_what_is_pressed_in_the_settings_is_large_enough(open_tab, page):
    tab = open_tab(f"/settings/{page}/", **FINGER)
    expect(tab.page.get_by_role("main")).to_be_visible()
    assert tab.page.evaluate(SMALL, 24) == []
    buttons = [each for each in tab.page.evaluate(SMALL, 40) if each.startswith("<button")]
    assert buttons == []


def test_what_is_pressed_in_a_conversation_is_large_enough(site, open_tab):
    tab = open_tab(**FINGER).chat(site.scripted("quick"))
    tab.sees_connection(LIVE)
    assert tab.page.evaluate(SMALL, 24) == []
    tab.drawer_toggle.click()
    expect(tab.button("Start plan")).to_be_visible()
    assert tab.page.evaluate(SMALL, 24) == []
    tab.button("Add a check to subtask 1").tap()
    form = tab.editor("Add a check to subtask 1")
    for kind in ("File", "Command", "HTTP", "Tool", "Review"):
        form.locator("fieldset").get_by_text(kind, exact=True).tap()
        assert tab.page.evaluate(SMALL, 24) == [], kind


def test_a_second_check_is_added_by_finger(site, open_tab):
    notes = {"kind": "file", "path": "notes.md", "exists": True}
    chat = site.proposed({"name": "Read", "checks": [notes]})
    tab = open_tab(**FINGER).chat(chat)
    tab.sees_connection(LIVE)
    tab.drawer_toggle.click()
    tab.button("Add a check to subtask 1").tap()
    form = tab.editor("Add a check to subtask 1")
    path = form.get_by_role("textbox", name="Path")
    assert path.bounding_box()["width"] > 250
    path.fill("more.md")
    form.get_by_role("button", name="Save").tap()
    expect(tab.button("Edit check 2 of subtask 1: file more.md exists")).to_be_focused()
    assert [each["path"] for each in site.plan(chat)["subtasks"][0]["checks"]] == [
        "notes.md",
        "more.md",
    ]


def test_what_is_pressed_among_the_files_is_large_enough(site, open_tab):
    file = site.file("a.md")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("# A page\n")
    tab = open_tab(**FINGER).chat(site.conversation())
    tab.page.get_by_label("Conversation menu").tap()
    tab.page.locator("#menu-files").tap()
    row = tab.page.get_by_role("link", name="a.md", exact=True)
    expect(row).to_be_visible()
    assert tab.page.evaluate(SMALL, 24) == []
    assert row.bounding_box()["height"] >= 40
    row.tap()
    expect(tab.page.get_by_role("heading", name="A page")).to_be_visible()
    assert tab.page.evaluate(SMALL, 24) == []
    tab.button("Delete a.md").tap()
    expect(tab.button("Undo")).to_be_visible()
    assert tab.page.evaluate(SMALL, 24) == []
    tab.button("Undo").tap()
    expect(tab.page.get_by_role("heading", name="A page")).to_be_visible()
    expect(tab.page.get_by_role("region", name="Open file")).to_be_focused()


def test_a_folder_is_renamed_and_deleted_by_finger(site, open_tab):
    folder = site.file("notes")
    folder.mkdir(parents=True, exist_ok=True)
    tab = open_tab(**FINGER).chat(site.conversation())
    tab.page.get_by_label("Conversation menu").tap()
    tab.page.locator("#menu-files").tap()
    row = tab.page.locator("#file-tree summary", has_text="notes")
    row.tap()
    tab.button("Rename notes").tap()
    assert tab.page.evaluate(SMALL, 24) == []
    field = tab.page.get_by_role("textbox", name="New name of notes")
    assert field.bounding_box()["width"] > 200
    field.fill("papers")
    tab.page.keyboard.press("Enter")
    renamed = tab.page.locator("#file-tree summary", has_text="papers")
    expect(renamed).to_be_visible()
    expect(tab.button("Rename notes")).to_be_hidden()
    renamed.tap()
    tab.button("Delete papers").tap()
    expect(renamed).to_have_count(0)
    tab.button("Undo").tap()
    expect(renamed).to_be_visible()


def touch(client, type, x=None, y=None):
    points = [] if x is None else [{"x": x, "y": y}]
    client.send("Input.dispatchTouchEvent", {"type": type, "touchPoints": points})


def middle(locator):
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_subtask_is_dragged_with_a_finger(site, open_tab):
    tab = open_tab(**FINGER).chat(site.scripted("quick"))
    tab.sees_connection(LIVE)
    tab.drawer_toggle.click()
    expect(tab.rows).to_have_count(3)
    tab.button("Edit subtask 1").tap()  # what moves it comes with the first use
    expect(tab.editor("Edit subtask 1")).to_be_visible()
    tab.page.keyboard.press("Escape")
    expect(tab.editor("Edit subtask 1")).to_be_hidden()
    tab.row(1).locator(".grip").click(trial=True)  # when nothing moves any more
    first, *others = tab.names()
    client = tab.page.context.new_cdp_session(tab.page)
    x, y = middle(tab.row(1).locator(".grip"))
    _, to = middle(tab.row(3))
    touch(client, "touchStart", x, y)
    for step in range(1, 11):
        touch(client, "touchMove", x, y + (to - y) * step / 10)
    touch(client, "touchEnd")
    tab.sees_plan(version=2)
    tab.sees_rows(*others, first)
