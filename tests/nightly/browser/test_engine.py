"""A person steers a run: raises a budget, and sees a nested plan."""

import pytest
from playwright.sync_api import expect

from tests.browser.test_engine import model
from tests.tab import LIVE

__all__ = ["model"]


def test_a_budget_that_is_reached_is_raised_and_the_plan_goes_on(product, open_tab):
    product.change_agent("scripted", budget={"tokens": 1000})
    tab = open_tab().chat(product.started("quick"))
    tab.sees_connection(LIVE)
    asked = tab.plan.get_by_role("group", name="1,000 of 1,000 tokens are used up")
    expect(asked).to_be_visible()
    expect(tab.button("Resume")).to_have_count(0)
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
    question.get_by_role("button", name="Allow once").click()
    expect(tab.plan).to_have_attribute("data-state", "done")
    expect(tab.log.get_by_text("allowed once")).to_have_count(1)
    assert product.file("half.txt", "helper").read_text() == "half"
    tab.row(2).get_by_role("link", name="Half of it").click()
    expect(tab.page.get_by_role("heading", name="Half of it")).to_be_visible()
