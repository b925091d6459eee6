"""The server goes away under an open page, and comes back."""

import re
from functools import partial

import pytest
from playwright.sync_api import expect

from tests.browser.test_tabs import add_subtask
from tests.inner import GOES_AWAY, RESTARTS
from tests.tab import LIVE, OFFLINE, POLLING, RESTARTING

GONE = ("WebSocket", "Failed to load resource", "htmx:(ws:)?error", "net::ERR_")
LATE = 1_100  # ms after which what a socket has not brought is fetched
BETWEEN_POLLS = 5_100  # ms
BETWEEN_LOOKS = 2_000  # ms; while nothing answers
SENT_AGAIN = 2_100  # ms after which what did not get through is sent again
LOST = re.compile(rf"^\s*({OFFLINE}|{POLLING})\s*$")


@pytest.fixture
def interrupted(site):
    """Kill the server: no page is told why."""
    return partial(site.goes_away, says=None)


def tries_now(tab):
    """It is told that there is a network, and does not wait for its next look."""
    tab.page.evaluate("dispatchEvent(new Event('online'))")
    tab.sees_connection(LIVE)


def test_what_is_sent_to_a_killed_server_waits_and_goes_once_it_is_back(
    site, open_tab, clock, interrupted
):
    tab = open_tab().chat(site.conversation())
    tab.expects(*GONE)
    tab.sees_connection(LIVE)
    interrupted()
    tab.sees_connection(LOST)
    waiting = tab.page.get_by_label("Message that waits")
    tab.say("never mind")
    waiting.get_by_role("button", name="Edit").click()
    expect(tab.message).to_have_value("never mind")
    tab.button("Send").click()
    waiting.get_by_role("button", name="Discard").click()
    expect(waiting).to_have_count(0)
    expect(tab.message).to_have_value("")
    expect(tab.alerts).to_have_count(0)
    tab.say("hello from an island")
    tab.say("and again")
    expect(waiting).to_have_text([re.compile("hello from"), re.compile("again")])
    expect(tab.message).to_have_value("")

    expect(tab.page.get_by_text("Planside does not answer")).to_be_visible()
    site.comes_back()
    clock.fast_forward(BETWEEN_LOOKS)
    expect(tab.page.get_by_text("Back online. Sent 2 messages.")).to_be_visible()
    site.drive()
    expect(tab.log).to_contain_text("Understood.")
    expect(waiting).to_have_count(0)
    expect(tab.alerts).to_have_count(0)
    own = tab.log.get_by_label("Your message", exact=True)
    expect(own).to_have_count(2)
    expect(own).to_contain_text(["hello from an island", "and again"])


def test_a_message_whose_answer_was_lost_is_not_taken_in_a_second_time(site, open_tab, clock):
    tab = open_tab().chat(site.conversation())
    tab.expects(*GONE)
    tab.sees_connection(LIVE)
    tries = []

    def lose_the_first_answer(route):
        tries.append(route.request)
        if len(tries) > 1:
            route.continue_()
        else:
            route.fetch()
            route.abort()

    tab.page.route(re.compile("/say$"), lose_the_first_answer)
    tab.say("only once")
    expect(tab.page.get_by_label("Message that waits")).to_contain_text("Waiting to send")
    clock.fast_forward(SENT_AGAIN)
    expect(tab.page.get_by_text("Back online. Sent 1 message.")).to_be_visible()
    assert len(tries) == 2
    expect(tab.log.get_by_text("only once", exact=True)).to_have_count(1)


def test_a_server_that_restarts_is_said_as_that_and_the_page_comes_back(site, open_tab, clock):
    tab = open_tab().chat(site.conversation())
    tab.expects(*GONE)
    with tab.sends():
        tab.say("hello")
    site.drive()
    expect(tab.log).to_contain_text("Understood.")
    site.goes_away(RESTARTS)
    tab.sees_connection(RESTARTING)
    expect(tab.page.get_by_text("This page comes back by itself")).to_be_visible()
    tab.message.fill("typed meanwhile")
    site.comes_back()
    clock.fast_forward(BETWEEN_LOOKS)
    tab.sees_connection(LIVE)
    expect(tab.message).to_have_value("typed meanwhile")
    expect(tab.page.get_by_text("Planside is restarting")).to_have_count(0)


