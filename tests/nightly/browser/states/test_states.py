"""Every state of the product, opened twice: as it becomes so on an open page, and after a reload.

No script may fail, no request may break, the keys work, a message can be sent, and what is read
first is the same before and after.
"""

import re

import pytest
from playwright.sync_api import expect

from tests.images import PETROL, RED, png
from tests.tab import A_RUN, LIVE, wait_for

READ = """() => {
  const text = (e) => e?.innerText.replace(/\\d[\\d:.,]* ?(s|min|%)?/g, "#").replace(/\\s+/g, " ").trim();
  const plan = document.querySelector("#plan");
  const { planId, state, run, version, approvedVersion } = plan?.dataset ?? {};
  const seen = (root, which) => [...(root?.querySelectorAll(which) ?? [])].filter((e) => e.checkVisibility());
  return {
    status: text(document.querySelector("#status")),
    heading: text(document.querySelector("h1")),
    plan: [planId, state, run, version, approvedVersion],
    rows: seen(plan, "li[data-key]").map((e) => [e.dataset.state, text(e.querySelector("b"))]),
    buttons: seen(plan, "#plan-actions button").map(text),
    log: seen(document, "#log article").filter((e) => !e.closest("details.turn-group")).map((e) => [e.dataset.role, e.dataset.kind, text(e)]),
  };
}"""


class State:
    """A server and an open tab, brought into a state step by step."""

    def __init__(self, site, tab):
        self.site, self.tab = site, tab

    def chat(self, agent="scripted"):
        self.id = self.site.conversation(agent)
        self.tab.chat(self.id)
        self.tab.sees_connection(LIVE)
        return self.tab

    def asked(self, word, agent="scripted"):
        """A plan that is asked for on the open page, and proposed."""
        tab = self.chat(agent)
        tab.say(f"/plan I want to {word}")
        expect(tab.button("Start plan")).to_be_visible(timeout=A_RUN)
        return tab

    def started(self, word, agent="scripted"):
        tab = self.asked(word, agent)
        tab.button("Start plan").click()
        tab.sees_plan(approved_version=1)  # what runs may be over before one looks
        return tab

    def failed(self):
        tab = self.started("fail")
        tab.sees_plan(within=A_RUN, run="idle")
        expect(tab.button("Retry subtask 2")).to_be_visible()
        return tab

    # On no page

    def made(self, word, agent="scripted"):
        """A conversation whose plan waits to be started."""
        made = self.site.post("/plans", agent=agent, goal=f"I want to {word}")
        self.wait(made["conversation"], lambda plan: plan is not None)
        return made["conversation"]

    def begun(self, word, agent="scripted"):
        chat = self.made(word, agent)
        self.approve(chat)
        return chat

    def approve(self, chat):
        plan = self.site.plan(chat)
        self.site.post(f"/plans/{plan['id']}/approve", version=plan["version"])

    def wait(self, chat, is_so):
        """The plan in the drawer, once this is true of it."""
        wait_for(self.tab, lambda: is_so(self.site.plan(chat)), A_RUN)
        return self.site.plan(chat)


def confirmed(tab, name):
    tab.button(name).click()
    tab.page.get_by_role("dialog").get_by_role("button", name=name, exact=True).click()


def empty(s):
    expect(s.chat().page.get_by_role("heading", name="What should")).to_be_visible()


def answered(s):
    s.chat().say("hello")
    expect(s.tab.log).to_contain_text("Understood.")


def streaming(s):
    s.chat().say("say half of it")
    expect(s.tab.log).to_contain_text("Half of an answer")


def queued(s):
    streaming(s)
    s.tab.say("and this")
    expect(s.tab.log).to_contain_text("Waiting to send")


def stopped(s):
    streaming(s)
    s.tab.button("Stop the reply").click()
    expect(s.tab.log).to_contain_text("You stopped this reply.")


def attached(s):
    """A picture and a file in a message, and two of them in the message box."""
    tab, field = s.chat(), s.tab.page.locator("#files")
    picture = {"name": "shot.png", "mimeType": "image/png", "buffer": png(300, 200, (RED, PETROL))}
    note = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"a note"}
    tiles = tab.page.locator("#attachments .attachment")
    field.set_input_files([picture, note])
    expect(tiles).to_have_count(2)
    tab.say("look at this")
    expect(tab.log).to_contain_text("Understood.")
    field.set_input_files([picture, note])
    expect(tiles).to_have_count(2)


