"""The rules of docs/rules.md that are about the screen. Most others are in tests/test_rules.py."""

import re
from threading import Event

import pytest
from playwright.sync_api import expect

from tests.browser.model import script
from tests.browser.test_tabs import add_subtask
from tests.fake_model import call, rule
from tests.tab import LIVE, wait_for

ASIDE = re.compile(r'<aside\s+class="drawer"\s+id="plan".*?</aside>', re.DOTALL)
SEQ = re.compile(r'(<aside\s[^>]*data-seq=")(\d+)')


# R7: unsaved edits turn Start into "Start with my edits"


def test_r7_an_unsaved_edit_is_saved_and_approved_by_one_button(site, open_tab):
    chat = site.scripted("hang")
    tab = open_tab().chat(chat)
    tab.button("Edit subtask 3").click()
    expect(tab.editor("Edit subtask 3")).to_be_visible()
    expect(tab.button("Start plan")).to_be_visible()  # nothing is changed yet
    tab.editor("Edit subtask 3").get_by_role("textbox").first.fill("Typed and not saved")
    expect(tab.button("Start plan")).to_be_hidden()
    with tab.sends():
        tab.button("Start with my edits").click()
    site.drive()
    tab.sees_plan(state="in_progress", version=2, approved_version=2)
    expect(tab.row(3)).to_contain_text("Typed and not saved")
    expect(tab.editor("Edit subtask 3")).to_be_hidden()
    plan = site.plan(chat)
    assert plan["subtasks"][2]["name"] == "Typed and not saved"
    assert plan["approved_version"] == plan["version"] == 2


def test_r7_an_editor_closes_although_the_start_is_drawn_before_it_is_answered(site, open_tab):
    chat = site.scripted("hang")
    tab = open_tab().chat(chat)
    tab.sees_connection(LIVE)
    tab.edit(3, "Typed and not saved")

    def answer_late(route):
        answer = route.fetch()
        site.drive()
        tab.sees_plan(state="in_progress")
        route.fulfill(response=answer)

    tab.page.route("**/plan/approve", answer_late)
    tab.button("Start with my edits").click()
    expect(tab.editor("Edit subtask 3")).to_be_hidden()
    expect(tab.row(3)).to_contain_text("Typed and not saved")


# R13: every snapshot carries seq; a client ignores a lower one; socket and poll say the same


WAYS = ("socket", "poll")


def test_r13_an_older_drawer_is_ignored(site, open_tab):
    wire = Wire(open_tab(), site.scripted("quick"))
    tab = wire.tab
    old = wire.drawer()
    tab.rename(1, "The newer name")
    tab.sees_plan(version=2)
    new = wire.drawer()
    # Without waiting: the next poll would put right what an older fragment has done.
    for way in WAYS:
        wire.deliver(old, way)
        assert tab.plan.get_attribute("data-version") == "2"
        assert "The newer name" in tab.names()
    # Under a later number they are shown: it was the number that kept the older one out.
    for way, text, version, seq in (("socket", old, "1", 999998), ("poll", new, "2", 999999)):
        wire.deliver(SEQ.sub(rf"\g<1>{seq}", text), way)
        assert tab.plan.get_attribute("data-version") == version


def test_r13_an_older_drawing_takes_nothing_out_of_the_log(site, open_tab):
    answers = Event()
    first = call("finish_subtask", outcome="Did that.") | {"wait": answers}
    held = rule(first, times=1, user=r"s\d+: Read", offered="finish_subtask")
    site.plays(held, *script()["rules"])
    wire = Wire(open_tab(), site.scripted("quick"))
    tab = wire.tab
    seq = tab.plan.get_attribute("data-seq")
    with tab.sends():
        tab.button("Start plan").click()
    site.drive()
    assert site.model.requests
    before_the_reply = wire.changes(seq)
    answers.set()
    site.drive()
    tab.sees_plan(state="done", run="idle")
    expect(tab.log).to_contain_text("All is done.")
    groups = tab.log.locator("details.turn-group")
    expect(groups).to_have_count(3)
    shown = tab.log.evaluate("log => log.textContent")
    for way in WAYS:
        wire.deliver(before_the_reply, way)
        assert groups.count() == 3
        assert tab.log.evaluate("log => log.textContent") == shown


