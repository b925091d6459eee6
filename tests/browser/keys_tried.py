"""Each key of the list, pressed as a person would: from the name of its line to what is tried."""

import re

from playwright.sync_api import expect

from tests.tab import LIVE


def chat(site, tab, *said):
    """A conversation in which this was said, and answered."""
    here = site.conversation()
    site.says(here, *said)
    site.drive()
    tab.chat(here).sees_connection(LIVE)
    return tab


def proposed(site, tab):
    tab.chat(site.scripted("quick")).sees_connection(LIVE)
    return tab


def cell(tab, number):
    return tab.row(number).get_by_role("group", name=re.compile(f"^Subtask {number}"))


def find(site, tab):
    chat(site, tab).page.keyboard.press("Control+k")
    expect(tab.page.get_by_role("combobox", name="Search everything")).to_be_focused()
    tab.page.keyboard.press("Control+k")
    expect(tab.message).to_be_focused()


def new(site, tab):
    """With several agents it asks with which one."""
    chat(site, tab).message.focus()
    before = tab.page.url
    tab.page.keyboard.press("Control+Shift+o")
    entries = tab.page.locator("#new-chat-menu button")
    expect(entries.first).to_be_focused()
    for key, place in (("ArrowDown", 1), ("ArrowUp", 0), ("ArrowUp", -1), ("Home", 0)):
        tab.page.keyboard.press(key)
        expect(entries.nth(place)).to_be_focused()
    tab.page.keyboard.press("Escape")
    expect(entries.first).to_be_hidden()
    expect(tab.message).to_be_focused()
    tab.page.keyboard.press("Control+Shift+o")
    tab.page.keyboard.press("Enter")
    expect(tab.page).not_to_have_url(before)
    return tab


def plan(site, tab):
    proposed(site, tab).page.keyboard.press("Control+.")
    expect(tab.plan).to_be_hidden()
    tab.page.keyboard.press("Control+.")
    expect(tab.plan.locator(":focus")).to_have_count(1)


def files(site, tab):
    chat(site, tab).message.focus()
    tab.page.keyboard.press("Control+Shift+F")
    tree = tab.page.get_by_role("list", name="Files")
    expect(tree).to_be_visible()
    expect(tab.page.locator("#files-panel :focus")).to_have_count(1)
    tab.page.keyboard.press("Control+Shift+F")
    expect(tree).to_be_hidden()
    expect(tab.message).to_be_focused()


def in_files(site, tab):
    """The files are open, and the focus is on a folder with one file in it; another stands below."""
    site.file("a-folder").mkdir(parents=True)
    site.file("a-folder/inner.txt").write_text("within")
    site.file("last.txt").write_text("the last one")
    chat(site, tab).page.keyboard.press("Control+Shift+F")
    expect(entry(tab, "a-folder")).to_be_focused()
    return tab.page.keyboard.press


def entry(tab, name):
    return tab.page.locator("#file-tree .tree-row").filter(
        has=tab.page.get_by_text(name, exact=True)
    )


def tree_move(site, tab):
    press = in_files(site, tab)
    for key, name in (("ArrowDown", "last.txt"), ("ArrowUp", "a-folder")):
        press(key)
        expect(entry(tab, name)).to_be_focused()
    for key, name in (("End", "last.txt"), ("Home", "a-folder")):
        press(key)
        expect(entry(tab, name)).to_be_focused()


def tree_fold(site, tab):
    press = in_files(site, tab)
    press("ArrowRight")
    expect(entry(tab, "inner.txt")).to_be_visible()
    press("ArrowLeft")
    expect(entry(tab, "inner.txt")).to_have_count(0)


def tree_open(site, tab):
    press = in_files(site, tab)
    press("ArrowDown")
    expect(entry(tab, "last.txt")).to_be_focused()
    press("Enter")
    expect(tab.page.get_by_role("region", name="last.txt")).to_contain_text("the last one")


def tree_rename(site, tab):
    press = in_files(site, tab)
    press("F2")
    expect(tab.page.get_by_role("textbox", name="New name of a-folder")).to_be_focused()
    press("Escape")
    expect(entry(tab, "a-folder")).to_be_focused()
    press("F2")
    tab.page.keyboard.type("b-folder")
    press("Enter")
    expect(entry(tab, "b-folder")).to_be_focused()


