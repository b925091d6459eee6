"""What was changed, read file by file, taken back, and taken back once more: by mouse and by keys."""

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import DESK, PHONE
from tests.browser.test_pages import violations
from tests.fake_model import FakeModelServer, call
from tests.images import png
from tests.patience import at_most

LINES = [f"line {n} of the page" for n in range(1, 130)]
OLD = (
    "\n".join([*LINES, "Registers a URL. Returns `201 Created`.", "| event | string |", *LINES])
    + "\n"
)
NEW = OLD.replace("201 Created", "202 Accepted").replace(
    "| event | string |\n",
    "```sh\ncurl -X POST https://example.com \\\n```\n| events | string[] |\n",
)
WORK = "cp ../new.md docs/api.md; cp ../new.png docs/flow.png; head -c 9400 /dev/urandom > docs/ex.zip; rm old.txt"


@pytest.fixture(scope="module")
def model():
    def answer(request):
        offered = {each["function"]["name"] for each in request.get("tools") or ()}
        results = sum(message["role"] == "tool" for message in request["messages"])
        if "finish_subtask" not in offered:
            return call("finish_plan", outcome="The reference is written.")
        is_second = "Check it" in str(request["messages"][-1 - 2 * results])
        if results or is_second:
            return call("finish_subtask", outcome="14 sections, 14 examples, no broken links")
        return call("shell", command="sh ../work.sh")

    with FakeModelServer(answer) as server:
        yield server


def prepared(product, runs="all", work=WORK):
    """A finished plan whose first subtask changed four files; of "next" only that was run."""
    tools = {"shell": "allow", "write_file": "allow", "read_file": "allow"}
    product.change_agent("scripted", tools=tools)
    files = product.file("", "scripted")
    (files / "docs").mkdir(parents=True, exist_ok=True)
    (files / "docs" / "api.md").write_text(OLD)
    (files / "docs" / "flow.png").write_bytes(png(680, 240, [(240, 250, 250), (0, 102, 109)]))
    (files / "old.txt").write_text("old\n")
    (files / "docs" / "ex.zip").unlink(missing_ok=True)
    (files.parent / "new.md").write_text(NEW)
    (files.parent / "new.png").write_bytes(png(680, 240, [(226, 241, 240), (173, 36, 28)]))
    (files.parent / "work.sh").write_text(work)
    subtasks = [{"name": "Write docs/api.md, one example per endpoint"}, {"name": "Check it"}]
    plan = product.post(
        "/plans", agent="scripted", title="Publish the reference", subtasks=subtasks
    )
    product.post(f"/plans/{plan['id']}/approve", version=1, run=runs)
    is_over = "done" if runs == "all" else "in_progress"
    product.wait(plan["conversation"], lambda now: (now["state"], now["run"]) == (is_over, "idle"))
    return plan["conversation"], files


def arrives(page, heading):
    """At a page that a link has opened: no key is heard before its script has come."""
    expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
    page.wait_for_load_state()


def shot(page, name):
    if folder := os.environ.get("SHOTS"):
        page.screenshot(path=str(Path(folder) / f"{name}.png"))


def test_changes_are_read_undone_and_brought_back(product, open_tab):
    chat, files = prepared(product)
    tab = open_tab(f"/c/{chat}/")
    page = tab.page
    link = page.get_by_role("link", name="Changes of subtask 1: 4 files, +5 −3")
    expect(link).to_be_visible()
    expect(page.get_by_role("log").get_by_text("4 files, +5 −3").first).to_be_visible()
    shot(page, "conversation")
    link.click()
    arrives(page, "Changes of subtask 1")
    expect(page.get_by_role("heading", name="By the agent, 4 files")).to_be_visible()
    expect(page.locator("ins", has_text="202 Accepted")).to_be_visible()
    expect(page.get_by_text("line 20 of the page").first).to_be_hidden()
    page.get_by_text("Show 126 unchanged lines").first.click()
    expect(page.get_by_text("line 20 of the page").first).to_be_visible()
    for number in (1, 2):
        page.keyboard.press("Alt+ArrowDown")
        expect(page.locator("#change-place")).to_have_text(re.compile(f"Change {number} of "))
    page.keyboard.press("Alt+ArrowUp")
    expect(page.locator("#change-place")).to_have_text(re.compile("Change 1 of "))
    page.get_by_role("link", name="flow.png").first.click()
    expect(page.locator("#file-3 img")).to_have_count(2)
    shot(page, "changes")
    assert violations(tab) == []
    page.set_viewport_size(DESK)

    (files / "docs" / "api.md").write_text("hers\n")
    page.get_by_role("button", name="Undo changes").click()
    dialog = page.get_by_role("dialog", name="Undo changes of subtask 1?")
    expect(dialog.get_by_role("button", name="Keep changes")).to_be_focused()
    expect(dialog.get_by_text("removed, it was new")).to_be_visible()
    expect(dialog.get_by_text("comes back")).to_be_visible()
    expect(dialog.get_by_role("radio", name="Keep mine")).to_be_checked()
    shot(page, "undo")
    assert violations(tab) == []
    page.set_viewport_size(DESK)
    dialog.get_by_role("button", name="Undo changes").click()
    expect(page.locator("#undone-toast")).to_contain_text("3 files restored.")
    shot(page, "undone")
    assert (files / "old.txt").read_text() == "old\n"
    assert not (files / "docs" / "ex.zip").exists()
    assert (files / "docs" / "api.md").read_text() == "hers\n"
    page.locator("#undone-toast").get_by_role("button", name="Undo the undo").press("Enter")
    expect(page.get_by_text("You undid an undo.").first).to_be_visible()
    expect(page.get_by_role("button", name="Undo the undo")).to_have_count(1)
    expect(tab.message).to_be_focused()
    assert not (files / "old.txt").exists()


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
    assert violations(tab) == []
    page.set_viewport_size(DESK)
    page.get_by_role("button", name="Undo changes").click()
    dialog = page.get_by_role("dialog", name="Undo changes of subtask 1?")
    dialog.get_by_role("button", name="and 238 more").click()
    rest = dialog.get_by_role("button", name="and 50 more")
    expect(dialog.locator(".restore-row:visible")).to_have_count(200)
    rest.click()
    expect(dialog.locator(".restore-row:visible")).to_have_count(250)
    expect(rest).to_have_count(0)
    assert violations(tab) == []
    page.set_viewport_size(DESK)
    dialog.get_by_role("button", name="Undo changes").click()
    expect(page.locator("#undone-toast")).to_contain_text("250 files restored.")
    assert not (files / "many").exists()


