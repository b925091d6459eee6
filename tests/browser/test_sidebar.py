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
