"""What was changed: many files, parts that were undone, and what does not come."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import DESK, PHONE
from tests.browser.test_changes import arrives, model, prepared, stopped
from tests.patience import at_most

__all__ = ["model"]


def test_of_many_files_the_rest_comes_when_it_is_asked_for(product, open_tab):
    many = "mkdir many; for n in $(seq 250); do echo $n > many/$n.txt; done"
    chat, files = prepared(product, work=many)
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
    expect(page.locator("#undone-toast")).to_contain_text("250 files restored.")
    assert not (files / "many").exists()


def test_the_whole_plan_leads_back_to_the_subtask_one_came_from(product, open_tab):
    chat, _ = prepared(product)
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


def test_a_part_that_was_undone_is_said_and_its_notice_stands_beside_its_icon(product, open_tab):
    chat, files = prepared(product)
    (files / "docs" / "api.md").write_text("hers\n")
    tab = open_tab(f"/c/{chat}/changed?plan={product.plan(chat)['id']}", viewport=PHONE)
    tab.page.get_by_role("button", name="Undo changes").click()
    dialog = tab.page.get_by_role("dialog", name="Undo changes of the whole plan?")
    dialog.get_by_role("button", name="Undo changes").click()
    expect(tab.page.locator("#undone-toast")).to_contain_text("3 files restored.")
    notice = tab.page.locator(".undone-notice")
    icon, words = notice.locator("svg").first, notice.locator("svg + span")
    tops = [each.bounding_box()["y"] for each in (icon, words)]
    assert abs(tops[0] - tops[1]) < 24, "the icon stands beside its words"
    tab.drawer_toggle.click()
    expect(tab.plan).to_contain_text("4 files, +5 −3, partly undone by you")
    scroll = tab.page.locator("#plan-scroll")
    assert scroll.evaluate("(each) => each.scrollWidth <= each.clientWidth"), "nothing stands out"


def test_beside_changes_the_drawer_shows_at_once_what_a_button_has_done(product, open_tab):
    chat, plan = stopped(product)
    # In a context, and so with a clock, of its own.
    tab = open_tab(f"/c/{chat}/changed?plan={plan}", viewport=DESK)
    tab.page.clock.install()  # nothing comes by the look every five seconds
    tab.page.clock.pause_at("2030-01-01")
    before = tab.plan.get_attribute("data-seq")
    tab.plan.get_by_role("button", name="Cancel plan").first.click()
    tab.page.get_by_role("dialog").get_by_role("button", name="Cancel plan").click()
    expect(tab.plan).not_to_have_attribute("data-seq", before, timeout=at_most(3000))
    expect(tab.plan).to_have_attribute("data-state", "abandoned", timeout=at_most(3000))


def test_a_file_that_does_not_come_says_so_and_is_asked_for_again(product, open_tab):
    chat, _ = prepared(product)
    tab = open_tab(f"/c/{chat}/changed?plan={product.plan(chat)['id']}")
    page = tab.page
    tab.expects("500", "Failed to fetch", "ERR_FAILED")
    page.route("**/changed/file**", lambda route: route.fulfill(status=500, body=""))
    page.evaluate("() => document.getElementById('file-1').removeAttribute('open')")
    address = f"/c/{chat}/changed/file?plan={product.plan(chat)['id']}&path=docs/api.md&origin=own&id=file-1"
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
