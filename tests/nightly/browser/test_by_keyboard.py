"""The whole main job by Tab, Enter, arrows and Esc alone: no pointer, and no script moves the focus.

At every step what has the focus is in view, and an outline or a shadow says so; where one searches,
the caret and the row that Enter opens do.
"""

import json
import re

import pytest
from playwright.sync_api import Error, expect

from tests.tab import A_MOMENT, LIVE

FAR = 150  # presses of Tab; no page has as many stops
SECOND = "^(Subtask 2|2Then)"
FOCUS = """() => {
  const each = document.activeElement;
  if (!each || each === document.body) return null;
  const words = (e) => (e?.innerText ?? "").replace(/\\s+/g, " ").trim();
  const labelled = (each.getAttribute("aria-labelledby") ?? "").split(" ").filter(Boolean);
  const name = each.ariaLabel
    || labelled.map((id) => words(document.getElementById(id))).join(" ")
    || [...(each.labels ?? [])].map((label) => label.textContent.replace(/\\s+/g, " ").trim()).join(" ")
    || words(each) || each.title || each.id;
  const { top, left, bottom, right } = each.getBoundingClientRect();
  const isInView = bottom > 0 && right > 0 && top < innerHeight && left < innerWidth;
  const rings = (e) => { const s = getComputedStyle(e);
    return (s.outlineStyle !== "none" && parseFloat(s.outlineWidth) > 0) || s.boxShadow !== "none"; };
  const around = [each, each.parentElement, each.parentElement?.parentElement, each.closest("form, fieldset, label")];
  return { name, isInView, html: each.outerHTML.slice(0, 120),
    isMarked: each.role === "combobox" || around.some((e) => e && rings(e)) };
}"""


class Keyboard:
    """A tab that is used by keys alone."""

    def __init__(self, tab):
        self.tab, self.page = tab, tab.page

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def type(self, text):
        self.page.keyboard.type(text)

    def focus(self):
        """What has the focus; a fault of its looks fails the test."""
        now = self.look()
        if now and not (now["isInView"] and now["isMarked"]):  # it may be scrolling there
            self.until("!now || (now.isInView && now.isMarked)")
            now = self.look()
        assert now is None or now["isInView"], f"out of view: {now['html']}"
        assert now is None or now["isMarked"], f"not to be seen: {now['html']}"
        return now

    def until(self, is_so, *more):
        """Wait until this is so of what has the focus `now`; whether it has become so."""
        try:
            of_focus = f"(more) => {{ const now = ({FOCUS})(); return {is_so}; }}"
            self.page.wait_for_function(of_focus, arg=list(more))
        except Error:  # in vain, or another page opens
            self.page.wait_for_load_state()

    def look(self):
        """What has the focus, also while another page opens."""
        while True:
            try:
                return self.page.evaluate(FOCUS)
            except Error:
                self.page.wait_for_load_state()

    def to(self, name, key="Tab"):
        """Go on until what is called so has the focus."""
        passed = []
        for _ in range(FAR):
            now = self.focus()
            if now and re.search(name, now["name"]):
                return self
            passed.append(now["name"][:30] if now else "the page")
            self.press(key)
        pytest.fail(f"no stop is called {name}: {passed}")

    def back_to(self, name):
        return self.to(name, "Shift+Tab")

    def enter(self, name):
        """Once a press of what starts something counts (static/js/approving.js)."""
        place = self.to(name)
        self.page.clock.run_for(A_MOMENT)
        place.press("Enter")

    def is_at(self, name):
        """The focus comes there by itself."""
        self.until("now && new RegExp(more[0]).test(now.name)", name)
        now = self.focus()
        assert now and re.search(name, now["name"]), f"the focus is at {now}, not at {name}"

    def is_kept(self):
        """It is somewhere: who presses a button does not begin at the top of the page again."""
        self.page.clock.run_for(300)
        self.until("now")  # an answer may be on its way
        assert self.focus(), "the focus is lost"


@pytest.fixture
def keys(site, clock, open_tab):
    return Keyboard(open_tab())


@pytest.fixture
def first_run(settings, site, clock, open_tab):
    """A person at the first page of a new home, beside which models run."""
    settings.PLANSIDE_MODEL_IS_SET = False
    site.prepare()
    tab = open_tab(signed_in=False)
    tab.page.goto(site.link)
    return Keyboard(tab)


def test_from_the_first_run_to_a_message_with_a_file_and_back_to_it(site, first_run):
    keys, tab = first_run, first_run.tab
    first = tab.page.url
    keys.is_at("another-model")
    keys.press("ArrowDown", "Enter")
    keys.is_at("^Message")
    keys.type("hello there")
    with tab.sends():
        keys.press("Enter")
    site.drive()
    expect(tab.log).to_contain_text("Understood.")
    keys.is_at("^Message")
    keys.to("^Attach files")
    with tab.page.expect_file_chooser() as chooser:
        keys.press("Enter")
    chooser.value.set_files([{"name": "a.txt", "mimeType": "text/plain", "buffer": b"one"}])
    keys.is_at("^Message")
    expect(tab.button("Remove a.txt")).to_be_visible()
    keys.type("read it")
    keys.press("Enter")
    expect(tab.log.get_by_role("link", name="a.txt")).to_be_visible()
    site.drive()
    expect(tab.button("Stop the reply")).to_have_count(0)
    keys.enter("^New chat")
    keys.is_at("^Docs writer")
    keys.press("Enter")
    expect(tab.page).not_to_have_url(first)
    keys.is_at("^Message")
    keys.enter("^Search")
    keys.is_at("^Search everything")
    keys.type("there")
    found = tab.page.get_by_role("option").filter(has_text="hello there").first
    expect(found).to_be_visible()
    expect(tab.page.locator("#palette")).to_have_attribute("data-drawn", "there")
    while found.get_attribute("aria-selected") != "true":
        keys.press("ArrowDown")
    keys.press("Enter")
    expect(tab.page).to_have_url(re.compile(f"^{re.escape(first)}"))
    keys.is_kept()


