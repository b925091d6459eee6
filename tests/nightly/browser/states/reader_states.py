"""More of what `page_states` brings about: other replies, files, what was put away, the first run."""

import re
import tempfile
from pathlib import Path

from playwright.sync_api import expect

from tests.images import PETROL, RED, png
from tests.nightly.browser.process import Process
from tests.tab import A_RUN, LIVE, POLLING

SEVERAL = "\n".join(f"line {number}" for number in range(60))
CHANGED = SEVERAL.replace("line 10\n", "LINE 10\n").replace("line 40\n", f"{'long ' * 60}\n")


def alternatives(s):
    tab = s.chat()
    tab.say("say alpha")
    expect(tab.log).to_contain_text("Alpha one.")
    expect(tab.button("Stop the reply")).to_have_count(0)
    tab.button("Ask again").click()
    tab.page.get_by_role("menuitem", name="Ask again").first.click()
    expect(tab.page.get_by_role("group", name="Alternative 2 of 2")).to_be_visible()
    yield ""
    tab.button("Ask again").click()
    expect(tab.page.get_by_role("menuitem", name="Another model")).to_be_visible()
    yield "menu"
    tab.page.keyboard.press("Escape")
    tab.button("Edit message").click()
    yield "editor"


def further_up(s):
    """Where a button leads to the newest."""
    tab = s.chat()
    tab.say("tell me at length")
    expect(tab.log).to_contain_text("Paragraph 79")
    tab.log.focus()
    tab.page.keyboard.press("Home")
    expect(tab.page.get_by_role("button", name="Jump to newest")).to_be_visible()
    yield ""


def models_of_a_conversation(s):
    tab = s.chat()
    tab.button("Model: scripted").click()
    expect(tab.page.get_by_role("listbox", name="Models").get_by_role("option")).not_to_have_count(
        0
    )
    yield ""
    tab.page.get_by_role("combobox", name="Find a model").fill("nothing like it")
    yield "nothing"
    tab.page.keyboard.press("Escape")


def refused_files(s):
    tab = s.chat()
    files = [
        ("none.txt", b""),
        *((f"{number}-long-name-of-a-file.txt", b"a") for number in range(11)),
    ]
    tab.page.locator("#files").set_input_files(
        [{"name": name, "mimeType": "text/plain", "buffer": data} for name, data in files]
    )
    expect(tab.page.locator("#attachments .attachment")).to_have_count(10)
    expect(tab.page.locator("#refused-files .note")).not_to_have_count(0)
    yield ""


def files_that_were_sent(s):
    tab = s.chat()
    picture = {"name": "shot.png", "mimeType": "image/png", "buffer": png(900, 1200, (RED, PETROL))}
    name = "a-note-with-a-name-that-is-longer-than-any-tile-can-show-at-once.txt"
    note = {"name": name, "mimeType": "text/plain", "buffer": b"a note"}
    tab.page.locator("#files").set_input_files([picture, note])
    expect(tab.page.locator("#attachments .attachment")).to_have_count(2)
    tab.say("look at this")
    expect(tab.log).to_contain_text("Understood.")
    yield ""


def file_diffs(s):
    file = s.site.file("a.txt")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(SEVERAL)
    tab = s.chat()
    tab.say("change the file")
    expect(tab.log).to_contain_text("It is changed.")
    for summary in tab.page.locator("details.tool > summary").all():
        summary.click()
    expect(tab.page.get_by_role("group", name=re.compile("^Changes in a.txt"))).to_be_visible()
    yield ""


def put_away(s):
    s.tab.open("/archive/")
    yield "nothing"
    tab = s.chat()
    tab.say("hello")
    expect(tab.log).to_contain_text("Understood.")
    tab.page.get_by_label("Conversation menu").click()
    tab.page.locator("#menu-archive").click()
    expect(tab.page.get_by_text("Archived. Search still finds it.")).to_be_visible()
    yield "toast"
    tab.open("/archive/")
    yield "page"
    tab.page.locator(".put-away button").last.click()
    yield "asked"


def sidebar_over_the_page(s):
    s.chat()
    s.tab.page.goto(f"{s.tab.page.url}#side")
    yield ""
    s.tab.page.goto(s.tab.page.url.partition("#")[0])


def unsent(s):
    tab = s.chat()
    tab.page.route("**/say", lambda route: route.fulfill(status=500))
    tab.expects("status of 500", "htmx")
    tab.say("hello from an island")
    expect(tab.alerts).to_have_text("Not sent. Try again / Discard")
    yield ""


def offline(s):
    tab = s.chat()
    tab.expects("WebSocket", "Failed to load resource", "htmx", "net::ERR_")
    tab.page.context.set_offline(True)
    expect(tab.page.get_by_text("You are offline.")).to_be_visible()
    yield ""
    tab.page.context.set_offline(False)


def filtered_changes(s):
    chat = s.begun("quick")
    plan = s.wait(chat, lambda plan: plan["state"] == "done")
    for name, query in (("", "?kind=run"), ("nothing", "?kind=run&actor=nobody")):
        s.tab.open(f"/plans/{plan['id']}/{query}")
        expect(s.tab.page.get_by_role("heading", name="Every change")).to_be_visible()
        yield name