def test_r13_an_older_drawing_of_a_turn_is_ignored(site, open_tab):
    wire = Wire(open_tab(), site.conversation("scripted"))
    tab = wire.tab
    with tab.sends():
        tab.say("hello")
    site.drive()
    expect(tab.log).to_contain_text("Understood.")
    seq = tab.page.locator("#cursor").get_attribute("data-seq")
    with tab.sends():
        tab.say("say half of it")
    site.drive()
    expect(tab.log).to_contain_text("Half of an answer")
    half = wire.changes(seq)
    with tab.sends():
        tab.button("Stop the reply").click()
    site.drive()
    expect(tab.log).to_contain_text("You stopped this reply.")
    shown = tab.log.evaluate("log => log.textContent")
    wire.deliver(half, "socket")
    assert tab.log.evaluate("log => log.textContent") == shown


def test_r13_socket_and_poll_give_the_same_drawer(site, open_tab):
    wire = Wire(open_tab(), site.scripted("quick"))
    tab = wire.tab
    wire.frames.clear()
    tab.rename(1, "Another name")
    tab.sees_plan(version=2)
    seq = tab.plan.get_attribute("data-seq")
    wait_for(tab, lambda: wire.by_socket(seq))
    polled = ASIDE.search(wire.drawer())[0]
    assert SEQ.search(polled)[2] == seq
    assert wire.by_socket(seq) == polled


# What the page has begun to swap is in it with the second frame.
DRAWN = """() => new Promise((done) =>
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"""


class Wire:
    """A tab whose socket runs through the test."""

    def __init__(self, tab, chat):
        self.tab, self.frames = tab, []
        tab.page.route_web_socket("**/ws/**", self.route)
        tab.chat(chat)
        tab.sees_connection(LIVE)
        self.path = f"/c/{chat}/drawer"

    def route(self, socket):
        self.socket = socket
        server = socket.connect_to_server()
        server.on_message(self.hear)

    def hear(self, frame):
        self.frames.append(frame)
        self.socket.send(frame)

    def by_socket(self, seq):
        drawers = [found[0] for frame in self.frames if (found := ASIDE.search(frame))]
        return next((html for html in drawers if SEQ.search(html)[2] == seq), None)

    def drawer(self):
        """What a poll would get now."""
        return self.tab.page.request.get(self.tab.address + self.path).text()

    def changes(self, after):
        """What a page that has seen this number would get now."""
        path = self.path.replace("drawer", f"changes?after={after}")
        return self.tab.page.request.get(self.tab.address + path).text()

    def deliver(self, text, way):
        """Let it arrive, and come back when the page has had time to show it."""
        if way == "socket":
            self.socket.send(text)
        else:
            self.tab.page.route(f"**{self.path}", lambda route: route.fulfill(body=text))
            with self.tab.page.expect_response(f"**{self.path}"):
                self.tab.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
            self.tab.page.unroute(f"**{self.path}")
        self.tab.page.evaluate(DRAWN)


# R20: on opening one snapshot with seq, then what comes after it


def test_r20_nothing_falls_between_the_page_and_its_socket(site, open_tab):
    chat = site.scripted("quick")
    tab, asked = open_tab(), []

    def route(socket):
        """The socket opens only after something has happened that the page does not know."""
        add_subtask(site, chat, "Between page and socket")
        asked.append(socket.url)
        socket.connect_to_server()

    tab.page.route(re.compile(r"/c/\d+/(changes|drawer)"), lambda route: route.fulfill(status=304))
    tab.page.route_web_socket("**/ws/**", route)
    tab.chat(chat)
    tab.sees_plan(version=2)  # and no poll has brought it
    expect(tab.row(4)).to_contain_text("Between page and socket")
    after = int(re.search(r"after=(\d+)", asked[0])[1])
    assert 0 < after < int(tab.plan.get_attribute("data-seq"))


