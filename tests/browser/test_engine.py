"""A person steers a run: leaves out what failed, plans anew, raises a budget, sees a nested plan."""

import pytest
from playwright.sync_api import expect

from tests.browser.model import planned
from tests.fake_model import FakeModelServer, call, rule, say
from tests.tab import LIVE

HANDED = call("run_agent", agent="helper", task="I want to tidy half of it")
ASKED = call("write_file", path="half.txt", content="half")
FRESH = call(
    "revise_current_plan",
    explanation="You asked for paper.",
    subtasks=[{"name": "Write it on paper"}],
)
NAMES = [{"name": "Half one"}, {"name": "Half two"}, {"name": "Half three"}]
DONE = {**call("finish_subtask", outcome="Did that."), "usage": [900, 100]}
RULES = [
    *(each for word in ("fail", "delegate", "quick") for each in planned(word)),
    rule(FRESH, user="^Replan the rest", results=0),
    rule(call("finish_plan", state="done", outcome="All is done."), only="finish_plan"),
    rule(call("fail_subtask", error="The disk is full."), user=r"s\d+: Then fail"),
    rule(HANDED, user=r"s\d+: Then delegate", results=0),
    rule(
        call("create_plan", title="Half of it", subtasks=NAMES),
        only="create_plan",
        user="to tidy half",
    ),
    rule(ASKED, user=r"s\d+: Half two", results=0),
    rule(DONE, offered="finish_subtask"),
    rule(say("Understood.")),
]


@pytest.fixture(scope="module")
def model():
    with FakeModelServer({"rules": RULES}) as server:
        yield server


@pytest.fixture
def failed(product, open_tab):
    """A tab in which the second subtask of three has failed."""
    product.change_agent("scripted", plan={"enabled": True, "max_attempts": 1}, budget={})
    tab = open_tab().chat(product.started("fail"))
    tab.sees_connection(LIVE)
    expect(tab.button("Retry subtask 2")).to_be_visible()
    return tab


def test_a_failed_subtask_is_skipped_with_a_reason_and_the_rest_finishes(failed):
    failed.button("Skip subtask 2").click()
    dialog = failed.page.get_by_role("dialog", name="Skip subtask 2?")
    reason = dialog.get_by_role("textbox", name="Why? (optional)")
    expect(reason).to_be_focused()
    reason.fill("the disk is old")
    dialog.get_by_role("button", name="Skip").click()
    expect(dialog).to_be_hidden()
    expect(failed.row(2)).to_contain_text("Skipped by you: the disk is old")
    expect(failed.log).to_contain_text("Skipped by you: the disk is old")
    expect(failed.button("Skip subtask 3")).to_be_visible()
    failed.button("Go on").click()
    expect(failed.row(3)).to_have_attribute("data-state", "done")
    expect(failed.plan).to_have_attribute("data-state", "done")


def test_the_rest_is_planned_anew_and_waits_for_a_yes(failed):
    failed.button("Replan from here").click()
    expect(failed.page.get_by_role("dialog", name="Replan from subtask 2?")).to_be_visible()
    failed.page.keyboard.press("Escape")
    failed.button("Replan").click()
    dialog = failed.page.get_by_role("dialog", name="Replan the rest?")
    dialog.get_by_role("textbox", name="What should be different? (optional)").fill("On paper.")
    failed.page.reload()
    failed.sees_connection(LIVE)
    hint = dialog.get_by_role("textbox", name="What should be different? (optional)")
    expect(hint).to_have_value("On paper.")
    expect(dialog.get_by_role("alert")).to_contain_text("not sent yet")
    hint.focus()
    expect(dialog.get_by_role("button", name="Replan")).to_be_visible()
    failed.page.keyboard.press("Control+Enter")
    expect(dialog).to_be_hidden()
    expect(failed.log).to_contain_text("Replan the rest, from subtask 2 on. On paper.")
    expect(failed.rows).to_have_count(2)
    expect(failed.row(2)).to_contain_text("Write it on paper")
    failed.button("Start v2").click()
    expect(failed.plan).to_have_attribute("data-state", "done")


@pytest.fixture
def helper(product):
    plan = {"enabled": True, "max_attempts": 1}
    product.post("/agents", id="helper", name="Helper", plan=plan, tools={"write_file": "ask"})
    product.change_agent("helper", provider="openai", model="scripted")
    product.change_agent("scripted", tools={"run_agent:helper": "allow"}, budget={})
