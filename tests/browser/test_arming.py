"""What starts or allows something does so only for who has seen it stand still for a moment (R38)."""

import re

import pytest
from django.urls import get_resolver, resolve
from playwright.sync_api import expect

from tests.browser.test_needs import waiting
from tests.lint.test_layers import ROOT
from tests.tab import LIVE

__all__ = ["waiting"]

# What makes something run, go on, or be allowed; every other address that takes a POST does not.
GRANT = {
    *("plan-approve", "plan-resume", "plan-raise", "plan-replan", "plan-again", "plan-go-back"),
    *("plan-activate", "plan-check", "subtask-retry", "subtask-skip", "subtask-replan"),
    *("subtask-check", "subtask-looked", "retry", "again", "try-now", "decide", "restore"),
    *("check-take", "chain-run", "person-make-admin"),
}
STANDS = """() => {
  let now = performance.now();
  performance.now = () => now;
  window.later = (ms) => (now += ms);
}"""
POSTING = """() => [...document.querySelectorAll("button")].flatMap((button) => {
  const own = button.getAttribute("hx-post");
  const form = button.type === "submit" ? button.form : null;
  const address = own ?? form?.getAttribute("hx-post") ?? form?.getAttribute("action");
  if (!address || !button.checkVisibility() || button.matches("[data-deny], [data-why] *")) return [];
  return [{ button, path: new URL(address, location).pathname }];
})"""


def grants(path):
    return resolve(path).url_name in GRANT


def granting(tab):
    """Those buttons that are on the screen."""
    found = tab.page.evaluate_handle(POSTING).get_properties().values()
    pairs = [each.get_properties() for each in found]
    return [pair["button"].as_element() for pair in pairs if grants(pair["path"].json_value())]


def posts(tab):
    sent = []
    tab.page.on("request", lambda each: sent.append(each.url) if each.method == "POST" else None)
    return sent


def all_that_waits(site, open_tab, waiting):
    return open_tab("/needs/")


def proposal(site, open_tab, waiting):
    return open_tab().chat(waiting["start"])


def failed(site, open_tab, waiting):
    return open_tab().chat(waiting["failed"])


def approval(site, open_tab, waiting):
    return open_tab().chat(waiting["approval"])


def plan_page(site, open_tab, waiting):
    return open_tab(f"/plans/{site.plan(waiting['failed'])['id']}/")


PAGES = [all_that_waits, proposal, failed, approval, plan_page]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.__name__)
def test_nothing_is_granted_in_the_first_moment_of_a_page(site, open_tab, waiting, page):
    tab = page(site, open_tab, waiting)
    if page is not plan_page:
        tab.sees_connection(LIVE)
    tab.page.add_init_script(f"({STANDS})()")
    tab.page.reload()
    expect(tab.page.get_by_role("button").first).to_be_visible()
    sent = posts(tab)
    buttons = granting(tab)
    assert buttons or page is plan_page
    for button in buttons:
        button.click(force=True)
        button.focus()
        tab.page.keyboard.press("Enter")
        tab.page.keyboard.press("Space")
    tab.has_sent_all()
    assert [each for each in sent if "/look" not in each and "/draft" not in each] == []
    unarmed = tab.page.locator("button[data-unarmed]:visible")
    expect(unarmed).to_have_count(len(buttons))
    tab.page.evaluate("() => later(500)")
    expect(unarmed).to_have_count(0)


def test_a_no_works_at_once(site, open_tab, waiting):
    tab = approval(site, open_tab, waiting)
    tab.page.add_init_script(f"({STANDS})()")
    tab.page.reload()
    deny = tab.log.locator("[data-deny]")
    deny.click()
    tab.log.locator("[data-why] button").first.click()
    expect(tab.log.get_by_text("denied").first).to_be_visible()


@pytest.fixture
def tab(site, open_tab):
    tab = open_tab().chat(site.scripted("hang"))
    tab.sees_connection(LIVE)
    expect(tab.button("Start plan")).to_be_visible()
    tab.page.evaluate(STANDS)
    return tab


def counts_in_a_moment(tab, sent, version=1):
    start = tab.page.locator("#start-button")
    start.click(force=True)
    start.press("Enter")
    tab.page.keyboard.press("Control+Enter")
    tab.has_sent_all()
    assert sent == []
    tab.page.evaluate("() => later(500)")
    start.click()
    tab.sees_plan(approved_version=version)


def moves_by(tab, pixels):
    tab.page.evaluate(
        "(to) => (document.getElementById('plan-actions').style = `position: relative; top: ${to}px`)",
        pixels,
    )


def test_another_version_that_came_by_itself_is_not_started_at_once(site, tab):
    sent = posts(tab)
    plan = int(tab.plan.get_attribute("data-plan-id"))
    site.post(f"/plans/{plan}/subtasks", name="Three")
    tab.sees_plan(version=2)
    counts_in_a_moment(tab, sent, version=2)