def test_r20_what_is_there_is_not_added_again(site, open_tab):
    chat = site.scripted("quick")
    tab = open_tab().chat(chat)
    tab.sees_connection(LIVE)
    with tab.sends():
        tab.say("hello")
    site.drive()
    expect(tab.log).to_contain_text("Understood.")
    ids = tab.log.locator("article").evaluate_all("all => all.map(e => e.id)")
    assert len(ids) == len(set(ids))
    tab.page.reload()
    tab.sees_connection(LIVE)
    expect(tab.log.locator("article")).to_have_count(len(ids))


# R22: pending approvals, questions and confirmations are part of the snapshot


def as_opened_and_reloaded(tab):
    yield
    tab.page.reload()
    yield


def test_r22_a_question_is_there_after_a_reload_and_can_be_answered(site, open_tab):
    chat = site.started("question")
    tab = open_tab().chat(chat)
    for _ in as_opened_and_reloaded(tab):
        expect(tab.plan.get_by_role("group", name="Scripted asks")).to_contain_text("Which tone?")
        expect(tab.log.get_by_role("group", name="Scripted asks")).to_contain_text("Which tone?")
        expect(tab.button("Allow once")).to_have_count(0)
    with tab.sends():
        tab.say("A dry one")
    site.drive()
    tab.sees_plan(state="done")
    expect(tab.plan.get_by_role("group", name="Scripted asks")).to_have_count(0)


def test_r22_an_approval_is_there_after_a_reload_and_can_be_given(site, open_tab, careful):
    chat = site.started("approve")
    tab = open_tab().chat(chat)
    for _ in as_opened_and_reloaded(tab):
        group = tab.log.get_by_role("group", name=re.compile("write_file"))
        for name in ("Allow once", "Always allow", "Deny"):
            expect(group.get_by_role("button", name=name, exact=True)).to_be_visible()
        expect(tab.plan).to_contain_text("Waiting for you: write_file")
    assert not site.file("new.txt").exists()
    with tab.sends():
        tab.button("Allow once").click()
    site.drive()
    tab.sees_plan(state="done")
    assert site.file("new.txt").read_text() == "new"


# R26: the log does not speak each token; one polite status; errors are alerts, once

SPOKEN = """() => {
  window.spoken = [];
  const isUnseen = (e) => getComputedStyle(e).display === "none";
  const politeness = (node) => {
    for (let e = node; e instanceof Element; e = e.parentElement) {
      if (isUnseen(e) || e.getAttribute("aria-busy") === "true" || e.getAttribute("aria-hidden") === "true") return "off";
      const said = e.getAttribute("aria-live");
      if (said) return said;
      if (["log", "status"].includes(e.getAttribute("role"))) return "polite";
      if (e.getAttribute("role") === "alert") return "assertive";
    }
    return "off";
  };
  const words = (node) => {
    if (node instanceof Text) return node.data;
    if (!(node instanceof Element) || node.matches("[aria-live=off], [aria-hidden=true], [hidden]") || isUnseen(node)) return "";
    return [...node.childNodes].map(words).join(" ");
  };
  new MutationObserver((records) => {
    for (const { target, addedNodes, type } of records) {
      const at = target instanceof Element ? target : target.parentElement;
      const text = type === "characterData" ? target.data : [...addedNodes].map(words).join(" ");
      if (text.trim() && at && politeness(at) !== "off") window.spoken.push([at.closest("[id]")?.id, text.trim()]);
    }
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
}"""