def test_escape_goes_back_and_a_changed_preview_opens_anew(product, open_tab):
    chat, files = prepared(product)
    tab = open_tab(f"/c/{chat}/")
    page = tab.page
    tab.expects("409")
    page.get_by_role("link", name=re.compile("Changes of the plan")).click()
    page.get_by_role("button", name="Undo changes").click()
    dialog = page.get_by_role("dialog", name="Undo changes of the whole plan?")
    expect(dialog).to_be_visible()
    (files / "docs" / "api.md").write_text("hers\n")
    dialog.get_by_role("button", name="Undo changes").click()
    expect(dialog.get_by_role("alert")).to_contain_text("look once more")
    expect(dialog.get_by_text("Restoring it loses that edit")).to_be_visible()
    dialog.get_by_text("Restore", exact=True).click()
    dialog.get_by_role("button", name="Undo changes").click()
    expect(page.locator("#undone-toast")).to_contain_text("4 files restored.")
    assert (files / "docs" / "api.md").read_text() == OLD
    page.goto(f"{tab.address}/c/{chat}/")
    page.get_by_role("link", name=re.compile("Changes of subtask 1")).click()
    arrives(page, "Changes of subtask 1")
    page.keyboard.press("Escape")
    expect(page.get_by_role("textbox", name="Message")).to_be_visible()


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


def test_on_a_phone_the_files_fold_and_the_preview_comes_from_below(product, open_tab):
    chat, _ = prepared(product)
    tab = open_tab(f"/c/{chat}/", viewport=PHONE)
    page = tab.page
    page.goto(f"{tab.address}/c/{chat}/changed?plan={product.plan(chat)['id']}&subtask=s1")
    summary = page.locator(".changes-files-narrow > summary")
    shot(page, "phone")
    summary.click()
    page.locator(".changes-files-narrow").get_by_role("link", name="flow.png").click()
    expect(page.locator("#file-3")).to_be_in_viewport()
    head = page.get_by_role("heading", name="Changes of subtask 1", exact=True)
    assert head.evaluate("each => each.scrollWidth <= each.clientWidth"), "its name is whole"
    page.get_by_role("button", name="Undo changes").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    shot(page, "phone-undo")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


FAULT = "Part of this page does not work"


def stopped(product):
    """A plan whose first subtask changed four files, and whose second has not begun."""
    chat, _ = prepared(product, runs="next")
    return chat, product.plan(chat)["id"]


def test_the_plan_beside_its_changes_can_be_changed(product, open_tab):
    chat, plan = stopped(product)
    product.post(f"/plans/{plan}/subtasks", name="Announce it")
    tab = open_tab(f"/c/{chat}/changed?plan={plan}")
    field = tab.edit(2, "Check it twice")
    expect(tab.page.get_by_text(FAULT)).to_be_hidden()
    field.press("Enter")
    expect(tab.row(2)).to_contain_text("Check it twice", timeout=at_most(3000))
    tab.button("Add a subtask").click()
    tab.editor("Add a subtask").get_by_role("textbox").first.fill("Publish it")
    tab.editor("Add a subtask").get_by_role("button", name="Save").click()
    expect(tab.rows).to_have_count(4, timeout=at_most(3000))
    tab.row(4).locator(".step-row").focus()
    tab.page.keyboard.press("Alt+ArrowUp")
    expect(tab.page.locator("#status")).to_have_text("Moved to 3 of 4")
    expect(tab.row(3)).to_contain_text("Publish it")
    tab.button("Ask for changes").click()
    expect(tab.message).to_be_visible()


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


@pytest.mark.parametrize("what", ["plan", "turn"])
def test_what_broke_at_an_undo_is_said_where_it_was_asked_for(product, open_tab, what):
    chat, _ = prepared(product)
    tab = open_tab(f"/c/{chat}/")
    page = tab.page
    about = f"plan={product.plan(chat)['id']}"
    if what == "turn":
        about = f"turn={page.locator('[id^=turn-]').first.get_attribute('id').split('-')[1]}"
    tab.open(f"/c/{chat}/changed?{about}")
    tab.expects("500", "Failed to fetch", "ERR_FAILED")
    page.route("**/changed/preview*", lambda route: route.fulfill(status=500, body=""))
    page.get_by_role("button", name="Undo changes").click()
    expect(page.locator("#preview-alert")).to_contain_text("Something broke inside Planside")
    shot(page, f"preview-alert-{what}")
    page.unroute("**/changed/preview*")
    page.get_by_role("button", name="Undo changes").click()
    dialog = page.get_by_role("dialog")
    expect(page.locator("#preview-alert")).to_be_empty()
    page.route("**/changed/undo*", lambda route: route.abort())
    dialog.get_by_role("button", name="Undo changes").click()
    expect(dialog.get_by_role("alert")).to_contain_text("That did not get through")
    shot(page, f"undo-alert-{what}")


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
