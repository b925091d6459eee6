"""Copying: "Copied" is said only when it is so, also where the browser gives no clipboard."""

import re

import pytest
from playwright.sync_api import expect

from plans.models import Plan

GONE = 'Object.defineProperty(navigator, "clipboard", { value: undefined });'
REFUSED = """navigator.clipboard.write = navigator.clipboard.writeText =
    () => Promise.reject(new DOMException("not allowed", "NotAllowedError"));"""
NO_SELECTION = "document.execCommand = () => false;"
FAULT = "Not copied: this browser does not let the page write to the clipboard."


@pytest.fixture
def chat(site):
    return site.answered("say iota")


@pytest.fixture
def plan(site):
    site.scripted("quick")
    return Plan.objects.get().pk


def test_where_the_clipboard_is_refused_a_selection_is_copied(open_tab, chat, plan):
    tab = open_tab()
    tab.page.add_init_script(REFUSED + "window.copied = [];")
    tab.page.add_init_script("""document.addEventListener("copy", () =>
        window.copied.push(document.activeElement.value));""")
    tab.chat(chat)
    expect(tab.log.locator("strong")).to_have_text("Iota")
    for name in ("Copy reply", "Copy message"):
        tab.button(name).click()
        expect(tab.button(name).locator("use")).to_have_attribute("href", re.compile("#i-check$"))
        expect(tab.button(name)).to_be_focused()
    assert tab.page.evaluate("copied") == ["**Iota** one.", "say iota"]
    tab.open(f"/plans/{plan}/").button("Copy link to subtask 2").click()
    expect(tab.page.get_by_role("status").filter(has_text="Copied")).to_have_count(1)
    assert tab.page.evaluate("copied")[0].endswith(f"/plans/{plan}/#s2")


def test_where_nothing_can_be_copied_one_sentence_says_so(open_tab, chat, plan):
    tab = open_tab()
    tab.page.add_init_script(GONE + NO_SELECTION)
    for path, name in (
        (f"/c/{chat}/", "Copy reply"),
        (f"/plans/{plan}/", "Copy link to subtask 1"),
    ):
        tab.open(path).button(name).click()
        expect(tab.page.get_by_text(FAULT)).to_be_in_viewport()
        expect(tab.button(name).locator("use")).not_to_have_attribute(
            "href", re.compile("#i-check$")
        )
        expect(tab.page.get_by_text("Copied", exact=True)).to_have_count(0)
