"""What needs the person: said in every tab, listed on one page, and answered there."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.test_approvals import LONG
from tests.fake_model import call, rule
from tests.tab import A_MOMENT, LIVE, OFFLINE, wait_for

A_LOOK = 2_000  # ms between two looks at what waits
RUN = rule(call("shell", command=LONG), user="run the long one", results=0)
ASKS = {"write_file": "ask", "shell": "ask", "list_files": "allow"}


@pytest.fixture
def waiting(site):
    """One thing of each kind waits; their conversations by kind."""
    site.change_agent(tools=ASKS, plan={"enabled": True, "max_attempts": 1})
    chats = {"start": site.scripted("quick")}
    for word, kind in (("fail", "failed"), ("question", "question"), ("approve", "approval")):
        chats[kind] = site.started(word)
    for kind in ("failed", "question", "approval"):
        assert site.plan(chats[kind])["attention"] == kind
    return chats


def card(tab, words):
    return tab.page.locator(".need-card").filter(has_text=words)


def entry(tab, number):
    name = f"Needs you, {number}" if number else "Needs you"
    return tab.page.get_by_role("link", name=name, exact=True)


def settled(tab, words):
    return tab.page.locator("[data-need-settled]").filter(has_text=words)


def titled(tab):
    return tab.page.locator(".need-card h2 a:focus")


def test_nothing_is_decided_while_the_server_is_out_of_reach(site, open_tab, clock):
    site.scripted("quick")
    tab = open_tab("/needs/")
    tab.expects("ERR_INTERNET_DISCONNECTED")
    tab.sees_connection(LIVE)
    expect(tab.page.get_by_text("What the agent is told")).to_be_hidden()  # nothing but names
    start = tab.button("Start plan")
    tab.page.context.set_offline(True)
    tab.sees_connection(OFFLINE)
    expect(start).to_have_attribute("aria-disabled", "true")
    tab.page.context.set_offline(False)
    clock.fast_forward(A_LOOK)
    tab.sees_connection(LIVE)
    start.click()
    expect(settled(tab, "Started")).to_be_visible()


def test_all_that_waits_is_answered_on_one_page_by_keyboard(site, open_tab, clock, waiting):
    tab = open_tab("/needs/")
    keys = tab.page.keyboard
    expect(tab.page).to_have_title("(4) Needs you · Planside")
    expect(tab.page.locator(".need-card")).to_have_count(4)
    expect(tab.page.locator(".need-card").first).to_contain_text("Failed at subtask 2 of 3")

    card(tab, "Failed at").get_by_role("button", name="Skip", exact=True).press("Enter")
    keys.type("the disk is known")
    keys.press("Enter")
    expect(card(tab, "Failed at")).to_have_count(0)
    expect(settled(tab, "Skipped. A plan to fail goes on.")).to_be_visible()
    expect(titled(tab)).to_be_visible()

    card(tab, "Which tone?").get_by_role("textbox", name="Your answer").fill("A dry one")
    keys.press("Control+Enter")
    expect(settled(tab, "Answered. I want to question goes on.")).to_be_visible()
    expect(titled(tab)).to_be_visible()

    allow = card(tab, "Let it use write_file?").get_by_role("button", name="Allow once")
    clock.fast_forward(A_MOMENT)
    allow.press("Enter")
    expect(settled(tab, "Allowed once. I want to approve goes on.")).to_be_visible()

    start = card(tab, "Waiting for you to start it").get_by_role("button", name="Start plan")
    clock.fast_forward(A_MOMENT)
    start.press("Enter")
    expect(settled(tab, "Started. A plan to quick goes on.")).to_be_visible()
    expect(tab.page.get_by_text("Nothing needs you.")).to_be_visible()
    expect(tab.page).to_have_title("Needs you · Planside")
    expect(entry(tab, 0)).to_have_attribute("aria-current", "page")


def test_every_tab_says_how_much_waits_and_hears_of_it_and_what_is_typed_stays(
    site, open_tab, clock
):
    site.started("question")
    chat, page = open_tab().chat(site.scripted("quick")), open_tab("/needs/")
    settings = open_tab("/settings/agents/")
    field = card(page, "Which tone?").get_by_role("textbox", name="Your answer")
    field.fill("A dry")
    expect(entry(chat, 2)).to_be_visible()
    expect(settings.page).to_have_title(re.compile(r"^\(2\) "))
    expect(settings.page.locator("#icon")).to_have_attribute("href", re.compile("waiting"))
    with chat.sends():
        chat.button("Start plan").click()
    clock.fast_forward(A_LOOK)
    expect(entry(chat, 1)).to_be_visible()
    expect(page.page.locator(".need-card")).to_have_count(1)
    expect(settled(page, "Started in another window at")).to_be_visible()
    expect(settings.page).to_have_title(re.compile(r"^\(1\) "))
    site.scripted("quick")
    clock.fast_forward(A_LOOK)
    expect(page.page.locator(".need-card")).to_have_count(2)
    expect(field).to_have_value("A dry")
    expect(field).to_be_focused()


def test_a_long_command_is_read_whole_before_it_is_allowed_there(site, open_tab):
    site.plays(RUN)
    site.change_agent(tools=ASKS)
    site.says(site.conversation(), "run the long one")
    site.drive()
    tab = open_tab("/needs/")
    asked = card(tab, "Run this shell command?")
    expect(asked).to_be_visible()
    allow = asked.get_by_role("button", name="Allow once")
    expect(allow).to_have_attribute("aria-disabled", "true")
    asked.get_by_role("button", name="Deny", exact=True).click()
    tab.page.keyboard.type("too long")
    tab.page.keyboard.press("Control+Enter")
    expect(settled(tab, "Denied. run the long one goes on.")).to_be_visible()


# A browser that tells, whose windows are hidden when a test says so. Firefox runs this on the blank
# page too, which may keep nothing.
TELLS = """
window.told = [];
window.sounded = 0;
window.AudioContext = class {
  currentTime = 0;
  createGain() { return { gain: {}, connect() {} }; }
  createOscillator() { window.sounded += 0.5; return { frequency: {}, connect() {}, start() {}, stop() {} }; }
  close() {}
};
window.Notification = class extends EventTarget {
  static permission = (location.host && localStorage.getItem("leave")) || "granted";
  static async requestPermission() {
    Notification.permission = "granted";
    return "granted";
  }
  constructor(title, { body }) {
    super();
    window.told.push([title, body, this]);
  }
  close() {}
};
Object.defineProperty(document, "hidden", { get: () => Boolean(window.isAway) });
"""
HIDE = "window.isAway = true; document.dispatchEvent(new Event('visibilitychange'))"
# The setting, on a page whose count is drawn anew with each change.
SOUNDS = """() => {
  const hear = () => (document.getElementById("needs-count").dataset.sounds = "");
  new MutationObserver(hear).observe(document.body, { subtree: true, childList: true });
  hear();
}"""
WORDS = "window.told.map(([title, body]) => [title, body])"


@pytest.fixture
def hidden_tabs(open_tab):
    """Two tabs of one browser, neither of them in view."""
    tabs = [open_tab("/plans/"), open_tab("/settings/agents/")]
    for tab in tabs:
        tab.page.add_init_script(TELLS)
        tab.page.reload()
        tab.page.evaluate(HIDE)
    return tabs


def all_told(tabs):
    return [words for tab in tabs for words in tab.page.evaluate(WORDS)]


def told_in_the_end(clock, tabs):
    for _ in range(2):  # nor a second time, by the other one
        clock.fast_forward(A_LOOK)
        for tab in tabs:
            tab.has_sent_all()
    return all_told(tabs)


def test_a_hidden_browser_is_told_once_and_a_press_opens_the_card(site, clock, hidden_tabs):
    for tab in hidden_tabs:
        tab.page.evaluate(SOUNDS)
    site.scripted("quick")
    clock.fast_forward(A_LOOK)
    wait_for(hidden_tabs[0], lambda: all_told(hidden_tabs))
    assert told_in_the_end(clock, hidden_tabs) == [
        ["A plan waits for your start", "A plan to quick, 3 subtasks"]
    ]
    assert sounds(hidden_tabs) == 1
    tab = next(tab for tab in hidden_tabs if tab.page.evaluate("window.told.length"))
    with tab.page.expect_navigation():
        tab.page.evaluate("window.told[0][2].dispatchEvent(new Event('click'))")
    expect(tab.articles.filter(has_text="A plan to quick").last).to_be_in_viewport()


def sounds(tabs):
    return sum(tab.page.evaluate("window.sounded") for tab in tabs)