@pytest.mark.usefixtures("working")
def test_r26_a_reply_is_not_spoken_token_by_token(site, open_tab):
    tab = open_tab().chat(site.conversation("scripted"))
    tab.sees_connection(LIVE)
    tab.page.evaluate(SPOKEN)
    tab.say("tell me slowly")
    expect(tab.log).to_contain_text("Paragraph 8")
    expect(tab.button("Stop the reply")).to_be_hidden()
    spoken = tab.page.evaluate("window.spoken")
    growing = [text for _, text in spoken if "Paragraph" in text]
    assert len(growing) <= 1, growing
    assert ["status", "Scripted is answering"] in spoken


def test_r26_one_polite_status_says_what_happens(site, open_tab):
    chat = site.scripted("hang")
    tab = open_tab().chat(chat)
    status = tab.page.locator("#status")
    expect(status).to_have_role("status")
    expect(status).to_have_text("Needs you: Waiting for you to start it")
    expect(tab.plan).to_contain_text("Waiting for you to start it")
    with tab.sends():
        tab.button("Start plan").click()
    site.drive()
    expect(status).to_have_text(re.compile(r"^\s*Subtask 1 of 3 done"))
    named = tab.page.get_by_role("status").filter(
        has_text=re.compile("Subtask|Needs you|answering")
    )
    expect(named).to_have_count(1)


def test_r26_an_error_is_an_alert_once(site, open_tab):
    tab = open_tab().chat(site.conversation("scripted"))
    tab.sees_connection(LIVE)
    tab.page.evaluate(SPOKEN)
    with tab.sends():
        tab.say("refuse the key")
    site.drive()
    expect(tab.alerts).to_have_count(1)
    expect(tab.alerts).to_contain_text("The model refused the key")
    expect(tab.button("Stop the reply")).to_be_hidden()
    spoken = [text for _, text in tab.page.evaluate("window.spoken")]
    assert len([text for text in spoken if "refused the key" in text]) <= 1, spoken


# R27: progress bars, the drawer as a region beside the page, everything by keyboard


def test_r27_the_bar_says_its_values(site, open_tab):
    tab = open_tab().chat(site.started("fail"))
    expect(tab.button("Retry subtask 2")).to_be_visible()
    says_values(tab, 1, 3, "1 of 3 · 1 by word")
    tab.button("Skip subtask 2").click()
    tab.button("Skip").click()
    says_values(tab, 2, 3, "2 of 3 · 1 by word, 1 abandoned")
    expect(tab.row(2)).to_have_attribute("data-state", "abandoned")
    expect(tab.row(2).get_by_role("img", name="Skipped")).to_be_visible()
    expect(tab.plan).to_contain_text("1 by word, 1 abandoned")


def says_values(tab, now, most, text):
    expect(tab.progress).to_have_attribute("aria-valuenow", str(now))
    expect(tab.progress).to_have_attribute("aria-valuemin", "0")
    expect(tab.progress).to_have_attribute("aria-valuemax", str(most))
    expect(tab.progress).to_have_attribute("aria-valuetext", text)


def test_r27_each_state_is_also_a_word(site, open_tab):
    tab = open_tab().chat(site.started("hang"))
    expect(tab.row(2)).to_have_attribute("aria-current", "step")
    for number, word in [(1, "Done, by the agent’s word"), (2, "In progress"), (3, "To do")]:
        expect(tab.row(number).get_by_role("img", name=word, exact=True)).to_be_visible()
    expect(tab.subtasks.locator("[aria-current]")).to_have_count(1)
    assert tab.page.locator("[data-state]:not(#plan):not(li[data-key])").count() == 0
    assert tab.subtasks.evaluate(
        "list => [...list.children].every(e => e.matches('li[data-key][data-state]'))"
    )


