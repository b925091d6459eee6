"""A call that asks is seen whole, to its last line, before it can be allowed."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import DESK, PHONE
from tests.fake_model import call, rule, say
from tests.tab import armed, wait_for

LONG = "\n".join(f"echo {n}" for n in range(1, 414)) + "\nrm -f \u202etxt.eton"
WIDE = "echo " + "a" * 400 + " ; echo end"
MANY_WIDE = "\n".join(f"echo {n} " + "word " * 400 for n in range(11))
WIDE_WITHIN = "\n".join("echo " + "a" * (400 if n == 20 else 9) for n in range(40))
ADDED = "\n".join(f"line{n} " + "word " * (60 if n == 3 else n) for n in range(1, 8))
ASKED = ("shell", "edit_file", "write_file")
NARROW = {"width": 800, "height": 900}
RULES = [
    rule(say("Done."), results=1),
    rule(call("shell", command=LONG), user="run the long one", results=0),
    rule(
        call("shell", command="echo short\n" + "\n" * 400 + "echo below"), user="run the blank one"
    ),
    rule(call("shell", command=WIDE), user="run the wide one"),
    rule(call("shell", command=MANY_WIDE), user="run the many wide ones"),
    rule(call("shell", command=WIDE_WITHIN), user="run the one that is wide within"),
    rule(call("write_file", path="new.txt", content=ADDED), user="write the file", results=0),
    rule(call("write_file", path="new.txt", content=""), user="write the empty file", results=0),
    rule(call("edit_file", path="a.txt", old="one\ntwo", new="one\n2"), user="edit it"),
]


@pytest.fixture
def asked(site, open_tab):
    """Open a conversation in which the agent wants to make a call; its card."""
    site.plays(*RULES)
    site.change_agent(tools=dict.fromkeys(ASKED, "ask"))

    def ask(words, viewport=DESK):
        tab = open_tab()
        tab.page.set_viewport_size(viewport)
        tab.chat(site.answered(words))
        card = tab.log.get_by_role("group", name=re.compile("^(Run this|Let it use)"))
        expect(card).to_be_visible()
        return tab, card

    return ask


def allow(card):
    return card.get_by_role("button", name="Allow once")


def is_refused(button):
    expect(button).to_have_attribute("aria-disabled", "true")
    expect(button).to_have_accessible_description("You can allow it once all 414 lines are shown.")


def test_a_long_command_is_allowed_only_after_all_its_lines_were_on_the_screen(asked):
    tab, card = asked("run the long one")
    expect(card).to_contain_text("1 hidden character is drawn as a box.")
    expect(card.get_by_title("Right-to-left override")).to_have_text("U+202E")
    expect(card.get_by_text("414 lines, 403 not shown")).to_be_visible()
    expect(card.get_by_text("echo 8", exact=True)).to_be_visible()
    expect(card.get_by_text("echo 9", exact=True)).to_be_hidden()
    for name in ("Allow once", "Always allow"):
        is_refused(card.get_by_role("button", name=name))
    allow(card).click(force=True)
    card.get_by_role("button", name="Deny").press("Control+Enter")
    expect(card).to_be_visible()

    card.get_by_role("button", name="Show all").press("Enter")
    whole = card.get_by_role("group", name="Command, 414 lines")
    expect(whole).to_be_focused()
    expect(card.get_by_text("403 not shown")).to_be_hidden()
    is_refused(allow(card))
    whole.press("End")
    expect(allow(card)).not_to_have_attribute("aria-disabled", "true")
    expect(card.get_by_text("You can allow it when")).to_be_hidden()
    expect(armed(allow(card))).to_be_visible()
    card.press("Control+Enter")
    expect(tab.log.get_by_text("allowed once")).to_be_visible()


def test_what_was_seen_stays_seen_when_the_card_is_drawn_anew(asked):
    tab, card = asked("run the long one")
    card.get_by_role("button", name="Show all").click()
    card.get_by_role("group", name="Command, 414 lines").press("End")
    expect(allow(card)).not_to_have_attribute("aria-disabled", "true")
    tab.say("And another thing")
    expect(tab.log.get_by_text("And another thing")).to_be_visible()
    expect(allow(card)).not_to_have_attribute("aria-disabled", "true")
    tab.page.reload()
    is_refused(allow(card))


def test_a_wide_line_is_seen_to_its_end_or_wrapped_first(asked):
    tab, card = asked("run the wide one", PHONE)
    expect(allow(card)).to_have_attribute("aria-disabled", "true")
    text = card.get_by_role("group", name="Command, 1 line")
    text.evaluate("text => text.scrollTo(text.scrollWidth, 0)")
    expect(allow(card)).not_to_have_attribute("aria-disabled", "true")
    tab.page.reload()
    expect(allow(card)).to_have_attribute("aria-disabled", "true")
    card.get_by_role("button", name="Wrap lines").click()
    expect(allow(card)).not_to_have_attribute("aria-disabled", "true")


def to_the_end(text):
    text.evaluate("text => text.scrollTo(text.scrollLeft, text.scrollHeight)")


def test_lines_that_lie_otherwise_when_wrapped_are_seen_anew(asked):
    tab, card = asked("run the many wide ones", PHONE)
    text = card.get_by_role("group", name="Command, 11 lines")
    to_the_end(text)
    card.get_by_role("button", name="Wrap lines").click()
    expect(text).to_have_attribute("data-wrapped", "")
    expect(allow(card)).to_have_attribute("aria-disabled", "true")
    half_way = "text => text.scrollTo(0, (text.scrollHeight - text.clientHeight) / 2)"
    text.evaluate(half_way)
    tab.page.set_viewport_size({"width": 360, "height": 600})
    expect(allow(card)).to_have_attribute("aria-disabled", "true")
    to_the_end(text)
    expect(allow(card)).not_to_have_attribute("aria-disabled", "true")
    tab.page.set_viewport_size(NARROW)
    text.evaluate(half_way)
    expect(allow(card)).not_to_have_attribute("aria-disabled", "true")


def test_a_wide_line_that_was_folded_away_has_not_been_seen(asked):
    _, card = asked("run the one that is wide within", PHONE)
    card.get_by_role("button", name="Show all").click()
    text = card.get_by_role("group", name="Command, 40 lines")
    to_the_end(text)
    expect(card.get_by_role("button", name="Wrap lines")).to_be_visible()
    expect(allow(card)).to_have_attribute("aria-disabled", "true")
    text.evaluate("text => text.scrollTo(text.scrollWidth, text.scrollTop)")
    expect(allow(card)).not_to_have_attribute("aria-disabled", "true")


def test_in_a_change_nothing_lies_over_the_text(asked):
    tab, card = asked("write the file")
    text = card.get_by_role("group", name="Change, 7 lines")
    for viewport in (DESK, NARROW, PHONE):
        tab.page.set_viewport_size(viewport)
        card.scroll_into_view_if_needed()
        wait_for(tab, lambda: text.evaluate(COVERED) == [])  # the sidebar has slid away
    numbers = text.locator("[data-kind=new] .line-number:visible").filter(has_text=re.compile("."))
    expect(numbers).to_have_text([str(n) for n in range(1, 8)])
    to_the_end(text)
    text.evaluate("text => text.scrollTo(text.scrollWidth, 0)")
    expect(allow(card)).not_to_have_attribute("aria-disabled", "true")


# Not `evaluate_all`, at which Firefox's page crashes under Playwright.
# Where a line's text begins, what is on top there must be that text.
COVERED = """pane => [...pane.querySelectorAll(".line-text")].filter((text) => {
  const range = document.createRange();
  range.setStart(text.firstChild, 0);
  range.setEnd(text.firstChild, 1);
  const { x, y, width, height } = range.getBoundingClientRect();
  const onTop = document.elementFromPoint(x + width / 2, y + height / 2);
  const sign = text.previousElementSibling.getBoundingClientRect();
  return onTop !== text || sign.width < 8 || sign.right > x + 1;
}).map((text) => text.textContent)"""
