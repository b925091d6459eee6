"""The server goes away under an open page, and comes back."""

import re
import signal

import pytest
from playwright.sync_api import expect

from tests.browser.tab import A_POLL, A_RUN, LIVE, OFFLINE, POLLING
from tests.browser.test_tabs import add_subtask

GONE = ("WebSocket", "Failed to load resource", "htmx:(ws:)?error")
LOST = re.compile(f"^({OFFLINE}|{POLLING})$")


@pytest.fixture
def interrupted(product):
    """Kill the server; afterwards it runs again, whatever the test did."""
    yield lambda: product.end(signal.SIGKILL)
    if not product.is_up:
        product.start()


def test_a_killed_server_is_said_and_what_was_typed_is_kept(product, open_tab, interrupted):
    tab = open_tab().chat(product.conversation("scripted"))
    tab.excuse(*GONE)
    tab.sees_connection(LIVE)
    interrupted()
    tab.sees_connection(LOST)
    tab.say("hello from an island")
    expect(tab.alerts).to_have_text("Not sent. Try again / Discard")
    expect(tab.message).to_have_value("hello from an island")

    product.start()
    tab.sees_connection(LIVE)
    tab.button("Try again").click()
    expect(tab.log).to_contain_text("Understood.")
    expect(tab.message).to_have_value("")
    expect(tab.alerts).to_have_count(0)
    expect(tab.log.get_by_text("hello from an island")).to_have_count(1)


def test_a_message_that_was_not_sent_can_be_discarded(product, open_tab, interrupted):
    tab = open_tab().chat(product.conversation("scripted"))
    tab.excuse(*GONE)
    tab.sees_connection(LIVE)
    interrupted()
    tab.say("never mind")
    tab.button("Discard").click()
    expect(tab.message).to_have_value("")
    expect(tab.alerts).to_have_count(0)


def test_after_a_restart_the_page_catches_up_by_itself(product, open_tab, interrupted):
    chat = product.scripted("quick")
    tab = open_tab().chat(chat)
    tab.excuse(*GONE)
    tab.sees_connection(LIVE)
    tab.page.evaluate("window.isTheSamePage = true")
    field = tab.edit(1, "Typed while it was away")
    interrupted()
    tab.sees_connection(LOST)
    product.start()
    add_subtask(product, chat, "Added while the page was away")
    tab.sees_plan(version=2, within=A_POLL)
    expect(tab.rows).to_have_count(4)
    tab.sees_connection(LIVE)
    expect(field).to_have_value("Typed while it was away")
    assert tab.page.evaluate("window.isTheSamePage")


def test_a_run_goes_on_after_a_kill_and_the_open_page_sees_its_end(product, open_tab, interrupted):
    tab = open_tab().chat(product.scripted("stumble"))
    tab.excuse(*GONE)
    tab.sees_connection(LIVE)
    tab.button("Start plan").click()
    expect(tab.log).to_contain_text("Half a sentence")
    interrupted()
    tab.sees_connection(LOST)
    product.start()
    tab.sees_plan(within=A_RUN, state="done", run="idle")
    for row in tab.rows.all():
        expect(row).to_have_attribute("data-state", "done")
    expect(tab.log).not_to_contain_text("Half a sentence")


def test_a_refused_start_or_edit_is_said_while_the_server_is_away(product, open_tab, interrupted):
    tab = open_tab().chat(product.scripted("quick"))
    tab.excuse(*GONE)
    tab.edit(1, "A name that cannot be saved now")
    interrupted()
    editor = tab.editor("Edit subtask 1")
    editor.get_by_role("button", name="Save").click()
    expect(editor.get_by_role("alert")).to_have_text(re.compile("did not get through"))
    expect(editor.get_by_role("textbox").first).to_have_value("A name that cannot be saved now")
    tab.button("Start with my edits").click()
    expect(tab.plan.get_by_text("did not get through").last).to_be_visible()