def test_r27_the_drawer_stands_beside_the_page_and_gives_focus_back(site, open_tab):
    tab = open_tab().chat(site.scripted("quick"))
    expect(tab.plan).to_be_visible()
    assert tab.plan.get_attribute("aria-modal") is None
    expect(tab.drawer_toggle).to_have_attribute("aria-expanded", "true")
    tab.message.fill("Typed while the drawer is open")
    tab.page.keyboard.press("Control+.")
    expect(tab.plan).to_be_hidden()
    expect(tab.message).to_be_focused()
    tab.page.keyboard.press("Control+.")
    expect(tab.plan).to_be_visible()
    expect(tab.plan.locator(":focus")).to_have_count(1)
    tab.page.keyboard.press("Control+.")
    expect(tab.plan).to_be_hidden()
    expect(tab.drawer_toggle).to_be_focused()
    expect(tab.drawer_toggle).to_have_attribute("aria-expanded", "false")
    tab.page.keyboard.press("Enter")
    expect(tab.plan).to_be_visible()
    tab.plan.get_by_role("button", name="Close plan").click()
    expect(tab.drawer_toggle).to_be_focused()


def test_r27_a_plan_is_edited_and_started_by_keyboard_alone(site, open_tab):
    tab = open_tab().chat(site.scripted("hang"))
    press = tab.page.keyboard.press
    cell = tab.row(1).get_by_role("group", name=re.compile("^Subtask 1"))
    reach(tab, cell)
    press("F2")
    expect(tab.editor("Edit subtask 1").get_by_role("textbox").first).to_be_focused()
    press("Control+a")
    tab.page.keyboard.type("Written by keyboard")
    press("Enter")
    tab.sees_plan(version=2)
    expect(tab.row(1)).to_contain_text("Written by keyboard")
    expect(tab.row(1).locator(":focus")).to_have_count(1)

    press("Alt+ArrowDown")
    tab.sees_plan(version=3)
    expect(tab.row(2)).to_contain_text("Written by keyboard")
    expect(tab.page.locator("#status")).to_have_text("Moved to 2 of 3")
    expect(tab.row(2).locator(":focus")).to_have_count(1)
    press("Alt+ArrowUp")
    tab.sees_plan(version=4)
    expect(tab.row(1)).to_contain_text("Written by keyboard")
    expect(tab.row(1).locator(":focus")).to_have_count(1)

    press("Enter")
    expect(tab.editor("Edit subtask 1")).to_be_visible()
    press("Escape")
    expect(tab.editor("Edit subtask 1")).to_be_hidden()
    press("Delete")
    tab.sees_plan(version=5)
    expect(tab.rows).to_have_count(2)
    expect(tab.plan.locator(":focus")).to_have_count(1)
    expect(tab.button("Start v5")).to_be_visible()
    with tab.sends():
        press("Control+Enter")
    site.drive()
    tab.sees_plan(state="in_progress", approved_version=5)


def test_r27_what_was_removed_comes_back_by_undo(site, open_tab):
    tab = open_tab().chat(site.scripted("quick"))
    before = tab.names()
    for place in (1, 2, 3):
        tab.remove(place)
        expect(tab.rows).to_have_count(2)
        toast = tab.page.get_by_role("status").filter(has_text=f"Removed subtask {place}")
        expect(toast).to_be_visible()
        tab.button("Undo").click()
        expect(tab.rows).to_have_count(3)
        assert tab.names() == before


def reach(tab, place, most=60):
    """By the Tab key, as somebody without a mouse does."""
    for _ in range(most):
        if place.evaluate("e => e === document.activeElement"):
            return
        tab.page.keyboard.press("Tab")
    pytest.fail("the Tab key does not lead there")


def test_the_drawer_is_read_afresh_when_it_is_opened_again(site, open_tab):
    tab = open_tab().chat(site.proposed())
    tab.sees_plan(version=1)
    tab.button("Close plan").click()
    asked = []
    tab.page.on("request", lambda each: asked.append(each.url.rpartition("/")[2]))
    tab.page.locator("[data-toggle-drawer]").click()
    tab.has_sent_all()  # long before the next poll
    assert "drawer" in asked