def test_what_moved_by_itself_is_not_started_at_once(tab):
    sent = posts(tab)
    moves_by(tab, -12)
    counts_in_a_moment(tab, sent)


LATE_TIMERS = """() => {
  const { setTimeout } = window;
  window.setTimeout = (what, ms = 0, ...with_) => setTimeout(what, ms + 200, ...with_);
}"""


@pytest.mark.parametrize("is_busy", [False, True], ids=["", "while the browser is busy"])
def test_a_press_counts_from_when_it_began(tab, is_busy):
    sent = posts(tab)
    if is_busy:
        tab.page.evaluate(LATE_TIMERS)  # input goes before timers
    moves_by(tab, -12)
    start = tab.page.locator("#start-button")
    start.hover(force=True)
    for begin, end in (
        (tab.page.mouse.down, tab.page.mouse.up),
        (lambda: tab.page.keyboard.down("Space"), lambda: tab.page.keyboard.up("Space")),
    ):
        start.focus()
        begin()
        tab.page.evaluate("() => { later(501); return new Promise((done) => setTimeout(done)); }")
        end()
        tab.has_sent_all()
        assert sent == []
        moves_by(tab, -9)
    tab.page.evaluate("() => later(501)")
    start.click()
    tab.sees_plan(approved_version=1)


@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_a_key_that_is_held_as_the_focus_goes_on_presses_once(tab, key):
    sent, keys = posts(tab), tab.page.keyboard
    tab.button("Ask for changes").focus()
    tab.page.evaluate(
        "document.activeElement.addEventListener('click', (e) => e.stopPropagation())"
    )
    keys.down(key)
    tab.page.locator("#start-button").focus()
    for _ in range(3):
        keys.down(key)
    keys.up(key)
    tab.has_sent_all()
    assert sent == []
    tab.page.evaluate("() => later(501)")
    keys.down(key)
    if key == "Space":
        keys.down(key)  # held over the same button it is one press
    keys.up(key)
    tab.sees_plan(approved_version=1)


def test_a_press_whose_end_nobody_told_of_keeps_nothing_unarmed(site, tab):
    """Alt goes down, and another window comes."""
    tab.page.keyboard.down("Alt")
    tab.page.evaluate("() => dispatchEvent(new Event('blur'))")
    tab.page.evaluate("() => later(1)")
    plan = int(tab.plan.get_attribute("data-plan-id"))
    site.post(f"/plans/{plan}/subtasks", name="Three")
    tab.sees_plan(version=2)
    start = tab.page.locator("#start-button")
    expect(start).to_have_attribute("data-unarmed", "")
    tab.page.evaluate("() => later(501)")
    expect(start).not_to_have_attribute("data-unarmed", "")
    start.evaluate("(button) => button.click()")  # as a screen reader presses it
    tab.sees_plan(approved_version=2)


def test_what_a_dialog_has_covered_is_new_when_it_closes_by_itself(tab):
    sent, keys = posts(tab), tab.page.locator("dialog#keys")
    tab.page.evaluate("() => document.activeElement.blur()")
    tab.page.keyboard.press("?")
    expect(keys).to_be_visible()
    tab.page.evaluate("() => later(501)")
    keys.evaluate("(dialog) => dialog.close()")
    start = tab.page.locator("#start-button")
    expect(start).to_have_attribute("data-unarmed", "")
    start.click(force=True)
    tab.has_sent_all()
    assert sent == []
    tab.page.evaluate("() => later(501)")
    tab.page.keyboard.press("?")
    expect(keys).to_be_visible()
    tab.page.keyboard.press("Escape")  # closed by the person it takes the next press
    start.click()
    tab.sees_plan(approved_version=1)


def test_what_came_while_the_tab_was_hidden_is_new_to_who_comes_back(site, tab):
    sent, plan = posts(tab), int(tab.plan.get_attribute("data-plan-id"))
    is_hidden = """(is) => {
  Object.defineProperty(document, "hidden", { value: is, configurable: true });
  document.dispatchEvent(new Event("visibilitychange", { bubbles: true }));
}"""
    tab.page.evaluate(is_hidden, True)
    site.post(f"/plans/{plan}/subtasks", name="Three")
    tab.sees_plan(version=2)
    tab.page.evaluate("() => later(501)")
    tab.page.evaluate(is_hidden, False)
    counts_in_a_moment(tab, sent, version=2)


LOOK = """(button) => {
  const { borderTopStyle, textDecorationStyle } = getComputedStyle(button);
  const { width, height } = button.getBoundingClientRect();
  return [borderTopStyle === "dashed" || textDecorationStyle === "dashed", width, height];
}"""


