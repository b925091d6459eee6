"""The menus of the head and of a new chat: under their button, or a sheet on a phone."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE
from tests.browser.test_focus import focused
from tests.browser.test_sidebar import middle_of

SETTLED = "(menu) => Promise.all(menu.getAnimations().map((each) => each.finished))"
BUTTON = "^menu-button BUTTON"


def head_menu(tab):
    tab.page.get_by_label("Conversation menu").click()
    menu = tab.page.locator("#menu")
    expect(menu).to_be_visible()
    menu.evaluate(SETTLED)
    return menu


@pytest.fixture
def phone(site, open_tab):
    return open_tab(viewport=PHONE).chat(site.conversation())


def test_the_menu_of_a_phone_is_a_sheet_and_a_press_beside_it_closes_it_and_does_nothing_else(
    phone,
):
    phone.message.fill("Not yet")
    menu = head_menu(phone)
    box = menu.bounding_box()
    assert (box["x"], box["width"]) == (0, PHONE["width"])
    assert box["y"] + box["height"] == PHONE["height"], "at the bottom edge"
    rows = [entry.bounding_box() for entry in menu.locator("a:visible, button:visible").all()]
    assert min(row["height"] for row in rows) >= 40
    focused(phone, "^menu-model BUTTON")
    phone.page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    focused(phone, BUTTON)
    head_menu(phone)
    phone.page.mouse.click(*middle_of(phone.page.get_by_role("link", name="Open conversations")))
    expect(menu).to_be_hidden()
    expect(phone.page.get_by_role("navigation", name="Conversations")).to_be_hidden()
    expect(phone.articles).to_have_count(0)


def test_what_the_menu_has_done_closes_it_and_the_focus_is_at_its_button(site, open_tab):
    tab = open_tab().chat(site.conversation())
    menu = head_menu(tab)
    menu.get_by_role("button", name="Pin").click()
    expect(menu).to_be_hidden()
    focused(tab, BUTTON)
    expect(head_menu(tab).get_by_role("button", name="Unpin")).to_be_visible()
