"""No button of any state grants what moved under the pointer, or came there, in that moment (R38)."""

from urllib.parse import urlsplit

import pytest

from tests.browser.test_arming import granting, grants, posts
from tests.nightly.browser.states import axe_states, page_states, reader_states, test_states
from tests.nightly.browser.states.page_states import State, state_of_the_tests

WITH_PLANS = (
    *(test_states.edited, test_states.commented, test_states.pausing, test_states.stopped_run),
    *(test_states.question, test_states.approval, test_states.retrying, test_states.failed),
    *(test_states.done, test_states.done_with_skipped, test_states.cancelled),
    *(test_states.superseded, test_states.tool_asked, test_states.error_card),
)
LOOKS = (
    *map(state_of_the_tests, WITH_PLANS),
    *(page_states.calls_that_ask, page_states.detailed, page_states.versions, page_states.budget),
    *(page_states.dialogs, page_states.checks, page_states.check_that_could_not_run),
    *(page_states.plans, page_states.needs, page_states.chains, reader_states.every_need),
    *(reader_states.several_plans, axe_states.nested_plan, axe_states.settled_elsewhere),
)
FROZEN = """() => {
  const now = performance.now();
  performance.now = () => now;
}"""
GOES_ON = "() => delete performance.now"
MOVED = "(button, by) => (button.style = `position: relative; left: ${by}px`)"


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.__name__)
def test_nothing_that_has_just_moved_grants_anything(live_site, open_tab, look):
    tab = open_tab()
    sent, tried = posts(tab), 0
    for place in look(State(live_site, tab)):
        tab.page.evaluate(FROZEN)
        before = len(sent)
        for button in granting(tab):
            button.evaluate(MOVED, 3)
            button.click(force=True)
            button.focus()
            tab.page.keyboard.press("Enter")
            tab.page.keyboard.press("Space")
            button.evaluate(MOVED, 0)
            tried += 1
        granted = [each for each in sent[before:] if grants(urlsplit(each).path)]
        assert granted == [], place
        tab.page.evaluate(GOES_ON)
    assert tried
