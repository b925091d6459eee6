"""An agent as a form: answers that come late, and cards that are opened quickly."""

import re

from playwright.sync_api import expect

from tests.browser.test_agent_form import form
from tests.browser.test_workspace import let_go
from tests.tab import wait_for

__all__ = ["form"]


def test_enter_in_the_picker_is_for_what_was_typed_though_its_list_comes_later(form):
    form.page.get_by_role("button", name="Model: ").press("Enter")
    find = form.page.get_by_label("Find a model")
    options = form.page.locator("#model-list [role=option]")
    expect(options.and_(form.page.locator("[aria-selected=true]"))).to_have_count(1)
    held = form.tab.hold("**/models*find=scripted*")
    find.press_sequentially("scripted")
    find.press("Enter")
    wait_for(form.tab, lambda: held)
    for route in held:
        route.continue_()
    expect(form.status).to_contain_text("The model is openai/scripted.")


def test_what_is_on_its_way_stays_while_the_answer_to_what_came_before_it_is_drawn(form):
    held = form.tab.hold(f"**/agents/{form.id}/field")
    form["Name"].fill("Another")
    form.page.keyboard.press("Tab")
    wait_for(form.tab, lambda: held)
    form["Description"].fill("On its way")
    form.page.keyboard.press("Tab")
    wait_for(form.tab, lambda: len(held) == 2)
    held[0].continue_()
    expect(form.status).to_contain_text("The name is Another.")
    expect(form["Description"]).to_have_value("On its way")
    held[1].continue_()
    expect(form.status).to_contain_text("The description is changed.")
    expect(form["Description"]).to_have_value("On its way")
    assert form.file["description"] == "On its way"


def test_of_two_cards_that_are_opened_the_file_is_of_the_last_one(form):
    form.tab.open("/settings/agents/?agent=nobody")
    held = form.tab.hold(re.compile(rf"/{form.id}/file\?"))
    form.tab.button(f"Agent {form.id} settings").click()
    wait_for(form.tab, lambda: held)
    form.tab.button("Scripted settings").click()
    pane = form.page.get_by_role("complementary", name="agent.json of Scripted")
    expect(pane).to_be_visible()
    let_go(form.tab, held[0])
    expect(pane).to_be_visible()
    form.page.unroute(held.address)
    form.tab.button(f"Agent {form.id} settings").click()
    expect(form["Description"]).to_be_visible()
