"""The menus of the head and of a new chat: under their button, or a sheet on a phone."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import DESK, PHONE
from tests.browser.test_focus import focused
from tests.browser.test_sidebar import middle_of, opened

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


__all__ = ["phone"]


def test_the_model_is_chosen_from_the_menu_of_a_phone_and_the_focus_comes_back(phone):
    menu = head_menu(phone)
    menu.get_by_role("button", name=re.compile("^Model:")).click()
    picker = phone.page.get_by_role("dialog", name="Model of this conversation")
    expect(picker).to_be_visible()
    expect(menu).to_be_hidden()
    expect(phone.page.get_by_role("combobox", name="Find a model")).to_be_focused()
    phone.page.keyboard.press("Escape")
    expect(picker).to_be_hidden()
    focused(phone, BUTTON)


def test_at_a_desk_the_menu_hangs_under_its_button_and_stays_in_the_window(site, open_tab):
    tab = open_tab(viewport=DESK).chat(site.conversation())
    menu = head_menu(tab)
    under = tab.page.get_by_label("Conversation menu").bounding_box()
    for width in (DESK["width"], 1024):
        tab.page.set_viewport_size({"width": width, "height": 900})
        expect(menu).to_be_in_viewport(ratio=1)
        box = menu.bounding_box()
        assert 4 <= box["y"] - (under["y"] + under["height"]) <= 8


def test_with_whom_a_new_chat_is_had_is_asked_in_a_sheet_over_the_conversations(phone):
    conversations = opened(phone)
    phone.page.locator("#new-chat").click()
    menu = phone.page.locator("#new-chat-menu")
    menu.evaluate(SETTLED)
    box = menu.bounding_box()
    assert (box["x"], box["width"]) == (0, PHONE["width"])
    assert box["y"] + box["height"] == PHONE["height"]
    expect(phone.button("Docs writer")).to_be_focused()
    phone.page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(conversations).to_be_visible()
    focused(phone, "^new-chat BUTTON")
