"""The agent's files: what is shown of each, links between them, and what is found."""

import os
import re
import shutil

from playwright.sync_api import expect

from tests.browser.conftest import PHONE
from tests.browser.test_workspace import (
    API,
    BETWEEN_LOOKS,
    STAMPS,
    folder,
    let_go,
    looks,
    opened,
    row,
    tab,
    undo,
    view,
)
from tests.browser.test_workspace_meanwhile import alert, heading
from tests.tab import wait_for

__all__ = ["folder", "tab"]


def test_page_source_picture_and_code_are_shown(tab):
    opened(tab)
    row(tab, "docs").click()
    row(tab, "api.md").click()
    expect(view(tab).get_by_role("columnheader", name="Field")).to_be_visible()
    view(tab).get_by_text("Source", exact=True).click()
    expect(view(tab).locator("pre")).to_contain_text("# API reference")
    row(tab, "img").click()
    row(tab, "flow.png").click()
    picture = view(tab).get_by_role("img", name="docs/img/flow.png")
    expect(picture).to_be_visible()
    expect(picture).to_have_js_property("naturalWidth", 300)
    row(tab, "src").click()
    row(tab, "app.py").click()
    expect(view(tab).locator("pre .k").first).to_have_text("def")


def test_code_and_tables_of_a_long_page_keep_their_height(tab, folder):
    code = "```sh\n" + "echo one\n" * 4 + "```\n"
    (folder / "README.md").write_text(f"{code}\n{API}\n" + "Some words.\n\n" * 60)
    row(opened(tab), "README.md").click()
    page = view(tab).get_by_role("region", name="README.md")
    expect(page.locator("pre")).to_be_visible()
    cut_off = """(page) => [...page.children].filter((e) => e.scrollHeight > e.clientHeight + 2)
      .map((e) => e.outerHTML.slice(0, 80))"""
    assert page.evaluate(cut_off) == []


def test_a_name_that_would_lead_elsewhere_is_refused_where_it_is_typed(tab, folder):
    tab.expects("422")
    opened(tab)
    row(tab, "README.md").focus()
    tab.page.keyboard.press("F2")
    field = tab.page.get_by_role("textbox", name="New name of README.md")
    field.fill("../../x/y")
    tab.page.keyboard.press("Enter")
    expect(field).to_be_focused()
    expect(field).to_have_accessible_description("A name cannot have a / in it.")
    field.fill("x.md")
    tab.page.keyboard.press("Enter")
    expect(row(tab, "x.md")).to_be_focused()
    expect(tab.page.get_by_text("A name cannot have a / in it.")).to_have_count(0)


def test_what_has_no_name_in_utf_8_is_shown_and_says_why_it_cannot_be_opened(tab, folder):
    (folder / os.fsdecode(b"odd\xff")).touch()
    odd = row(opened(tab), "odd?")
    odd.dispatch_event("click")  # Playwright presses nothing that is disabled
    expect(alert(tab)).to_have_text("A page cannot write its name, so it cannot be opened here.")
    row(tab, "README.md").click()
    expect(alert(tab)).to_have_text("")


def test_an_open_file_is_shown_again_once_it_is_back(tab, folder):
    tab.expects("status of 404")  # a look at a folder may come after that has gone
    opened(tab)
    row(tab, "docs").click()
    row(tab, "api.md").click()
    heading = view(tab).get_by_role("heading", name="API reference")
    for name in ("api.md", "docs"):
        expect(heading).to_be_visible()
        row(tab, name).focus()
        tab.page.keyboard.press("Delete")
        expect(heading).to_have_count(0)
        undo(tab, name)
    expect(heading).to_be_visible()
    (folder / "docs" / "api.md").rename(folder / "elsewhere.md")
    expect(view(tab)).to_contain_text("docs/api.md is gone.")
    (folder / "elsewhere.md").rename(folder / "docs" / "api.md")
    expect(heading).to_be_visible()


