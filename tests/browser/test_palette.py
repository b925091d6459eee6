"""Ctrl K: one search for everything, by keyboard alone, that opens where the words stand."""

import re

import pytest
from playwright.sync_api import expect

AFTERWARDS = "2040-01-01"


@pytest.fixture
def chat(site):
    return site.conversation()


def search(tab):
    return tab.page.get_by_role("dialog", name="Search", exact=True)


def option(tab, name):
    return search(tab).get_by_role("option", name=re.compile(name))


def look_for(tab, words):
    tab.page.keyboard.press("Control+k")
    expect(search(tab).get_by_role("combobox", name="Search everything")).to_be_focused()
    tab.page.keyboard.type(words)
    expect(search(tab)).to_have_attribute("data-drawn", words)


def test_a_message_is_found_and_opened_where_it_stands(site, clock, open_tab, chat):
    site.says(chat, "The zebrafish question", "Something else")
    site.drive()
    tab = open_tab("/plans/")
    tab.button("Search").click()
    tab.page.keyboard.type("ZEBRAF")
    chosen = option(tab, "zebrafish question").first
    expect(chosen).to_have_attribute("aria-selected", "true")
    expect(search(tab).get_by_role("status")).to_have_text(re.compile(r"\d results"))
    expect(search(tab).locator("mark").first).to_have_text("zebraf")
    clock.pause_at(AFTERWARDS)  # it is tinted for two seconds
    option(tab, "You").first.click()
    message = tab.log.get_by_role("article", name="Your message").first
    expect(message).to_have_attribute("data-found", "")
    expect(message).to_be_focused()
    clock.run_for(2_000)
    expect(message).not_to_have_attribute("data-found", "")
    assert tab.page.url.endswith(f"/c/{chat}/"), "loaded again, it opens as ever"


def test_a_list_of_models_that_did_not_come_is_said_and_comes_the_next_time(site, open_tab):
    tab = open_tab()
    tab.expects("/models", "ERR_FAILED")
    tab.chat(site.conversation())
    address = re.compile(r"/models\?")
    tab.page.route(address, lambda route: route.abort())
    tab.page.locator("#model").click()
    expect(tab.page.locator("#model-alert")).to_contain_text("did not get through")
    tab.page.unroute(address)
    tab.page.keyboard.press("Escape")
    tab.page.locator("#model").click()
    expect(tab.page.locator("#model-picker [role=option]").first).to_be_visible()
    expect(tab.page.locator("#model-alert")).to_be_empty()