def tree_delete(site, tab):
    in_files(site, tab)("Delete")
    expect(entry(tab, "a-folder")).to_have_count(0)
    expect(entry(tab, "last.txt")).to_be_focused()
    expect(tab.button("Undo")).to_be_visible()


def close(site, tab):
    tab = chat(site, tab)
    menu = tab.page.get_by_label("Conversation menu")
    menu.click()
    tab.page.keyboard.press("Escape")
    expect(menu).to_be_focused()
    expect(tab.page.get_by_role("button", name="Rename", exact=True)).to_be_hidden()


def list_(site, tab):
    chat(site, tab).message.press("?")
    expect(tab.message).to_have_value("?")
    tab.message.fill("")
    tab.log.focus()
    tab.page.keyboard.press("?")
    shown = tab.page.get_by_role("dialog", name="Keys")
    expect(shown).to_contain_text("Open or close the plan")
    expect(shown.get_by_role("button", name="Close")).to_be_focused()
    tab.page.keyboard.press("Escape")
    expect(tab.log).to_be_focused()
    tab.page.keyboard.press("?")
    expect(shown).to_be_visible()


def send(site, tab):
    chat(site, tab).message.fill("hello there")
    tab.message.press("Enter")
    expect(tab.log).to_contain_text("hello there")
    expect(tab.message).to_have_value("")


def line(site, tab):
    chat(site, tab).message.fill("one")
    tab.message.press("Shift+Enter")
    expect(tab.message).to_have_value("one\n")


def commands(site, tab):
    chat(site, tab).message.press("/")
    expect(tab.page.get_by_role("listbox", name="Commands")).to_be_visible()


def command(site, tab):
    commands(site, tab)
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "Tab"):
        tab.message.press(key)
    expect(tab.message).to_have_value("/clear")


def unsent(site, tab):
    chat(site, tab, "say half of it").say("and then this")
    expect(tab.log).to_contain_text("Waiting to send")
    tab.message.press("ArrowUp")
    expect(tab.message).to_have_value("and then this")
    expect(tab.message).to_be_focused()
    expect(tab.log.get_by_text("Waiting to send")).to_have_count(0)


def attached(site, tab):
    chat(site, tab)
    for key in ("Delete", "Backspace"):
        file = {"name": f"{key}.txt", "mimeType": "text/plain", "buffer": b"notes"}
        with tab.page.expect_response("**/attachments?*"):
            tab.page.locator("input[type=file]").first.set_input_files([file])
        remove = tab.button(f"Remove {key}.txt")
        expect(remove).to_be_visible()
        remove.focus()
        tab.page.keyboard.press(key)
        expect(remove).to_be_hidden()


def opens_menu(tab):
    """The menu of a reply, when the models of which it can be asked have come too."""
    tab.button("Ask again").focus()
    with tab.page.expect_response("**/models/recent"):
        tab.page.keyboard.press("Enter")
    expect(tab.page.get_by_role("menuitem").first).to_be_focused()
    expect(tab.page.get_by_role("menuitem", name="Another model")).to_be_visible()


def walk(site, tab):
    chat(site, tab, "hello")
    opens_menu(tab)
    with tab.sends():
        tab.page.keyboard.press("Enter")
    site.drive()
    group = tab.page.get_by_role("group", name="Alternative 2 of 2")
    earlier = group.get_by_role("button", name="Earlier alternative")
    expect(earlier).to_be_enabled()  # not before the reply is whole
    earlier.focus()
    tab.page.keyboard.press("ArrowLeft")
    group = tab.page.get_by_role("group", name="Alternative 1 of 2")
    expect(group).to_be_visible()
    group.get_by_role("button", name="Later alternative").focus()
    tab.page.keyboard.press("ArrowRight")
    expect(tab.page.get_by_role("group", name="Alternative 2 of 2")).to_be_visible()