def test_a_page_s_links_lead_to_other_files_and_to_places_of_a_page(tab, folder):
    tab.expects("404")
    (folder / "README.md").write_text(
        "# Read me\n\n[reference](docs/api.md#api-reference) [there](#far-below) [none](no.md)"
        " [pictures](docs/img) [out](../agent.json)\n\n" + "Words.\n\n" * 60 + "## Far below\n"
    )
    row(opened(tab), "README.md").click()
    link = view(tab).get_by_role("link", exact=True, name="there")
    link.click()
    expect(view(tab).get_by_role("heading", name="Far below")).to_be_in_viewport()
    expect(view(tab).get_by_role("heading", name="Far below")).to_be_focused()
    assert "#" not in tab.page.url
    expect(view(tab).get_by_role("link", name="out")).to_have_count(0)
    view(tab).get_by_role("link", name="none").click()
    expect(alert(tab)).to_contain_text("no.md cannot be used")
    view(tab).get_by_role("link", name="pictures").click()
    expect(row(tab, "img")).to_be_focused()
    view(tab).get_by_role("link", name="reference").press("Enter")
    expect(view(tab).get_by_role("heading", name="API reference")).to_be_focused()
    expect(row(tab, "api.md")).to_have_attribute("aria-current", "true")


def test_a_folder_that_is_drawn_anew_twice_at_once_has_its_rows_once(tab):
    row(opened(tab), "docs").click()
    expect(row(tab, "api.md")).to_be_visible()
    held = []
    tab.page.route(STAMPS, lambda route: held.append(route) if len(held) < 2 else route.continue_())
    tab.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    wait_for(tab, lambda: held)
    row(tab, "img").focus()
    tab.page.keyboard.press("Delete")
    wait_for(tab, lambda: len(held) == 2)
    for request in held:
        let_go(tab, request)
    expect(row(tab, "img")).to_have_count(0)
    expect(row(tab, "api.md")).to_have_count(1)


def test_a_file_is_found_wherever_it_is(tab):
    opened(tab)
    tab.page.get_by_role("searchbox", name="Find a file").fill("flow")
    expect(row(tab, "docs/img/flow.png")).to_be_visible()
    tab.page.keyboard.press("ArrowDown")
    expect(row(tab, "docs/img/flow.png")).to_be_focused()
    tab.page.get_by_role("searchbox", name="Find a file").fill("nothing like it")
    expect(tab.page.get_by_text("No file has these words in its path.")).to_be_visible()
    tab.page.keyboard.press("Escape")
    expect(row(tab, "docs")).to_be_visible()


def test_its_script_and_style_come_when_it_is_first_opened(tab):
    def asked():
        return tab.page.evaluate(
            "() => performance.getEntriesByType('resource').map((e) => e.name)"
        )

    assert not any(re.search(r"/workspace\.\w+\.(js|css)$", name) for name in asked())
    opened(tab)
    wait_for(
        tab,
        lambda: sum(bool(re.search(r"/workspace\.\w+\.(js|css)$", name)) for name in asked()) == 2,
    )


def test_an_empty_folder_says_what_to_do(folder, tab):
    shutil.rmtree(folder)
    folder.mkdir()
    tab.button("Files").click()
    words = tab.page.get_by_text("No files yet. Drop some here, or ask for some.")
    expect(words).to_be_visible()
    (folder / "first.txt").write_text("1")
    expect(row(tab, "first.txt")).to_be_visible()
    expect(words).to_be_hidden()


def test_on_a_phone_it_is_a_sheet_with_the_tree_then_the_file(site, folder, open_tab):
    tab = open_tab(viewport=PHONE).chat(site.conversation("scripted"))
    expect(tab.button("Files")).to_be_hidden()
    tab.page.get_by_label("Conversation menu").click()
    tab.page.locator("#menu-files").click()
    expect(row(tab, "docs")).to_be_focused()
    row(tab, "README.md").click()
    expect(view(tab).get_by_role("heading", name="Read me")).to_be_visible()
    expect(row(tab, "docs")).to_be_hidden()
    tab.page.keyboard.press("Escape")
    expect(row(tab, "README.md")).to_be_focused()
    tab.page.keyboard.press("Escape")
    expect(tab.page.locator("#file-tree")).to_be_hidden()
    expect(tab.page.get_by_label("Conversation menu")).to_be_focused()


