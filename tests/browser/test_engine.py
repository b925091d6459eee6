"""A person steers a run: leaves out what failed, plans anew, raises a budget, sees a nested plan."""

import pytest
from playwright.sync_api import expect

from tests.browser.model import planned
from tests.browser.test_pages import violations
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
    assert violations(failed) == []
    failed.button("Skip subtask 2").click()
    dialog = failed.page.get_by_role("dialog", name="Skip subtask 2?")
    reason = dialog.get_by_role("textbox", name="Why? (optional)")
    expect(reason).to_be_focused()
    assert violations(failed) == []
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


def test_a_budget_that_is_reached_is_raised_and_the_plan_goes_on(product, open_tab):
    product.change_agent("scripted", budget={"tokens": 1000})
    tab = open_tab().chat(product.started("quick"))
    tab.sees_connection(LIVE)
    asked = tab.plan.get_by_role("group", name="1,000 of 1,000 tokens are used up")
    expect(asked).to_be_visible()
    expect(tab.button("Resume")).to_have_count(0)
    assert violations(tab) == []
    limit = asked.get_by_role("spinbutton", name="New limit in tokens")
    expect(limit).to_have_value("2000")
    tab.expects("422")
    limit.fill("900")
    asked.get_by_role("button", name="Raise and continue").click()
    expect(asked.get_by_role("alert")).to_have_text(
        "That is not enough: 1,000 of 900 tokens are used up."
    )
    limit.fill("90000")
    asked.get_by_role("button", name="Raise and continue").click()
    expect(asked).to_be_hidden()
    expect(tab.plan).to_have_attribute("data-state", "done")


@pytest.fixture
def helper(product):
    plan = {"enabled": True, "max_attempts": 1}
    product.post("/agents", id="helper", name="Helper", plan=plan, tools={"write_file": "ask"})
    product.change_agent("helper", provider="openai", model="scripted")
    product.change_agent("scripted", tools={"run_agent:helper": "allow"}, budget={})


def test_a_nested_plan_is_followed_and_asks_where_the_person_is(product, helper, open_tab):
    tab = open_tab().chat(product.started("delegate"))
    tab.sees_connection(LIVE)
    question = tab.log.get_by_role("group", name="Let it use write_file?")
    expect(question).to_contain_text("Helper asks. It works for Scripted.")
    expect(tab.row(2)).to_contain_text("Waiting for Helper")
    bar = tab.row(2).get_by_role("progressbar", name="Progress of Half of it")
    expect(bar).to_have_attribute("aria-valuetext", "1 of 3 · 1 by word")
    assert violations(tab) == []
    tab.page.set_viewport_size({"width": 1440, "height": 900})
    question.get_by_role("button", name="Allow once").click()
    expect(tab.plan).to_have_attribute("data-state", "done")
    expect(tab.log.get_by_text("allowed once")).to_have_count(1)
    assert product.file("half.txt", "helper").read_text() == "half"
    tab.row(2).get_by_role("link", name="Half of it").click()
    expect(tab.page.get_by_role("heading", name="Half of it")).to_be_visible()
