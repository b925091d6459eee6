"""What is approved is what was readable: in every width, with long words, unfolded again."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import DESK, PHONE
from tests.browser.model import ADDRESS
from tests.browser.test_reading import (
    EXPECTED,
    NARROW,
    PLAN,
    TOLD,
    card,
    close_drawer,
    open_drawer,
    proposed,
    sees_all,
    within,
)
from tests.tab import LIVE

__all__ = ["proposed"]


@pytest.fixture(params=[DESK, NARROW])
def width(request):
    return request.param


def test_a_card_folds_and_unfolds_whatever_the_drawer_does(proposed):
    close_drawer(proposed)
    card(proposed).get_by_role("button", name="Fold", exact=True).click()
    expect(card(proposed).get_by_text(TOLD, exact=True)).to_be_hidden()
    proposed.page.reload()
    close_drawer(proposed)
    expect(card(proposed).get_by_text(TOLD, exact=True)).to_be_hidden()
    card(proposed).get_by_role("button", name="Unfold", exact=True).click()
    sees_all(card(proposed))


def test_a_new_version_of_a_started_plan_is_readable_again(site, proposed):
    open_drawer(proposed)
    site.post(f"/plans/{proposed.made['id']}/approve", version=1, run="no")
    proposed.sees_plan(approved_version=1)
    told = proposed.plan.get_by_text(TOLD, exact=True)
    expect(told).to_be_hidden()
    proposed.button("What the agent is told for subtask 1").click()
    expect(told).to_be_visible()
    site.post(f"/plans/{proposed.made['id']}/subtasks", name="One more")
    proposed.sees_plan(version=2, approved_version=1)
    sees_all(proposed.plan)


def test_while_it_is_edited_a_text_stands_in_its_field_alone(proposed):
    open_drawer(proposed)
    proposed.button("Edit the plan's title and description").click()
    form = proposed.editor("Edit the plan")
    expect(form.get_by_role("textbox", name="Description")).to_have_value(PLAN["content"])
    for text in (PLAN["content"], PLAN["expected_outcome"]):
        expect(proposed.plan.get_by_text(text, exact=True)).to_be_hidden()
    form.get_by_role("button", name="Cancel").click()
    proposed.button("Edit subtask 1").click()
    for text in (TOLD, EXPECTED):
        expect(proposed.row(1).get_by_text(text, exact=True)).to_be_hidden()


BESIDE = {"width": 1280, "height": 800}


LONG_WORD = "Read" + "EveryPageOfTheOldHandbook" * 8


def test_a_long_word_in_a_heading_of_the_thread_stays_in_it(site, open_tab):
    chat = site.ran(LONG_WORD, f"`{LONG_WORD}` and more", title="Long")
    tab = open_tab(viewport=BESIDE).chat(chat)
    open_drawer(tab)
    heads = tab.log.locator(".turn-group > summary")
    expect(heads).to_have_count(2)
    overflow = "heads => heads.map((head) => head.scrollWidth - head.clientWidth)"
    assert heads.evaluate_all(overflow) == [0, 0]
    for head in heads.all():
        log, time = tab.log.bounding_box(), head.locator(".meta").bounding_box()
        assert time["x"] + time["width"] <= log["x"] + log["width"]


@pytest.mark.parametrize("size", [DESK, PHONE])
@pytest.mark.parametrize("name", ["Then fail at it", f"Then fail at {ADDRESS}"])
def test_a_name_leaves_room_for_the_reason_in_its_heading(site, open_tab, size, name):
    chat = site.ran(name, title="Long")
    tab = open_tab()
    tab.page.set_viewport_size(size)
    tab.chat(chat)
    head = tab.log.locator(".turn-group > summary").first
    reason = head.get_by_text("No answer").bounding_box()
    assert reason["width"] > 120
    time = head.locator(".meta").bounding_box()
    below = reason["y"] > time["y"] + 10
    assert below is (size is PHONE)
    assert head.evaluate("e => e.scrollWidth - e.clientWidth") == 0


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_a_card_shows_long_words_whole_and_strikes_out_what_was_skipped(site, open_tab, size):
    chat = site.ran("Look", f"Then fail at {ADDRESS}", "Tell", title=ADDRESS[:180])
    tab = open_tab()
    tab.page.set_viewport_size(size)
    tab.chat(chat)
    card = tab.log.get_by_role("article", name="Plan: ")
    name = card.get_by_role("listitem").nth(1)
    within(card, name)
    within(card, card.locator("header"))
    site.post(f"/plans/{site.plan(chat)['id']}/subtasks/s2/skip", reason="no need")
    expect(struck(name)).to_have_css("text-decoration-line", "line-through")
    site.post(f"/plans/{site.plan(chat)['id']}/subtasks", name="More")
    expect(card).to_contain_text("Nothing runs until you start it.")
    expect(struck(name)).to_have_css("text-decoration-line", "line-through")
    expect(struck(card.get_by_role("listitem").nth(2))).to_have_css("text-decoration-line", "none")
    within(card, name)


def struck(row):
    """What holds the name, in a list of names or with the texts."""
    return row.locator(":scope > span, .step-name b")


def test_the_welcome_beside_an_open_drawer_is_readable(site, open_tab):
    tab = open_tab(viewport=BESIDE).chat(site.scripted("quick"))
    open_drawer(tab)
    tab.say("/clear")
    expect(tab.log.get_by_text("Make it yours")).to_be_visible()
    expect(tab.plan).to_be_visible()
    for step in tab.log.get_by_role("list", name="How plans work").get_by_role("listitem").all():
        name, words = step.locator("b").bounding_box(), step.locator("p").bounding_box()
        assert name["y"] + name["height"] <= words["y"]
        assert name["height"] < 30, "in one line"


LONG_END = "3 attempts, the same error each time · No changes left, undone by you · 0:05"


LINES_OF_NAME = """(head, words) => {
  head.querySelector(".meta").textContent = words;
  const name = document.createRange();
  name.selectNodeContents(head.querySelector("b"));
  return new Set([...name.getClientRects()].map(({ bottom }) => Math.round(bottom))).size;
}"""


def test_the_name_of_a_subtask_stays_on_its_line_beside_much_that_is_told_of_its_end(
    site, open_tab
):
    chat = site.started("fail")
    tab = open_tab().chat(chat)
    head = tab.log.locator(".turn-group > summary:visible", has_text="Then fail").last
    expect(head).to_contain_text("The disk is full.")
    assert head.evaluate(LINES_OF_NAME, LONG_END) == 1


def test_a_failed_subtask_with_a_long_word_stays_within_the_drawer(site, open_tab):
    names = ("Look", f"Then fail at {ADDRESS}", f"Tell {ADDRESS}")
    tab = open_tab().chat(site.ran(*names, title=f"See {ADDRESS[:150]}"))
    for size in (DESK, PHONE):
        tab.page.set_viewport_size(size)
        open_drawer(tab)
        within(tab.plan, tab.row(2).locator(".highlighted"))
        within(tab.plan, tab.row(2).get_by_text("No answer"))
        for number in (2, 3):
            within(tab.plan, tab.button(f"Edit subtask {number}"))
        within(tab.plan, tab.plan.get_by_role("heading", level=2).last)
        assert tab.page.locator("#plan-scroll").evaluate("e => e.scrollWidth - e.clientWidth") == 0


SHIFTS = """
window.moved = 0;
new PerformanceObserver((list) => {
  for (const each of list.getEntries()) window.moved += each.value;
}).observe({ type: "layout-shift", buffered: true });
"""


MOVED = """() => new Promise((ready) =>
  requestAnimationFrame(() => requestAnimationFrame(() => ready(window.moved))))"""


def test_nothing_moves_while_a_conversation_with_a_plan_is_opened(site, open_tab):
    """What a script opens and folds stands so from the first paint."""
    plan = site.post("/plans", agent="scripted", **PLAN)
    tab = open_tab()
    tab.page.set_viewport_size(DESK)
    tab.page.add_init_script(SHIFTS)
    tab.chat(plan["conversation"])
    expect(tab.page.locator("#app")).to_have_attribute("data-drawer", "open")
    tab.sees_connection(LIVE)
    tab.has_sent_all()
    assert tab.page.evaluate(MOVED) < 0.01


def test_what_was_folded_stays_folded_until_another_version(site, proposed):
    open_drawer(proposed)
    proposed.plan.get_by_role("button", name="Fold", exact=True).click()
    told = proposed.plan.get_by_text(TOLD, exact=True)
    expect(told).to_be_hidden()
    proposed.page.reload()
    open_drawer(proposed)
    expect(told).to_be_hidden()
    proposed.button("What the agent is told for subtask 1").click()
    expect(told).to_be_visible()
    expect(proposed.plan.get_by_text("One sentence to Bob")).to_be_hidden()
    site.post(f"/plans/{proposed.made['id']}/subtasks", name="One more")
    proposed.sees_plan(version=2)
    sees_all(proposed.plan)


def test_a_long_outcome_is_short_while_the_plan_runs_unless_it_is_unfolded(site, open_tab):
    chat = site.ran("Then explain", "Then hang")
    tab = open_tab().chat(chat)
    expect(tab.row(2)).to_have_attribute("data-state", "in_progress")
    outcome, fold = tab.row(1).locator(".step-outcome"), tab.row(1).locator("[data-shows-outcome]")
    is_whole = "each => each.scrollHeight <= each.clientHeight + 1"
    expect(fold).to_have_accessible_name("Show all of subtask 1")
    expect(outcome).to_be_visible()  # the drawer opens by itself
    assert not outcome.evaluate(is_whole)
    fold.press("Enter")
    expect(fold).to_have_accessible_name("Show less of subtask 1")
    expect(fold).to_have_attribute("aria-expanded", "true")
    assert outcome.evaluate(is_whole)
    fold.click()
    expect(fold).to_have_attribute("aria-expanded", "false")
    assert not outcome.evaluate(is_whole)
    site.post(f"/plans/{site.plan(chat)['id']}/stop")
    site.drive()
    expect(fold).to_be_hidden()
    assert outcome.evaluate(is_whole), "there is nothing left that could be shown"