def error_card(s):
    s.chat().say("refuse the key")
    expect(s.tab.alerts).to_contain_text("The model refused the key")


def tool_asked(s):
    s.chat("careful").say("write it down")
    expect(s.tab.button("Allow once")).to_be_visible()


def denied(s):
    tool_asked(s)
    s.tab.button("Deny").click()
    s.tab.button("Deny").last.click()
    expect(s.tab.log).to_contain_text("Denied by you")
    expect(s.tab.log).to_contain_text("Understood.")


def plan_alone(s):
    s.chat().say("/plan")
    expect(s.tab.log).to_contain_text("No plan here yet")


def plan_mode_off(s):
    s.chat("planless").say("/plan anything")
    expect(s.tab.log).to_contain_text("/plan is off")


def planning(s):
    s.chat().say("/plan think it over for ever")
    expect(s.tab.button("Cancel planning")).to_be_visible()


def proposed(s):
    s.asked("quick")


def edited(s):
    s.asked("quick").rename(2, "Another name")
    s.tab.sees_plan(version=2)


def commented(s):
    tab = s.asked("quick")
    tab.button("Comment on subtask 2").click()
    tab.plan.get_by_role("textbox", name="Comment on subtask 2").fill("Twice.")
    tab.button("Keep comment").click()
    expect(tab.button("Ask for changes 1, comment")).to_be_visible()


def running(s):
    expect(s.started("hang").row(2)).to_have_attribute("data-state", "in_progress")
    expect(s.tab.log).to_contain_text("I am at it")


def pausing(s):
    running(s)
    s.tab.button("Pause").click()
    s.tab.sees_plan(run="pausing")


def stopped_run(s):
    running(s)
    confirmed(s.tab, "Stop plan")
    expect(s.tab.button("Start again")).to_be_visible()


def question(s):
    expect(s.started("question").plan.get_by_text("Which tone?")).to_be_visible()
    expect(s.tab.log).to_contain_text("Which tone?")


def approval(s):
    expect(s.started("approve", "careful").button("Allow once")).to_be_visible()


def retrying(s):
    s.started("retry")
    expect(s.tab.log).to_contain_text("Next try in")


def failed(s):
    s.failed()


def done(s):
    s.started("quick").sees_plan(within=A_RUN, state="done", run="idle")
    expect(s.tab.log.get_by_role("article").last).to_contain_text("Finished at")


def done_with_skipped(s):
    s.failed().button("Skip subtask 2").click()
    s.tab.button("Skip").click()
    expect(s.tab.row(2)).to_have_attribute("data-state", "abandoned")
    s.tab.button("Go on").click()
    s.tab.sees_plan(within=A_RUN, state="done", run="idle")
    expect(s.tab.log.get_by_role("article").last).to_contain_text("Finished at")


def cancelled(s):
    confirmed(s.asked("quick"), "Cancel plan")
    s.tab.sees_plan(state="abandoned")


def superseded(s):
    first = s.asked("quick").plan.get_attribute("data-plan-id")
    s.tab.say("/plan I want to hang")
    expect(s.tab.plan).not_to_have_attribute("data-plan-id", first, timeout=A_RUN)
    expect(s.tab.button("Start plan")).to_be_visible()


def cleared(s):
    s.asked("quick").say("/clear")
    expect(s.tab.rows).to_have_count(0)


def by_the_demo(s):
    s.chat("docs-writer").say("/plan Find every broken link in docs/ and fix it")
    expect(s.tab.button("Start plan")).to_be_visible(timeout=A_RUN)
    s.tab.say("drop step 1")
    s.tab.sees_plan(version=2)


STATES = (
    *(empty, answered, streaming, queued, stopped, attached, error_card, tool_asked),
    *(denied, plan_alone, commented, edited),
    *(plan_mode_off, planning, proposed, running, pausing, stopped_run, question),
    *(approval, retrying, failed, done, done_with_skipped, cancelled, superseded, cleared),
    by_the_demo,
)


@pytest.mark.parametrize("bring", STATES, ids=lambda bring: bring.__name__)
def test_a_state_is_the_same_live_and_after_a_reload(live_site, open_tab, bring):
    tab = open_tab()
    bring(State(live_site, tab))
    keys_work(tab)
    live = settled(tab)
    tab.page.reload()
    tab.sees_connection(LIVE)
    assert settled(tab, live) == live
    keys_work(tab)
    tab.say("/help")
    expect(tab.log).to_contain_text("begins a new conversation")