def every_need(s):
    """A card of each kind."""
    chats = {
        "start": s.made("have it in detail"),
        "failed": s.begun("fail"),
        "question": s.begun("question"),
    }
    for agent, word, kind in (
        ("careful", "approve", "approval"),
        ("thrifty", "quick", "budget"),
    ):
        chats[kind] = s.begun(word, agent)
    for kind, chat in chats.items():
        s.wait(chat, lambda plan, kind=kind: plan["attention"] == kind or kind == "start")
    s.tab.open("/needs/")
    expect(s.tab.page.locator(".need-card")).to_have_count(5)
    yield ""
    s.tab.button("Deny").first.click()
    yield "denying"


def first_run(s):
    """On a home of its own, with a provider that does not answer."""
    with tempfile.TemporaryDirectory(prefix="planside-first-") as folder:
        other = Process(Path(folder) / "home")
        other.post("/providers", name="ollama", base_url=s.site.model.url)
        s.tab.page.goto(other.link)
        expect(s.tab.page.get_by_role("list", name="First steps")).to_contain_text("Found")
        yield ""
        s.tab.page.get_by_role("radio", name="Demo model").check()
        yield "demo"
        other.end()


def used_link(s):
    s.tab.expects("403")
    for _ in range(2):
        s.tab.page.context.clear_cookies()
        s.tab.page.goto(s.site.link)
    expect(s.tab.alerts).to_have_count(1)
    yield ""


def polling_at_work(s):
    """A run that is watched without a socket."""
    s.tab.page.route_web_socket("**/ws/**", lambda socket: socket.close())
    s.tab.expects("WebSocket")
    s.tab.chat(s.begun("hang"))
    s.tab.sees_connection(POLLING)
    yield ""


def several_plans(s):
    s.started("quick").sees_plan(within=A_RUN, state="done")
    s.tab.button("Use as a new plan").click()
    s.tab.sees_plan(state="todo", version=1)
    s.tab.sees_connection(LIVE)
    s.tab.button("Plans in this conversation").click()
    expect(s.tab.page.get_by_role("dialog").get_by_role("listitem")).to_have_count(2)
    yield ""


def changed_files(s):
    """What a failed subtask changed: the retry that asks, the diff, the undo, and what comes of it."""
    tab, half = s.tab, s.site.file("half.md")
    half.parent.mkdir(parents=True, exist_ok=True)
    half.write_text(SEVERAL)
    chat = s.begun("spoil")
    s.wait(chat, lambda plan: plan["attention"] == "failed")
    tab.chat(chat).button("Retry subtask 2").click()
    yield "retry"
    tab.button("Back").click()
    tab.page.get_by_role("link", name=re.compile("^Changes of subtask 2")).click()
    expect(tab.page.locator(".whole-line").first).to_be_visible()
    yield "page"
    half.write_text(CHANGED)
    tab.button("Undo changes").click()
    expect(tab.page.get_by_role("radio", name="Keep mine")).to_be_checked()
    yield "undo"
    tab.page.get_by_role("dialog").get_by_text("Restore", exact=True).click()
    tab.page.get_by_role("dialog").get_by_role("button", name="Undo changes").click()
    expect(tab.page.locator("#undone-toast")).to_be_visible()
    yield "undone"
    tab.log.get_by_role("button", name="Undo the undo").click()  # the toast may have gone
    expect(tab.log).to_contain_text("You undid an undo.")
    yield "undone_again"


def agent_files(s):
    """The files beside the conversation: what is done with one of them in its row."""
    folder = s.site.file("")
    (folder / "docs").mkdir(parents=True, exist_ok=True)
    (folder / "docs" / "a-page-with-a-name-that-is-longer-than-its-column.md").write_text(
        "# Page\n"
    )
    (folder / "a.txt").write_text(SEVERAL)
    tab = s.chat()
    tab.expects("409")
    tab.button("Files").click()
    row = tab.page.locator("#file-tree summary", has_text="docs")
    row.click()
    tab.page.get_by_role("link", name=re.compile("^a-page")).click()
    expect(tab.page.get_by_role("heading", name="Page", exact=True)).to_be_visible()
    yield ""
    sent = {"name": "a.txt", "mimeType": "text/plain", "buffer": b"another"}
    tab.page.get_by_role("link", name="a.txt", exact=True).press("End")  # the last row, at the top
    tab.page.locator("#files-to-upload").set_input_files([sent])
    expect(tab.button("Keep both")).to_be_focused()
    yield "taken"
    tab.button("Keep both").click()
    expect(tab.page.get_by_text("Uploaded a-2.txt")).to_be_visible()
    row.focus()
    tab.page.keyboard.press("Delete")
    expect(tab.page.get_by_text("Deleted docs")).to_be_visible()
    tab.button("Undo").focus()  # which keeps it
    yield "deleted"
    tab.button("Undo").click()
    expect(row).to_be_focused()
    tab.page.keyboard.press("F2")
    expect(tab.page.get_by_role("textbox", name="New name of docs")).to_be_focused()
    yield "renaming"


READER_LOOKS = (
    *(alternatives, models_of_a_conversation, refused_files, files_that_were_sent, file_diffs),
    *(put_away, sidebar_over_the_page, unsent, offline, filtered_changes, every_need, first_run),
    *(used_link, polling_at_work, several_plans, changed_files, agent_files, further_up),
)
