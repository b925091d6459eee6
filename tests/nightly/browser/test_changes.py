"""What was changed: many files, parts that were undone, what does not come; on a phone."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import PHONE
from tests.browser.test_changes import FAULT, arrives, changed, prepared


def test_of_many_files_the_rest_comes_when_it_is_asked_for(site, open_tab):
    many = "mkdir many; for n in $(seq 250); do echo $n > many/$n.txt; done"
    chat, files = prepared(site, work=many)
    tab = open_tab(f"/c/{chat}/")
    page = tab.page
    page.get_by_role("link", name="Changes of subtask 1: 250 files").click()
    expect(page.get_by_text("Files 1 to 100 of 250").first).to_be_visible()
    expect(page.locator("details.changed")).to_have_count(100)
    page.get_by_role("link", name="More files").last.click()
    expect(page.get_by_text("Files 101 to 200 of 250").first).to_be_visible()
    page.get_by_role("button", name="Undo changes").click()
    dialog = page.get_by_role("dialog", name="Undo changes of subtask 1?")
    dialog.get_by_role("button", name="and 238 more").click()
    rest = dialog.get_by_role("button", name="and 50 more")
    expect(dialog.locator(".restore-row:visible")).to_have_count(200)
    rest.click()
    expect(dialog.locator(".restore-row:visible")).to_have_count(250)
    expect(rest).to_have_count(0)
    dialog.get_by_role("button", name="Undo changes").click()
    expect(page.locator("#undone-toast")).to_contain_text("250 files removed.")
    assert not (files / "many").exists()


def test_the_whole_plan_leads_back_to_the_subtask_one_came_from(site, open_tab):
    chat, _ = prepared(site)
    tab = open_tab(f"/c/{chat}/")
    page = tab.page
    page.get_by_role("link", name=re.compile("Changes of subtask 1")).click()
    scope = page.get_by_role("navigation", name="Changed files").get_by_role("group")
    scope.get_by_role("link", name="Whole plan").click()
    expect(page.get_by_role("heading", name="Changes of the plan", exact=True)).to_be_visible()
    scope.get_by_role("link", name="Subtask 1").click()
    expect(page.get_by_role("heading", name="Changes of subtask 1", exact=True)).to_be_visible()
    scope.get_by_role("link", name="Whole plan").click()
    arrives(page, "Changes of the plan")
    page.keyboard.press("Escape")
    expect(page.get_by_role("textbox", name="Message")).to_be_visible()
    expect(tab.row(1)).to_be_focused()


def test_a_part_that_was_undone_is_said_and_its_notice_stands_beside_its_icon(site, open_tab):
    chat, files = prepared(site)
    (files / "docs" / "api.md").write_text("hers\n")
    tab = open_tab(changed(chat), viewport=PHONE)
    tab.page.get_by_role("button", name="Undo changes").click()
    dialog = tab.page.get_by_role("dialog", name="Undo changes of the whole plan?")
    dialog.get_by_role("button", name="Undo changes").click()
    expect(tab.page.locator("#undone-toast")).to_contain_text("2 files restored. 1 file removed.")
    notice = tab.page.locator(".undone-notice")
    icon, words = notice.locator("svg").first, notice.locator("svg + span")
    tops = [each.bounding_box()["y"] for each in (icon, words)]
    assert abs(tops[0] - tops[1]) < 24, "the icon stands beside its words"
    tab.drawer_toggle.click()
    expect(tab.plan).to_contain_text("4 files, +5 −3, partly undone by you")
    scroll = tab.page.locator("#plan-scroll")
    assert scroll.evaluate("(each) => each.scrollWidth <= each.clientWidth"), "nothing stands out"


def test_beside_changes_the_drawer_shows_at_once_what_a_button_has_done(site, open_tab, clock):
    chat, _ = prepared(site, run="next")
    tab = open_tab(changed(chat))
    clock.pause_at("2030-01-01")  # nothing comes by the look every five seconds
    before = tab.plan.get_attribute("data-seq")
    tab.plan.get_by_role("button", name="Cancel plan").first.click()
    tab.page.get_by_role("dialog").get_by_role("button", name="Cancel plan").click()
    expect(tab.plan).not_to_have_attribute("data-seq", before)
    expect(tab.plan).to_have_attribute("data-state", "abandoned")


def test_a_file_that_does_not_come_says_so_and_is_asked_for_again(site, open_tab):
    chat, _ = prepared(site)
    tab = open_tab(changed(chat))
    page = tab.page
    tab.expects("500", "Failed to fetch", "ERR_FAILED")
    page.route("**/changed/file**", lambda route: route.fulfill(status=500, body=""))
    page.evaluate("() => document.getElementById('file-1').removeAttribute('open')")
    address = changed(chat).replace("?", "/file?") + "&path=docs/api.md&origin=own&id=file-1"
    page.evaluate("a => (document.getElementById('file-1').dataset.fetches = a)", address)
    file = page.locator("#file-1")
    file.locator("summary").first.click()
    expect(file.get_by_role("alert")).to_contain_text("Something broke inside Planside")
    page.unroute("**/changed/file**")
    file.locator("summary").first.click()
    file.locator("summary").first.click()
    expect(file.get_by_role("alert")).to_have_count(0)
    expect(file.locator("ins", has_text="202 Accepted")).to_be_visible()
    page.get_by_role("link", name="flow.png").first.click()
    expect(page.get_by_role("link", name="flow.png").first).to_have_attribute(
        "aria-current", "true"
    )


def test_on_a_phone_the_files_fold_and_the_preview_comes_from_below(site, open_tab):
    chat, _ = prepared(site)
    page = open_tab(changed(chat) + "&subtask=s1", viewport=PHONE).page
    summary = page.locator(".changes-files-narrow > summary")
    summary.click()
    page.locator(".changes-files-narrow").get_by_role("link", name="flow.png").click()
    expect(page.locator("#file-3")).to_be_in_viewport()
    head = page.get_by_role("heading", name="Changes of subtask 1", exact=True)
    assert head.evaluate("each => each.scrollWidth <= each.clientWidth"), "its name is whole"
    page.get_by_role("button", name="Undo changes").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_plan_beside_its_changes_can_be_changed(site, open_tab, clock):
    chat, _ = prepared(site, run="next")
    tab = open_tab(changed(chat))
    clock.pause_at("2030-01-01")  # nothing comes by the look every five seconds
    field = tab.edit(2, "Check it twice")
    expect(tab.page.get_by_text(FAULT)).to_be_hidden()
    field.press("Enter")
    expect(tab.row(2)).to_contain_text("Check it twice")
    tab.button("Add a subtask").click()
    tab.editor("Add a subtask").get_by_role("textbox").first.fill("Publish it")
    tab.editor("Add a subtask").get_by_role("button", name="Save").click()
    expect(tab.rows).to_have_count(4)
    tab.row(4).locator(".step-row").focus()
    tab.page.keyboard.press("Alt+ArrowUp")
    expect(tab.page.locator("#status")).to_have_text("Moved to 3 of 4")
    expect(tab.row(3)).to_contain_text("Publish it")
    tab.button("Ask for changes").click()
    expect(tab.message).to_be_visible()
