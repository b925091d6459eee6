"""The frame itself: a server that stands still until it is driven, and is empty for each test."""

import re
import time

import httpx
import pytest
from playwright.sync_api import expect

from agents.errors import Invalid
from agents.models import Conversation, Turn
from tests.browser.scripted_site import approve
from tests.browser.test_offline import LOST, tries_now
from tests.inner import rename_conversation
from tests.tab import LIVE


def test_numbers_go_on_so_a_late_request_of_the_test_before_finds_nothing(site):
    chat = site.conversation()
    site.prepare()
    assert site.conversation() > chat
    session = site.session()
    late = httpx.get(f"{site.address}/c/{chat}/", cookies={session["name"]: session["value"]})
    assert late.status_code == 404


def test_nobody_else_and_no_file_is_left_of_the_test_before(site):
    left = site.file("left.txt")
    left.parent.mkdir()
    left.write_text("left")
    site.do(site.make_agent, "another")
    site.prepare()
    assert not left.exists()
    assert {each["id"] for each in site.get("/agents")["items"]} == {"docs-writer", "scripted"}
    assert Conversation.objects.count() == 0


def test_nothing_runs_until_it_is_driven_and_then_all_that_is_due(site):
    chat = site.scripted("quick")
    site.do(approve, chat)
    assert site.model.requests == []
    site.drive()
    assert site.plan(chat)["state"] == "done"
    assert not Turn.objects.exclude(state="done").exists()


def test_driving_ends_where_only_a_silent_model_is_waited_for(site):
    chat = site.started("hang")
    states = [each["state"] for each in site.plan(chat)["subtasks"]]
    assert states == ["done", "in_progress", "todo"]


def test_a_refusal_is_raised_where_it_was_asked_for(site):
    chat = Conversation.objects.get(pk=site.conversation())
    with pytest.raises(Invalid, match="Give the conversation a title"):
        site.do(rename_conversation, chat, " ")


def test_open_pages_are_told_of_what_is_done(site, open_tab):
    chat = site.conversation()
    tab = open_tab().chat(chat)
    tab.sees_connection(LIVE)
    tab.page.route(re.compile(r"/c/\d+/changes|/sidebar"), lambda route: route.fulfill(status=304))
    site.do(rename_conversation, Conversation.objects.get(pk=chat), "Named by the test")
    expect(tab.page.get_by_role("heading", level=1)).to_have_text("Named by the test")


def test_a_page_sees_it_go_and_come_back(site, open_tab):
    tab = open_tab().chat(site.conversation())
    tab.expects("WebSocket", "Failed to load resource", "htmx:(ws:)?error", "net::ERR_")
    tab.sees_connection(LIVE)
    site.goes_away(says=None)
    tab.sees_connection(LOST)
    with pytest.raises(httpx.ConnectError):
        httpx.get(site.address)
    site.comes_back()
    tries_now(tab)


def test_it_is_there_again_for_the_next_test(site):
    site.goes_away()
    site.prepare()
    assert httpx.get(f"{site.address}/healthz").status_code == 200


def test_a_moved_clock_is_right_again_for_the_next_test(site, windows):
    hour = 3_600_000
    windows.context_for(site, with_clock=True).clock.fast_forward(hour)
    page = windows.context_for(site, with_clock=True).new_page()
    page.goto(f"{site.address}/plans/")
    assert abs(page.evaluate("Date.now()") - time.time() * 1000) < hour / 2
    page.close()


def test_what_a_page_kept_is_forgotten_for_the_next_test(site, windows):
    page = windows.context_for(site, with_clock=False).new_page()
    page.goto(f"{site.address}/plans/")
    page.evaluate("localStorage.setItem('kept', 'yes')")
    page.close()
    page = windows.context_for(site, with_clock=False).new_page()
    page.goto(f"{site.address}/plans/")
    assert page.evaluate("localStorage.getItem('kept')") is None
    page.close()
