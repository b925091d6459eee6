"""What a screen reader is given to say while the demo's plan is made and run (R26).

Everything that appears in a live region is recorded, and that is the recording, so that a change of
it is seen. A region within a region decides for what is in it: times, counters, tool calls and the
plan's card are read when somebody goes there, and are not spoken.
"""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from agents import http
from tests.browser.test_rules import SPOKEN
from tests.inner import DemoModel
from tests.tab import A_RUN, GOAL, LIVE, wait_for

STATUS = [
    "Writing a plan",
    "Needs you: Waiting for you to start it",
    "Docs writer is answering",
    "Subtask 0 of 5 done. Running",
    "Subtask 1 of 5 done. Running",
    "Subtask 2 of 5 done. Running",
    "Subtask 3 of 5 done. Running",
    "Subtask 4 of 5 done. Running",
    "Subtask 5 of 5 done. Running",
    "Plan: Finished",
]
MOST = 110  # characters of a line in the recording
RECORDING = Path(__file__).with_name("spoken_plan.txt")
# Read while the plan's creation and the end of its turn fell between two queries; gone at once.
TORN = "Waits for your answer"
CHECKING = "Checking subtask"  # as long as it takes, which may be too short to be heard
NOW = "activity-line-"  # what the agent does at this moment: one line, which is replaced


@pytest.mark.usefixtures("working")
def test_a_plan_is_spoken_in_few_sentences_and_each_once(site, clock, open_tab, settings):
    settings.DEMO_PACE = 0
    http.use(DemoModel())
    tab = open_tab().chat(site.conversation("docs-writer"))
    tab.sees_connection(LIVE)
    expect(tab.button("Use it for Docs writer").first).to_be_visible()
    tab.page.evaluate(SPOKEN)
    tab.say(f"/plan {GOAL}")
    tab.button("Start plan").click()
    tab.sees_plan(within=A_RUN, state="done")
    expect(tab.page.locator("#status")).to_have_text("Plan: Finished")
    wait_for(tab, lambda: not compared(recorded(), others_of(spoken_on(tab)))[0])
    clock.run_for(1_500)  # what would be spoken by a clock is spoken by then
    spoken = spoken_on(tab)

    said = [text for where, text in spoken if where == "status" and text != TORN]
    said = without_checks(said)
    assert said == [text for text in STATUS if text in said], "in this order, none twice"
    assert {STATUS[0], STATUS[1], STATUS[-1]} <= set(said)

    assert compared(recorded(), others_of(spoken)) == ([], [])


def spoken_on(tab):
    return [(where, " ".join(text.split())) for where, text in tab.page.evaluate("spoken")]


def recorded():
    return RECORDING.read_text().splitlines()


def others_of(spoken):
    """What is spoken beside the line that says how it stands."""
    others = [text for where, text in spoken if where != "status" and not where.startswith(NOW)]
    return [re.sub(rf"{CHECKING} \d", "", text) for text in others]


def without_checks(said):
    """What a line about checks has stood in the place of is said again after it."""
    rest, was_checking = [], False
    for text in said:
        is_checking = CHECKING.lower() in text
        if not is_checking and not (was_checking and text == rest[-1]):
            rest.append(text)
        was_checking = is_checking
    return rest


def compared(recorded, spoken):
    """What was not spoken, and what was spoken besides. On a slow machine several lines come to the
    page at once, and are spoken in one."""
    unspoken, shortened, rest = [], set(), list(spoken)
    for line in sorted(recorded, key=len, reverse=True):
        begins = [n for n, text in enumerate(rest) if text[:MOST] == line]
        has = begins or [n for n, text in enumerate(rest) if line in text]
        if not has:
            unspoken.append(line)
            continue
        rest[has[0]] = rest[has[0]].replace(line, "\n", 1)
        if len(line) == MOST:
            shortened.add(has[0])
    besides = [text for n, text in enumerate(rest) if text.strip() and n not in shortened]
    return unspoken, besides
