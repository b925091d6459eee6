"""No button of any state grants what moved under the pointer, or came there, in that moment (R38)."""

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.test_arming import granting, grants, posts
from tests.nightly.browser.states import axe_states, page_states, reader_states, test_states
from tests.nightly.browser.states.page_states import State, state_of_the_tests

WITH_PLANS = (
    *(test_states.edited, test_states.commented, test_states.pausing, test_states.stopped_run),
    *(test_states.question, test_states.approval, test_states.retrying, test_states.failed),
    *(test_states.done, test_states.done_with_skipped, test_states.superseded),
    *(test_states.tool_asked, test_states.error_card),
)
LOOKS = (
    *map(state_of_the_tests, WITH_PLANS),
    *(page_states.calls_that_ask, page_states.detailed, page_states.versions, page_states.budget),
    *(page_states.dialogs, page_states.checks, page_states.check_that_could_not_run),
    *(page_states.needs, page_states.chains, reader_states.every_need),
    *(reader_states.several_plans, axe_states.nested_plan),
)
# A second later, when what one's own press has opened has come to its place.
FROZEN = """() => {
  window.clock ??= { now: performance.now.bind(performance), ahead: 0 };
  clock.ahead += 1000;
  const later = clock.now() + clock.ahead;
  performance.now = () => later;
}"""
GOES_ON = """() => {
  dispatchEvent(new Event("visibilitychange")); // the page looks where they are
  clock.ahead += 1000;
  performance.now = () => clock.now() + clock.ahead;
}"""
MOVED = """(button) => {
  window.moving ??= new CSSStyleSheet();
  if (!document.adoptedStyleSheets.includes(moving)) document.adoptedStyleSheets.push(moving);
  button.scrollIntoView({ block: "center" });
  moving.replaceSync("button { translate: 3px }");
  button.focus();
}"""
BACK = "() => moving.replaceSync('')"


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.__name__)
def test_nothing_that_has_just_moved_grants_anything(live_site, open_tab, look):
    tab = open_tab()
    sent, tried = posts(tab), 0
    for place in look(State(live_site, tab)):
        tab.page.evaluate(FROZEN)
        before = len(sent)
        for button in granting(tab):
            button.evaluate(MOVED)
            if box := button.bounding_box():  # nothing where the page was drawn anew
                tab.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            tab.page.keyboard.press("Enter")
            tab.page.keyboard.press("Space")
            tab.page.evaluate(BACK)
            tried += 1
        granted = [each for each in sent[before:] if grants(urlsplit(each).path)]
        assert granted == [], place
        tab.page.evaluate(GOES_ON)
        expect(tab.page.locator("button[data-unarmed]:visible")).to_have_count(0)
    assert tried