def test_a_server_that_was_stopped_by_hand_does_not_say_that_it_restarts(site, open_tab):
    tab = open_tab().chat(site.conversation())
    tab.expects(*GONE)
    with tab.sends():
        tab.say("hello")
    site.drive()
    expect(tab.log).to_contain_text("Understood.")
    said = tab.page.evaluate_handle(
        """() => { const said = []; const status = document.getElementById("connection");
        new MutationObserver(() => said.push(status.innerText)).observe(status,
        { subtree: true, childList: true, characterData: true }); return said; }"""
    )
    site.goes_away(GOES_AWAY)
    tab.sees_connection(OFFLINE)
    site.comes_back()
    tries_now(tab)
    assert not any(RESTARTING in words for words in said.json_value())


class Hung:
    """A tab whose socket is open; `is_hung` stops what would come through it."""

    def __init__(self, tab):
        self.tab, self.named, self.made = tab, [], 0
        self.is_hung = False
        tab.page.route_web_socket(re.compile("/ws/"), self.route)

    def route(self, socket):
        self.made += 1
        server = socket.connect_to_server()
        server.on_message(lambda frame: None if self.is_hung else socket.send(frame))
        socket.on_message(lambda text: self.take(server, text))

    def take(self, server, text):
        self.named.append(text)
        if not self.is_hung:
            server.send(text)


def test_what_is_done_is_shown_when_the_socket_is_dead_and_nobody_knows(site, open_tab, clock):
    tab = open_tab()
    hung = Hung(tab)
    tab.chat(site.scripted("quick"))
    tab.sees_connection(LIVE)
    hung.is_hung = True
    with tab.sends():
        tab.say("is anybody there")
    tab.has_sent_all()
    clock.fast_forward(LATE)
    expect(tab.log).to_contain_text("is anybody there")
    expect(tab.message).to_have_value("")
    assert hung.named, "it was asked to bring it"
    tab.sees_connection(POLLING)
    tab.rename(1, "Renamed in the dark")
    expect(tab.row(1)).to_contain_text("Renamed in the dark")
    tab.sees_plan(version=2)


def test_what_others_do_is_shown_beside_a_hung_socket_that_is_replaced(site, open_tab, clock):
    shows_beside_a_hung_socket(site, open_tab(), clock, is_closed=True)


def shows_beside_a_hung_socket(site, tab, clock, is_closed):
    chat = site.scripted("quick")
    hung = Hung(tab)
    tab.chat(chat)
    tab.sees_connection(LIVE)
    if is_closed:
        tab.button("Close plan").click()
    tab.page.wait_for_function("document.readyState === 'complete'")
    hung.is_hung = True
    site.says(chat, "/help")
    clock.fast_forward(BETWEEN_POLLS)
    expect(tab.log).to_contain_text("begins a new conversation")
    tab.sees_connection(POLLING)
    made = hung.made
    hung.is_hung = False
    clock.fast_forward(BETWEEN_POLLS)
    tab.sees_connection(LIVE)
    assert hung.made >= made > 1, "it is another socket"
    site.says(chat, "/nothing of the kind")
    expect(tab.log).to_contain_text("/nothing of the kind")


def test_a_socket_that_is_silent_from_the_start_is_no_live_connection(site, open_tab, clock):
    tab = open_tab()
    hung = Hung(tab)
    hung.is_hung = True
    tab.chat(site.scripted("quick"))
    clock.fast_forward(BETWEEN_POLLS)
    tab.sees_connection(POLLING)
    hung.is_hung = False
    clock.fast_forward(BETWEEN_POLLS)
    tab.sees_connection(LIVE)


def test_offline_the_drawer_says_what_was_seen_last_and_takes_no_decision(site, open_tab):
    tab = open_tab().chat(site.started("hang"))
    tab.expects(*GONE)
    tab.sees_connection(LIVE)
    expect(tab.row(2).locator("[data-since]").first).to_have_text(re.compile(r"\d"))
    pause = tab.button("Pause")
    title = pause.get_attribute("title")
    tab.page.context.set_offline(True)
    tab.sees_connection(OFFLINE)
    expect(tab.plan.get_by_text(re.compile(r"Last seen running at \d\d:\d\d:\d\d"))).to_be_visible()
    expect(tab.plan.get_by_text("Running", exact=True)).to_be_hidden()
    expect(tab.plan.get_by_text("Was thinking")).to_be_visible()
    expect(tab.plan.get_by_text("It carries on without this window.")).to_be_visible()
    for name in ("Pause", "Replan", "Stop plan"):
        expect(tab.button(name)).to_have_attribute("aria-disabled", "true")
        expect(tab.button(name)).to_have_attribute("title", re.compile("cannot be reached"))
    tab.button("Stop plan").click(force=True)
    expect(tab.page.get_by_role("dialog")).to_have_count(0)
    tab.page.context.set_offline(False)
    tab.sees_connection(LIVE)
    expect(tab.plan.get_by_text("Running", exact=True)).to_be_visible()
    expect(pause).not_to_have_attribute("aria-disabled", "true")
    assert pause.get_attribute("title") == title


