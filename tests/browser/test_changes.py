"""What was changed, read file by file, taken back, and taken back once more: by mouse and by keys."""

import re

from playwright.sync_api import expect

from agents.models import Turn
from plans.models import Plan
from tests.browser.scripted_site import approve
from tests.fake_model import call, rule
from tests.images import png

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


RULES = [
    rule(call("shell", command="sh ../work.sh"), user=r"s1: Write", results=0),
    rule(call("finish_subtask", outcome="14 sections, 14 examples"), offered="finish_subtask"),
    rule(call("finish_plan", outcome="The reference is written.")),
]
SUBTASKS = ("Write docs/api.md, one example per endpoint", "Check it", "Announce it")


def prepared(site, run="all", work=WORK):
    """A finished plan whose first subtask changed four files; of "next" only that was run."""
    site.plays(*RULES)
    site.change_agent(tools={"shell": "allow"})
    files = site.file("")
    (files / "docs").mkdir(parents=True)
    (files / "docs" / "api.md").write_text(OLD)
    (files / "docs" / "flow.png").write_bytes(png(680, 240, [(240, 250, 250), (0, 102, 109)]))
    (files / "old.txt").write_text("old\n")
    (files.parent / "new.md").write_text(NEW)
    (files.parent / "new.png").write_bytes(png(680, 240, [(226, 241, 240), (173, 36, 28)]))
    (files.parent / "work.sh").write_text(work)
    chat = site.proposed(*SUBTASKS, title="Publish the reference")
    site.do(approve, chat, run)
    site.drive()
    return chat, files


def changed(chat):
    """The address of what its plan has changed."""
    return f"/c/{chat}/changed?plan={Plan.objects.get().pk}"


def arrives(page, heading):
    """At a page that a link has opened: no key is heard before its script has come."""
    expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
    page.wait_for_load_state()


def test_changes_are_read_undone_and_brought_back(site, open_tab):
    chat, files = prepared(site)
    tab = open_tab(f"/c/{chat}/")
    page = tab.page
    link = page.get_by_role("link", name="Changes of subtask 1: 4 files, +5 −3")
    expect(link).to_be_visible()
    expect(page.get_by_role("link", name=re.compile("Changes of the plan"))).to_be_visible()
    expect(page.get_by_role("log").get_by_text("4 files, +5 −3").first).to_be_visible()
    link.click()
    arrives(page, "Changes of subtask 1")
    expect(page.get_by_role("heading", name="By the agent, 4 files")).to_be_visible()
    expect(page.locator("ins", has_text="202 Accepted")).to_be_visible()
    expect(page.get_by_text("line 20 of the page").first).to_be_hidden()
    page.get_by_text("126 unchanged lines").first.click()
    expect(page.get_by_text("line 20 of the page").first).to_be_visible()
    for number in (1, 2):
        page.keyboard.press("Alt+ArrowDown")
        expect(page.locator("#change-place")).to_have_text(re.compile(f"Change {number} of "))
    page.keyboard.press("Alt+ArrowUp")
    expect(page.locator("#change-place")).to_have_text(re.compile("Change 1 of "))
    page.get_by_role("link", name="flow.png").first.click()
    expect(page.locator("#file-3 img")).to_have_count(2)

    (files / "docs" / "api.md").write_text("hers\n")
    page.get_by_role("button", name="Undo changes").click()
    dialog = page.get_by_role("dialog", name="Undo changes of subtask 1?")
    expect(dialog.get_by_role("button", name="Keep changes")).to_be_focused()
    expect(dialog.get_by_text("removed, it was new")).to_be_visible()
    expect(dialog.get_by_text("comes back")).to_be_visible()
    expect(dialog.get_by_role("radio", name="Keep mine")).to_be_checked()
    dialog.get_by_role("button", name="Undo changes").click()
    toast = page.locator("#undone-toast")
    expect(toast).to_contain_text("2 files restored. 1 file removed.")
    assert (files / "old.txt").read_text() == "old\n"
    assert not (files / "docs" / "ex.zip").exists()
    assert (files / "docs" / "api.md").read_text() == "hers\n"
    toast.get_by_role("button", name="Undo the undo").press("Enter")
    expect(page.get_by_text("You undid an undo.").first).to_be_visible()
    expect(page.get_by_role("button", name="Undo the undo")).to_have_count(1)
    expect(tab.message).to_be_focused()
    assert not (files / "old.txt").exists()


def test_escape_goes_back_and_a_changed_preview_opens_anew(site, open_tab):
    chat, files = prepared(site)
    tab = open_tab(changed(chat))
    page = tab.page
    tab.expects("409")
    page.get_by_role("button", name="Undo changes").click()
    dialog = page.get_by_role("dialog", name="Undo changes of the whole plan?")
    expect(dialog).to_be_visible()
    (files / "docs" / "api.md").write_text("hers\n")
    dialog.get_by_role("button", name="Undo changes").click()
    expect(dialog.get_by_role("alert")).to_contain_text("look once more")
    expect(dialog.get_by_text("Restoring it takes that edit back")).to_be_visible()
    dialog.get_by_text("Restore", exact=True).click()
    dialog.get_by_role("button", name="Undo changes").click()
    expect(page.locator("#undone-toast")).to_contain_text("3 files restored. 1 file removed.")
    expect(page).to_have_url(re.compile(f"/c/{chat}/$"))
    page.reload()
    expect(page.get_by_role("button", name="Undo the undo")).to_have_count(1)
    expect(page.locator("#undone-toast")).to_have_count(0)
    assert (files / "docs" / "api.md").read_text() == OLD
    page.keyboard.press("Escape")
    expect(page.get_by_role("textbox", name="Message")).to_be_visible()


FAULT = "Part of this page does not work"


def test_what_broke_at_an_undo_is_said_where_it_was_asked_for(site, open_tab):
    chat, _ = prepared(site)
    tab = open_tab(f"/c/{chat}/changed?turn={Turn.objects.earliest('pk').pk}")
    page = tab.page
    tab.expects("500", "Failed to fetch", "ERR_FAILED")
    page.route("**/changed/preview*", lambda route: route.fulfill(status=500, body=""))
    page.get_by_role("button", name="Undo changes").click()
    expect(page.locator("#preview-alert")).to_contain_text("Something broke inside Planside")
    page.unroute("**/changed/preview*")
    page.get_by_role("button", name="Undo changes").click()
    dialog = page.get_by_role("dialog")
    expect(page.locator("#preview-alert")).to_be_empty()
    page.route("**/changed/undo*", lambda route: route.abort())
    dialog.get_by_role("button", name="Undo changes").click()
    expect(dialog.get_by_role("alert")).to_contain_text("That did not get through")
