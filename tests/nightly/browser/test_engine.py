"""A person steers a run: raises a budget, and sees a nested plan."""

import pytest
from playwright.sync_api import expect

from tests.browser.model import script
from tests.fake_model import call, rule
from tests.tab import LIVE, armed

HANDED = call("run_agent", agent="helper", task="I want to tidy half of it")
ASKED = call("write_file", path="half.txt", content="half")
NAMES = [{"name": "Half one"}, {"name": "Half two"}, {"name": "Half three"}]
DONE = {**call("finish_subtask", outcome="Did that."), "usage": [900, 100]}
RULES = [
    rule(HANDED, user=r"s\d+: Then delegate", results=0),
    rule(call("create_plan", title="Half of it", subtasks=NAMES), only="create_plan"),
    rule(ASKED, user=r"s\d+: Half two", results=0),
    rule(DONE, offered="finish_subtask"),
    *script()["rules"],
]


def test_a_budget_that_is_reached_is_raised_and_the_plan_goes_on(site, open_tab):
    site.plays(*RULES)
    site.change_agent(budget={"tokens": 1000})
    tab = open_tab().chat(site.started("quick"))
    tab.sees_connection(LIVE)
    asked = tab.plan.get_by_role("group", name="1,000 of 1,000 tokens are used up")
    expect(asked).to_be_visible()
    expect(tab.button("Resume")).to_have_count(0)
    limit = asked.get_by_role("spinbutton", name="New limit in tokens")
    expect(limit).to_have_value("2000")
    tab.expects("422")
    limit.fill("900")
    armed(asked.get_by_role("button", name="Raise and continue")).click()
    expect(asked.get_by_role("alert")).to_have_text(
        "That is not enough: 1,000 of 900 tokens are used up."
    )
    limit.fill("90000")
    with tab.sends():
        armed(asked.get_by_role("button", name="Raise and continue")).click()
    site.drive()
    expect(asked).to_be_hidden()
    expect(tab.plan).to_have_attribute("data-state", "done")


@pytest.fixture
def helper(site):
    plan = {"enabled": True, "max_attempts": 1}
    site.plays(*RULES)
    site.do(site.make_agent, "helper", name="Helper", plan=plan, tools={"write_file": "ask"})
    site.change_agent(tools={"run_agent:helper": "allow"})


def test_a_nested_plan_is_followed_and_asks_where_the_person_is(site, helper, open_tab):
    tab = open_tab().chat(site.started("delegate"))
    tab.sees_connection(LIVE)
    question = tab.log.get_by_role("group", name="Let it use write_file?")
    expect(question).to_contain_text("Helper asks. It works for Scripted.")
    expect(tab.row(2)).to_contain_text("Waiting for Helper")
    bar = tab.row(2).get_by_role("progressbar", name="Progress of Half of it")
    expect(bar).to_have_attribute("aria-valuetext", "1 of 3 · 1 by word")
    with tab.sends():
        armed(question.get_by_role("button", name="Allow once")).click()
    site.drive()
    expect(tab.plan).to_have_attribute("data-state", "done")
    expect(tab.log.get_by_text("allowed once")).to_have_count(1)
    assert site.file("half.txt", "helper").read_text() == "half"
    tab.row(2).get_by_role("link", name="Half of it").click()
    expect(tab.page.get_by_role("heading", name="Half of it")).to_be_visible()
