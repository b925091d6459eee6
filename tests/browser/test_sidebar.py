"""What lies over the page is closed by a press beside it, which reaches nothing else."""

from playwright.sync_api import expect

from agents.models import Conversation
from tests.browser.conftest import PHONE
from tests.browser.test_focus import focused
from tests.inner import rename_conversation


def middle_of(element):
    box = element.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def opened(tab):
    tab.page.get_by_role("link", name="Open conversations").click()
    focused(tab, "^side A")
    return tab.page.get_by_role("navigation", name="Conversations")


def test_escape_in_an_editor_of_a_phone_cancels_that_and_leaves_the_plan_open(site, open_tab):
    tab = open_tab(viewport=PHONE).chat(site.scripted("quick"))
    tab.drawer_toggle.click()
    tab.edit(2, "Another name")
    tab.page.keyboard.press("Escape")
    expect(tab.editor("Edit subtask 2")).to_have_count(0)
    expect(tab.plan).to_be_visible()
    tab.page.keyboard.press("Escape")
    expect(tab.plan).to_be_hidden()


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
