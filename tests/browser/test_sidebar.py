"""What lies over the page is closed by a press beside it, which reaches nothing else."""

from playwright.sync_api import expect

from agents.models import Conversation
from tests.browser.conftest import DESK, PHONE
from tests.browser.test_focus import focused
from tests.inner import rename_conversation

TABLET = {"width": 768, "height": 900}


def middle_of(element):
    box = element.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def opened(tab):
    tab.page.get_by_role("link", name="Open conversations").click()
    focused(tab, "^side A")
    return tab.page.get_by_role("navigation", name="Conversations")


def test_a_press_beside_the_conversations_closes_them_and_sends_nothing(site, open_tab):
    tab = open_tab(viewport=PHONE).chat(site.conversation())
    tab.message.fill("Not yet")
    send = middle_of(tab.button("Send"))
    conversations = opened(tab)
    tab.page.mouse.click(*send)
    expect(conversations).to_be_hidden()
    focused(tab, "^main A")
    expect(tab.message).to_have_value("Not yet")
    expect(tab.articles).to_have_count(0)
    opened(tab)
    tab.page.keyboard.press("Escape")
    expect(conversations).to_be_hidden()
    focused(tab, "^main A")
    opened(tab)
    tab.page.set_viewport_size(DESK)
    tab.button("Send").click()
    expect(tab.articles.first).to_contain_text("Not yet")


def test_escape_in_an_editor_of_a_phone_cancels_that_and_leaves_the_plan_open(site, open_tab):
    tab = open_tab(viewport=PHONE).chat(site.scripted("quick"))
    tab.drawer_toggle.click()
    tab.edit(2, "Another name")
    tab.page.keyboard.press("Escape")
    expect(tab.editor("Edit subtask 2")).to_have_count(0)
    expect(tab.plan).to_be_visible()
    tab.page.keyboard.press("Escape")
    expect(tab.plan).to_be_hidden()


def test_a_new_chat_by_keyboard_asks_with_whom_where_it_is_seen(site, open_tab):
    tab = open_tab(viewport=TABLET).chat(site.conversation())
    tab.page.keyboard.press("Control+Shift+O")
    first = tab.button("Docs writer")
    expect(first).to_be_focused()
    expect(first).to_be_in_viewport()
    tab.page.keyboard.press("Escape")
    expect(first).to_be_hidden()
    tab.page.keyboard.press("Control+Shift+O")
    with tab.page.expect_navigation():
        tab.page.keyboard.press("Enter")
    expect(tab.page.locator("#heading")).to_contain_text("Docs writer")


# The menu of a row


def named(site, title):
    """A conversation of this title."""
    chat = site.conversation()
    site.do(rename_conversation, Conversation.objects.get(pk=chat), title)
    return chat


def menu_of(tab, chat):
    row = tab.page.locator(f"#conversation-{chat}")
    menu = tab.page.locator("#row-menu")
    expect(menu).to_be_hidden()  # of what was done before
    row.hover()
    tab.page.locator(f"#row-{chat}").click()
    expect(menu).to_be_visible()
    expect(menu.get_by_role("button", name="Rename")).to_be_focused()
    return menu


def test_a_row_is_renamed_pinned_and_archived_where_it_stands(site, open_tab):
    here, chat = site.conversation(), named(site, "Moss")
    tab = open_tab().chat(here)
    row = tab.page.locator(f"#conversation-{chat}")
    before = row.bounding_box()
    menu = menu_of(tab, chat)
    assert row.bounding_box() == before, "nothing moves"
    tab.page.keyboard.press("Enter")
    title = tab.page.get_by_role("dialog").get_by_label("Title")
    expect(title).to_have_value("Moss")
    title.fill("Fern")
    title.press("Enter")
    expect(row).to_contain_text("Fern")
    expect(tab.page.locator(f"#row-{chat}")).to_be_focused()
    expect(tab.page.get_by_role("heading", level=1)).not_to_have_text("Fern")
    menu_of(tab, chat).get_by_role("button", name="Pin").click()
    expect(tab.page.get_by_role("heading", name="Pinned")).to_be_visible()
    menu_of(tab, chat).get_by_role("button", name="Unpin").click()
    expect(tab.page.get_by_role("heading", name="Pinned")).to_have_count(0)
    with tab.page.expect_download() as download:
        menu_of(tab, chat).get_by_role("link", name="Export as Markdown").click()
    assert download.value.suggested_filename.endswith(".md")
    expect(menu).to_be_hidden()
    menu_of(tab, chat).get_by_role("button", name="Archive").click()
    expect(row).to_have_count(0)
    expect(tab.page.get_by_text("Archived. Search still finds it.")).to_be_visible()
    tab.button("Undo").click()
    expect(row).to_be_focused()
    assert tab.page.url.endswith(f"/c/{here}/")
    menu_of(tab, chat)


def test_a_row_is_deleted_and_taken_back_by_keyboard(site, open_tab):
    chats = [named(site, title) for title in ("Fern", "Moss", "Lichen")]
    here = site.conversation()
    tab = open_tab().chat(here)
    rows = [tab.page.locator(f"#conversation-{chat}") for chat in chats]
    rows[1].focus()
    tab.page.keyboard.press("Shift+F10")
    expect(tab.button("Rename").first).to_be_focused()
    tab.page.keyboard.press("Escape")
    expect(rows[1]).to_be_focused()
    tab.page.keyboard.press("ContextMenu")
    expect(tab.button("Rename").first).to_be_focused()
    tab.page.keyboard.press("End")
    tab.page.keyboard.press("Enter")
    expect(tab.page.get_by_text("Deleted “Moss”.")).to_be_visible()
    expect(rows[1]).to_have_count(0)
    expect(rows[0]).to_be_focused()  # the one below
    press_undo = tab.button("Undo")
    press_undo.focus()
    tab.page.keyboard.press("Enter")
    expect(rows[1]).to_be_focused()
    expect(press_undo).to_have_count(0)