def settled(tab, expected=None):
    """What there is to read, once it does not change any more, and is as expected."""
    before = None
    for _ in range(A_RUN // 250):
        now = tab.page.evaluate(READ)
        if now == before and expected in (None, now):
            return now
        before = now
        tab.page.wait_for_timeout(250)
    return before


def keys_work(tab):
    tab.page.keyboard.press("Control+k")
    expect(tab.page.get_by_role("combobox", name="Search everything")).to_be_focused()
    is_open = tab.plan.is_visible()
    for expected in (not is_open, is_open):
        tab.page.keyboard.press("Control+.")
        expect(tab.plan).to_be_visible(visible=expected)
    tab.page.keyboard.press("Escape")
    expect(tab.page.get_by_role("dialog", name="Search")).to_be_hidden()
    tab.message.focus()


def versions(tab):
    tab.rename(1, "Once more")
    tab.sees_plan(version=2)
    tab.page.get_by_role("button", name=re.compile("^v2")).first.click()
    expect(tab.page.get_by_role("list", name="Versions")).to_be_visible()


def an_unsaved_editor(tab):
    tab.edit(2, "Typed and not saved")
    expect(tab.button("Start with my edits")).to_be_visible()


@pytest.mark.parametrize("open_it", [versions, an_unsaved_editor], ids=lambda f: f.__name__)
def test_a_reload_in_the_midst_of_something_breaks_no_page(site, open_tab, open_it):
    tab = open_tab().chat(site.scripted("quick"))
    expect(tab.button(re.compile("^Start"))).to_be_visible()
    open_it(tab)
    tab.page.reload()
    tab.sees_connection(LIVE)
    keys_work(tab)
    if open_it is an_unsaved_editor:
        expect(tab.plan.get_by_label("Name")).to_have_value("Typed and not saved")
    tab.say("/help")
    expect(tab.log).to_contain_text("begins a new conversation")


PLACES = (
    *(
        "/plans/",
        "/plans/?q=nothing-like-that",
        "/plans/?state=failed",
        "/plans/?attention=needs-me",
    ),
    *(
        "/plans/{plan}/",
        "/plans/{plan}/?kind=run&actor=agent",
        "/settings/agents/",
        "/settings/agents/?agent=scripted",
    ),
    *("/settings/models/", "/settings/models/?provider=demo", "/settings/tools/"),
    *("/settings/chains/", "/settings/chains/?chain=planner", "/settings/approvals/"),
)


@pytest.mark.parametrize("path", PLACES)
def test_a_place_is_the_same_twice_and_each_of_its_dialogs_opens(site, open_tab, path):
    chat = site.scripted("quick")
    tab = open_tab(path.replace("{plan}", str(site.plan(chat)["id"])))
    for _ in range(2):
        expect(tab.page.get_by_role("main")).to_be_visible()
        for opener in tab.page.locator("[data-opens]:visible").all():
            opener.click()
            expect(tab.page.get_by_role("dialog")).to_be_visible()
            tab.page.keyboard.press("Escape")
            expect(tab.page.get_by_role("dialog")).to_be_hidden()
        tab.page.reload()


@pytest.mark.parametrize("path", ["/nowhere/", "/c/999999/", "/plans/999999/"])
def test_what_is_not_there_says_so_twice(open_tab, path):
    tab = open_tab()
    tab.expects("404")
    tab.open(path)
    for _ in range(2):
        expect(tab.page.get_by_text("There is nothing here")).to_be_visible()
        tab.page.reload()


def test_the_page_to_sign_in_is_the_same_twice(open_tab):
    tab = open_tab("/", signed_in=False)
    for _ in range(2):
        expect(tab.page.get_by_role("heading", name="Sign in to Planside")).to_be_visible()
        tab.page.reload()


def test_without_any_agent_the_first_page_leads_to_making_one(site, open_tab):
    for agent in ("docs-writer", "scripted"):
        site.delete(f"/agents/{agent}")
    tab = open_tab("/")
    for _ in range(2):
        expect(tab.page.get_by_text("No agents yet").first).to_be_visible()
        tab.page.reload()