def test_offline_the_chord_that_starts_the_plan_says_why_it_waits_and_sends_nothing(site, open_tab):
    chat = site.scripted("quick")
    tab = open_tab().chat(chat)
    tab.expects(*GONE)
    tab.sees_connection(LIVE)
    start = tab.button("Start plan")
    tab.page.context.set_offline(True)
    tab.sees_connection(OFFLINE)
    expect(start).to_have_attribute("aria-disabled", "true")
    sent = []
    tab.page.on("request", lambda each: sent.append(each) if each.method == "POST" else None)
    tab.button("Edit subtask 1").press("Control+Enter")
    status = tab.page.locator("#status")
    expect(status).to_have_text(re.compile("cannot be reached now"))
    tab.page.evaluate("document.dispatchEvent(new CustomEvent('htmx:after:swap'))")  # late news
    expect(status).to_have_text(re.compile("cannot be reached now"))
    assert not sent
    tab.page.context.set_offline(False)
    tab.sees_connection(LIVE)
    expect(status).not_to_contain_text("cannot be reached")
    assert site.plan(chat)["approved_version"] is None
    tab.page.keyboard.press("Control+Enter")
    tab.sees_plan(approved_version=1)


def test_after_a_restart_the_page_catches_up_by_itself(site, open_tab, interrupted):
    chat = site.scripted("quick")
    tab = open_tab().chat(chat)
    tab.expects(*GONE)
    tab.sees_connection(LIVE)
    tab.page.evaluate("window.isTheSamePage = true")
    field = tab.edit(1, "Typed while it was away")
    interrupted()
    tab.sees_connection(LOST)
    site.comes_back()
    add_subtask(site, chat, "Added while the page was away")
    tries_now(tab)
    tab.sees_plan(version=2)
    expect(tab.rows).to_have_count(4)
    expect(field).to_have_value("Typed while it was away")
    assert tab.page.evaluate("window.isTheSamePage")


def test_a_run_goes_on_after_a_kill_and_the_open_page_sees_its_end(site, open_tab, interrupted):
    tab = open_tab().chat(site.scripted("stumble"))
    tab.expects(*GONE)
    tab.sees_connection(LIVE)
    with tab.sends():
        tab.button("Start plan").click()
    site.drive()
    expect(tab.log).to_contain_text("Half a sentence")
    interrupted()
    tab.sees_connection(LOST)
    site.loses_its_worker()
    site.comes_back()
    tries_now(tab)
    site.drive()
    tab.sees_plan(state="done", run="idle")
    for row in tab.rows.all():
        expect(row).to_have_attribute("data-state", "done")
    expect(tab.log).not_to_contain_text("Half a sentence")


def test_a_refused_start_or_edit_is_said_while_the_server_is_away(site, open_tab, interrupted):
    tab = open_tab().chat(site.scripted("quick"))
    tab.expects(*GONE)
    tab.edit(1, "A name that cannot be saved now")
    interrupted()
    editor = tab.editor("Edit subtask 1")
    editor.get_by_role("button", name="Save").click()
    expect(editor.get_by_role("alert")).to_have_text(re.compile("did not get through"))
    expect(editor.get_by_role("textbox").first).to_have_value("A name that cannot be saved now")
    tab.sees_connection(LOST)
    expect(tab.button("Start with my edits")).to_have_attribute("aria-disabled", "true")
    site.comes_back()
    tries_now(tab)
    expect(tab.page.get_by_text("did not get through")).to_have_count(0)


def test_nothing_is_said_to_go_on_while_the_server_is_gone(site, open_tab, clock, interrupted):
    tab = open_tab().chat(site.started("hang"))
    tab.expects(*GONE)
    elapsed = tab.row(2).locator("[data-since]").first
    expect(elapsed).to_have_text(re.compile(r"\d"))
    tab.sees_connection(LIVE)
    interrupted()
    expect(tab.page.get_by_text("Planside does not answer")).to_be_visible()
    expect(tab.page.get_by_text("works on")).to_have_count(0)
    before = elapsed.inner_text()
    clock.run_for(2_500)
    assert elapsed.inner_text() == before