def several(site, tab):
    chat(site, tab, "hello")
    tab.button("Edit message").click()
    tab.page.keyboard.type(" again")
    tab.page.keyboard.press("Enter")
    tab.page.keyboard.type("and more")
    tab.page.keyboard.press("Control+Enter")
    expect(tab.log).to_contain_text("and more")
    expect(tab.message).to_be_focused()


def row_menu(site, tab):
    here = site.conversation()
    tab.chat(here).page.locator(f"#conversation-{here}").focus()
    tab.page.keyboard.press("Shift+F10")
    expect(tab.button("Rename").first).to_be_focused()
    tab.page.keyboard.press("Escape")
    expect(tab.page.locator(f"#conversation-{here}")).to_be_focused()


def list_move(site, tab):
    chat(site, tab, "hello")
    opens_menu(tab)
    items = tab.page.get_by_role("menuitem")
    expect(items.first).to_be_focused()
    tab.page.keyboard.press("End")
    expect(items.last).to_be_focused()
    tab.page.keyboard.press("Home")
    expect(items.first).to_be_focused()
    tab.page.keyboard.press("ArrowUp")
    expect(items.last).to_be_focused()
    tab.page.keyboard.press("ArrowDown")
    expect(items.first).to_be_focused()


def edit(site, tab):
    proposed(site, tab)
    for key in ("Enter", "F2"):
        cell(tab, 2).focus()
        tab.page.keyboard.press(key)
        expect(tab.editor("Edit subtask 2").get_by_role("textbox").first).to_be_focused()
        tab.page.keyboard.press("Escape")
        expect(tab.editor("Edit subtask 2")).to_have_count(0)
        expect(tab.row(2).locator(":focus")).to_have_count(1)
    tab.page.keyboard.press("F2")
    tab.page.keyboard.press("Control+a")
    tab.page.keyboard.type("By keyboard")
    tab.page.keyboard.press("Enter")
    expect(tab.row(2)).to_contain_text("By keyboard")


def move(site, tab):
    proposed(site, tab)
    name = tab.names()[0]
    cell(tab, 1).focus()
    tab.page.keyboard.press("Alt+ArrowDown")
    expect(tab.row(2)).to_contain_text(name)
    expect(tab.page.locator("#status")).to_have_text("Moved to 2 of 3")
    tab.page.keyboard.press("Alt+ArrowUp")
    expect(tab.row(1)).to_contain_text(name)


def remove(site, tab):
    proposed(site, tab)
    cell(tab, 2).focus()
    tab.page.keyboard.press("Delete")
    expect(tab.rows).to_have_count(2)
    expect(tab.button("Undo")).to_be_visible()


def start(site, tab):
    proposed(site, tab)
    expect(tab.button("Start plan")).to_be_visible()
    cell(tab, 1).focus()
    tab.page.keyboard.press("Control+Enter")
    tab.sees_plan(approved_version=1)


def allow(site, tab):
    site.change_agent(tools={"write_file": "ask"})
    chat(site, tab, "write it down")
    expect(tab.button("Allow once")).to_be_visible()
    tab.button("Deny").focus()
    tab.page.keyboard.press("Control+Enter")
    expect(tab.log).to_contain_text("allowed once")


def newest(site, tab):
    chat(site, tab, "tell me at length")
    expect(tab.log).to_contain_text("Paragraph 79")
    tab.log.focus()
    tab.page.keyboard.press("Home")
    expect(tab.page.get_by_role("button", name="Jump to newest")).to_be_visible()
    tab.page.keyboard.press("End")
    expect(tab.page.get_by_role("button", name="Jump to newest")).to_be_hidden()


TRIES = {
    "find": find,
    "new": new,
    "plan": plan,
    "files": files,
    "close": close,
    "list": list_,
    "send": send,
    "line": line,
    "commands": commands,
    "command": command,
    "unsent": unsent,
    "attached": attached,
    "walk": walk,
    "row-menu": row_menu,
    "newest": newest,
    "several": several,
    "list-move": list_move,
    "edit": edit,
    "move": move,
    "remove": remove,
    "tree-move": tree_move,
    "tree-fold": tree_fold,
    "tree-open": tree_open,
    "tree-rename": tree_rename,
    "tree-delete": tree_delete,
    "start": start,
    "allow": allow,
}