def test_where_the_open_file_has_all_the_room_a_refusal_stands_above_it(tab, folder):
    tab.expects("status of 422")
    row(opened(tab), "README.md").click()
    expect(heading(tab, "Read me")).to_be_visible()
    tab.page.set_viewport_size(PHONE)
    said = '<hx-partial hx-target="#files-alert" hx-swap="textContent">It is in use.</hx-partial>'
    refusal = {"status": 422, "content_type": "text/html", "body": said}
    tab.page.route(re.compile("/workspace/delete"), lambda route: route.fulfill(**refusal))
    tab.button("Delete README.md").click()
    expect(alert(tab)).to_have_text("It is in use.")
    expect(alert(tab)).to_be_in_viewport()
    expect(row(tab, "README.md")).to_be_hidden()
    assert alert(tab).bounding_box()["y"] < view(tab).bounding_box()["y"]


def test_news_of_each_of_many_unfolded_folders_is_shown(tab, folder):
    for number in range(70):
        (folder / f"many-{number:02}").mkdir()
    opened(tab)
    expect(row(tab, "many-69")).to_be_visible()
    tab.page.locator("[data-path^='many-']").evaluate_all("(all) => all.forEach((e) => e.click())")
    expect(tab.page.locator("[open] > [data-path^='many-']")).to_have_count(70)
    tab.has_all_answers()
    for number in (0, 69):
        (folder / f"many-{number:02}" / f"{number}.txt").write_text("new")
        looks(tab)
        expect(row(tab, f"{number}.txt")).to_be_visible()


def test_it_stands_in_place_of_the_plan_and_each_button_swaps(site, folder, open_tab):
    tab = opened(open_tab().chat(site.scripted("quick")))
    expect(tab.plan).to_be_hidden()
    expect(tab.button("Files")).to_have_attribute("aria-expanded", "true")
    tab.page.locator("[data-toggle-drawer]").click()
    expect(tab.plan).to_be_visible()
    expect(tab.page.locator("#file-tree")).to_be_hidden()
    tab.button("Files").click()
    expect(tab.plan).to_be_hidden()
    tab.button("Close files").click()
    expect(tab.plan).to_be_visible()
    expect(tab.button("Files")).to_be_focused()


def test_a_file_is_renamed_in_a_small_form(tab, folder):
    tab.expects("409")
    opened(tab)
    row(tab, "README.md").click()
    expect(view(tab).get_by_role("heading", name="Read me")).to_be_visible()
    row(tab, "README.md").press("F2")
    field = tab.page.get_by_role("textbox", name="New name of README.md")
    assert (
        field.evaluate("each => each.value.slice(each.selectionStart, each.selectionEnd)")
        == "README"
    )
    tab.page.keyboard.type("ABOUT")
    tab.page.keyboard.press("Escape")
    expect(row(tab, "README.md")).to_be_focused()
    tab.page.keyboard.press("F2")
    tab.page.keyboard.type("ABOUT")
    tab.page.keyboard.press("Enter")
    expect(row(tab, "ABOUT.md")).to_be_focused()
    expect(view(tab).get_by_role("heading", name="ABOUT.md")).to_be_visible()
    assert (folder / "ABOUT.md").exists() and not (folder / "README.md").exists()
    tab.page.keyboard.press("F2")
    tab.page.keyboard.press("Control+a")
    tab.page.keyboard.type("docs")
    tab.page.keyboard.press("Enter")
    expect(tab.page.get_by_text("docs is there already.")).to_be_visible()


def test_what_changes_meanwhile_is_shown_by_itself(tab, folder, clock):
    opened(tab)
    row(tab, "README.md").click()
    expect(view(tab).get_by_role("heading", name="Read me")).to_be_visible()
    (folder / "README.md").write_text("# Written anew\n")
    clock.fast_forward(BETWEEN_LOOKS)
    expect(view(tab).get_by_role("heading", name="Written anew")).to_be_visible()
    expect(view(tab)).to_contain_text("Changed just now")
    (folder / "by-the-agent.txt").write_text("new")
    clock.fast_forward(BETWEEN_LOOKS)
    expect(row(tab, "by-the-agent.txt")).to_be_visible()
    (folder / "README.md").unlink()
    clock.fast_forward(BETWEEN_LOOKS)
    expect(view(tab)).to_contain_text("README.md is gone.")