@pytest.mark.parametrize("page", [all_that_waits, failed, approval], ids=lambda page: page.__name__)
def test_whatever_is_not_armed_is_outlined_in_the_same_size(site, open_tab, waiting, page):
    tab = page(site, open_tab, waiting)
    tab.page.add_init_script(f"({STANDS})()")
    tab.page.reload()
    unarmed = tab.page.locator("button[data-unarmed]:visible:not([aria-disabled])")
    expect(unarmed.first).to_be_visible()
    buttons = unarmed.element_handles()
    before = [each.evaluate(LOOK) for each in buttons]
    tab.page.evaluate("() => later(501)")
    expect(unarmed).to_have_count(0)
    after = [each.evaluate(LOOK) for each in buttons]
    assert [(True, *size) for _, *size in after] == [tuple(each) for each in before]
    assert not any(is_outlined for is_outlined, *_ in after)


def test_a_word_that_starts_is_about_the_version_that_was_there_as_it_was_typed(site, tab):
    plan = int(tab.plan.get_attribute("data-plan-id"))
    tab.expects("409")
    site.post(f"/plans/{plan}/subtasks", name="Three")
    tab.sees_plan(version=2)
    with tab.sends():
        tab.say("go ahead")
    tab.page.evaluate("() => later(501)")
    expect(tab.page.get_by_text("The plan is now v2, not v1.").first).to_be_visible()
    assert site.plan(int(tab.page.url.rstrip("/").rpartition("/")[2]))["approved_version"] is None


def test_of_a_double_click_only_the_first_press_counts(tab):
    """The second one may have hit what took the place of the button that was meant."""
    sent = posts(tab)
    start = tab.page.locator("#start-button").bounding_box()
    middle = (start["x"] + start["width"] / 2, start["y"] + start["height"] / 2)
    tab.page.evaluate(
        """() => {
  const cover = document.createElement("button");
  cover.style = "position: fixed; inset: 0; z-index: 99";
  cover.addEventListener("click", () => cover.remove());
  document.body.append(cover);
}"""
    )
    tab.page.mouse.dblclick(*middle)
    tab.has_sent_all()
    assert sent == []
    tab.page.mouse.click(*middle)
    tab.sees_plan(approved_version=1)


def test_what_a_press_has_opened_takes_the_next_press(site, open_tab, waiting):
    tab = failed(site, open_tab, waiting)
    tab.sees_connection(LIVE)
    tab.page.evaluate(STANDS)
    tab.plan.get_by_role("button", name="Skip").first.click()
    dialog = tab.page.get_by_role("dialog")
    dialog.get_by_role("button", name="Skip", exact=True).click()
    expect(dialog).to_have_count(0)
    expect(tab.row(2)).to_have_attribute("data-state", "abandoned")


@pytest.mark.parametrize("by", ["pointer", "key"])
def test_the_drawer_that_a_press_has_opened_takes_the_next_press(tab, by):
    # Nothing else changes with it.
    plan = tab.plan.get_attribute("data-plan-id")
    tab.page.evaluate("(plan) => localStorage.setItem(`card-${plan}`, '1 shut')", plan)
    tab.button("Close plan").click()
    expect(tab.plan).to_be_hidden()
    tab.page.evaluate("() => later(501)")
    tab.drawer_toggle.click() if by == "pointer" else tab.drawer_toggle.press("Enter")
    start = tab.page.locator("#start-button")
    start.click() if by == "pointer" else start.press("Enter")
    tab.sees_plan(approved_version=1)


QUIET = {
    *("plan-cancel", "plan-cancel-asking", "plan-beside", "plan-pause", "plan-stop", "plan-edit"),
    *("plan-delete", "plan-use-again", "plan-comments-send", "subtask-add", "subtask-edit"),
    *("subtask-move", "subtask-remove", "subtask-comment", "subtask-comment-remove"),
    *("check-save", "check-remove", "plan-mode", "plan-revise", "plan-answer-asking"),
    *("plan-out-of-force", "subtask-take-back"),
}
READ = {"plan", "plan-version", "plan-versions", "plan-export", "check-editor", "agent-plan-mode"}


def test_each_address_of_a_plan_grants_or_does_not_and_the_script_knows_it():
    found = get_resolver("console.urls").url_patterns
    last = {
        each.name: str(each.pattern).rpartition("/")[2] for each in found if hasattr(each, "name")
    }
    names = {name for name in last if name.startswith(("plan-", "subtask-", "check-"))}
    assert names - GRANT - QUIET - READ == set(), "name it in GRANT or in QUIET"
    script = (ROOT / "static" / "js" / "approving.js").read_text()
    verbs = set(
        re.findall(r'"([a-z-]+)"', script.partition("const VERBS = [")[2].partition("];")[0])
    )
    assert verbs == {last[name] for name in GRANT}
    assert not verbs & {last[name] for name in QUIET & set(last)} - {"again"}