def test_a_plan_is_asked_for_commented_on_edited_and_started(site, keys):
    tab = keys.tab.chat(site.conversation("scripted"))
    tab.sees_connection(LIVE)
    keys.is_at("^Message")
    keys.type("/plan I want to quick")
    with tab.sends():
        keys.press("Enter")
    site.drive()
    expect(tab.button("Start plan")).to_be_visible()
    keys.is_at("^Message")
    keys.enter("^Comment on subtask 2")
    expect(tab.plan.get_by_role("textbox", name="Comment on subtask 2")).to_be_focused()
    keys.is_at("^Comment on subtask 2")
    keys.type("check first")
    keys.enter("^Keep comment")
    keys.is_at("^Comment on subtask 2")
    expect(tab.button("Ask for changes 1, comment")).to_be_visible()
    with tab.sends():
        keys.enter("^Ask for changes 1, comment")
    site.drive()
    tab.sees_plan(version=2)
    keys.is_kept()
    keys.back_to("^Subtask 1").press("Enter")
    keys.is_at("Name")
    keys.press("Control+a")
    keys.type("Read it twice")
    keys.press("Enter")
    tab.sees_plan(version=3)
    keys.is_at("^Subtask 1")
    expect(tab.row(1)).to_contain_text("Read it twice")
    keys.enter("^Start v3")
    tab.sees_plan(approved_version=3)
    keys.is_kept()


def test_a_run_is_paused_and_stopped(site, keys):
    tab = keys.tab.chat(site.started("hang"))
    tab.sees_connection(LIVE)
    expect(tab.log).to_contain_text("I am at it")
    keys.enter("^Pause$")
    tab.sees_plan(run="pausing")
    keys.is_kept()
    keys.enter("^Stop plan")
    keys.press("Escape")
    keys.is_at("^Stop plan")
    keys.press("Enter")
    with tab.sends():
        keys.enter("^Stop plan")
    site.drive()
    tab.sees_plan(run="idle")
    keys.is_kept()


def test_a_call_is_allowed_and_another_one_denied(site, keys, careful):
    tab = keys.tab.chat(site.started("approve"))
    expect(tab.button("Allow once")).to_be_visible()
    with tab.sends():
        keys.back_to("^Allow once").press("Enter")
    expect(tab.log).to_contain_text("allowed once")
    keys.is_kept()
    site.drive()
    tab.sees_plan(state="done")
    tab.chat(site.conversation("scripted"))
    keys.is_at("^Message")
    keys.type("write it down")
    with tab.sends():
        keys.press("Enter")
    site.drive()
    expect(tab.button("Allow once")).to_be_visible()
    keys.back_to("^Deny").press("Enter")
    keys.is_at("Tell the agent why")
    keys.press("Escape")
    keys.is_at("^Deny")
    expect(tab.button("Allow once")).to_be_visible()
    keys.press("Enter")
    keys.is_at("Tell the agent why")
    keys.type("not into this folder")
    with tab.sends():
        keys.enter("^Deny")
    expect(tab.log).to_contain_text("Denied by you")
    keys.is_kept()
    site.drive()
    assert "not into this folder" in json.dumps(site.model.requests)


def test_a_failed_subtask_is_tried_again_and_skipped(site, keys):
    tab = keys.tab.chat(site.started("fail"))
    expect(tab.button("Retry subtask 2")).to_be_visible()
    with tab.sends():
        keys.enter("^Retry subtask 2")
    keys.is_at(SECOND)
    site.drive()
    expect(tab.button("Retry subtask 2")).to_be_visible()
    keys.is_kept()
    keys.enter("^Skip subtask 2")
    keys.enter("^Skip$")
    expect(tab.row(2)).to_have_attribute("data-state", "abandoned")
    keys.is_at(SECOND)


def test_the_settings_of_an_agent_a_provider_and_a_token(site, keys):
    tab = keys.tab.open("/")
    keys.enter("^Settings$")
    tab.page.wait_for_url("**/settings/**")
    keys.enter("^Scripted")
    keys.to("^Description")
    keys.press("Control+a")
    keys.type("Typed by key")
    keys.press("Enter")
    expect(tab.page.get_by_text("The description is changed.")).to_be_visible()
    keys.is_kept()
    assert "Typed by key" in site.agent_file("scripted").read_text()

    keys.back_to("^Models").press("Enter")
    tab.page.wait_for_url("**/settings/models/**")
    keys.enter("^Add provider")
    keys.is_at("^Name")
    keys.type("nearby")
    keys.to("^Base URL")
    keys.type("http://127.0.0.1:9/v1")
    keys.press("Enter")
    tab.page.wait_for_url("**provider=nearby")
    keys.is_at("^nearby")
    keys.enter("Address, protocol, headers and prices")
    keys.enter("^Remove provider")
    keys.enter("^Remove provider")
    expect(tab.page.locator("#provider-nearby")).to_have_count(0)
    keys.is_kept()

    keys.back_to("^Account").press("Enter")
    tab.page.wait_for_url("**/settings/account/**")
    keys.enter("^New token")
    keys.is_at("^Name, after what uses it")
    keys.type("By keyboard")
    keys.press("Enter")
    keys.is_at("^Copy token")
    keys.enter("^Revoke By keyboard")
    keys.is_at("^Keep")
    keys.enter("^Revoke")
    expect(tab.button("Revoke By keyboard")).to_have_count(0)
    keys.is_kept()
