"""The menus of the head and of a new chat: where they hang and where the focus goes."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import DESK, PHONE
from tests.browser.test_focus import focused
from tests.browser.test_menus import BUTTON, SETTLED, head_menu, phone
from tests.browser.test_sidebar import opened

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
