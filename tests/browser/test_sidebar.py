"""What lies over the page is closed by a press beside it, which reaches nothing else."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import DESK, PHONE
from tests.browser.test_focus import focused
from tests.browser.test_pages import violations

TABLET = {"width": 768, "height": 900}


def middle_of(element):
    box = element.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def opened(tab):
    tab.page.get_by_role("link", name="Open conversations").click()
    focused(tab, "^side A")
    return tab.page.get_by_role("navigation", name="Conversations")


@pytest.mark.parametrize("viewport", [PHONE, TABLET], ids=["phone", "tablet"])
def test_a_press_beside_the_conversations_closes_them_and_sends_nothing(
    product, open_tab, viewport
):
    tab = open_tab(viewport=viewport).chat(product.conversation("scripted"))
    tab.message.fill("Not yet")
    send = middle_of(tab.button("Send"))
    conversations = opened(tab)
    tab.page.mouse.click(*send)
    expect(conversations).to_be_hidden()
    focused(tab, "^main A")
    expect(tab.message).to_have_value("Not yet")
    expect(tab.articles).to_have_count(0)
    opened(tab)
    assert not violations(tab)
    tab.page.keyboard.press("Escape")
    expect(conversations).to_be_hidden()
    focused(tab, "^main A")
    opened(tab)
    tab.page.set_viewport_size(DESK)
    tab.button("Send").click()
    expect(tab.articles.first).to_contain_text("Not yet")


def test_a_press_beside_the_plan_closes_it_and_reaches_nothing(product, open_tab):
    tab = open_tab(viewport=PHONE).chat(product.scripted("quick"))
    tab.drawer_toggle.click()
    expect(tab.plan).to_be_visible()
    tab.page.mouse.click(360, 10)
    expect(tab.plan).to_be_hidden()
    expect(tab.page.get_by_label("Conversation menu")).to_be_visible()
    expect(tab.page.locator("#menu")).not_to_have_attribute("open", "")


def test_a_press_beside_a_sheet_closes_it_and_sends_nothing(product, open_tab):
    tab = open_tab(viewport=PHONE).chat(product.conversation("scripted"))
    tab.say("Well?")
    expect(tab.log).to_contain_text("Understood.")
    tab.message.fill("Not yet")
    tab.page.get_by_role("button", name="Ask again", exact=True).click()
    menu = tab.page.get_by_role("menu")
    expect(menu).to_be_visible()
    tab.page.mouse.click(*middle_of(tab.page.get_by_label("Conversation menu")))
    expect(menu).to_be_hidden()
    expect(tab.page.locator("#menu")).not_to_have_attribute("open", "")


def test_a_new_chat_by_keyboard_asks_with_whom_where_it_is_seen(product, open_tab):
    tab = open_tab(viewport=TABLET).chat(product.conversation("scripted"))
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
