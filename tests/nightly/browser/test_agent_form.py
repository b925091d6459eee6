"""An agent as a form: answers that come late, and cards that are opened quickly; on a phone."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import PHONE
from tests.browser.test_agent_form import LOOKS_AGAIN, form
from tests.browser.test_workspace import let_go
from tests.tab import wait_for

__all__ = ["form"]


def test_enter_in_the_picker_is_for_what_was_typed_though_its_list_comes_later(form):
    form.page.get_by_role("button", name="Model: ").press("Enter")
    find = form.page.get_by_label("Find a model")
    options = form.page.locator("#model-list [role=option]")
    expect(options.and_(form.page.locator("[aria-selected=true]"))).to_have_count(1)
    held = form.tab.hold("**/models*find=demo*")
    find.press_sequentially("demo")
    find.press("Enter")
    wait_for(form.tab, lambda: held)
    for route in held:
        route.continue_()
    expect(form.status).to_contain_text("The model is demo/docs.")


def test_what_is_on_its_way_stays_while_the_answer_to_what_came_before_it_is_drawn(form):
    held = form.tab.hold("**/agents/scripted/field")
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
    held = form.tab.hold(re.compile(r"/scripted/file\?"))
    form.tab.button("Scripted settings").click()
    wait_for(form.tab, lambda: held)
    form.tab.button("Docs writer settings").click()
    pane = form.page.get_by_role("complementary", name="agent.json of Docs writer")
    expect(pane).to_be_visible()
    let_go(form.tab, held[0])
    expect(pane).to_be_visible()
    form.page.unroute(held.address)
    form.tab.button("Scripted settings").click()
    expect(form["Description"]).to_be_visible()


def test_on_a_phone_labels_stand_above_and_the_file_is_behind_a_button(form):
    tab = form.open(viewport=PHONE)
    label, box = (
        tab.page.get_by_text("Description", exact=True),
        tab.page.get_by_label("Description"),
    )
    expect(box).to_be_visible()
    assert label.bounding_box()["y"] + label.bounding_box()["height"] <= box.bounding_box()["y"]
    pane = tab.page.get_by_role("complementary", name="agent.json")
    expect(pane).to_be_hidden()
    tab.page.get_by_role("button", name="agent.json", exact=True).click()
    expect(pane).to_be_visible()
    tab.button("Close agent.json").click()
    expect(pane).to_be_hidden()
    expect(tab.page.get_by_role("button", name="agent.json", exact=True)).to_be_focused()


def test_instructions_that_were_being_typed_survive_a_reload_and_ctrl_enter_saves_them(form):
    box = form["Instructions"]
    box.fill("One.")
    box.press("Enter")
    form.page.keyboard.type("Two.")
    form.page.reload()
    expect(box).to_have_value("One.\nTwo.")
    assert form.file["instructions"] == "Be brief."
    box.press("Control+Enter")
    expect(form.status).to_contain_text("The instructions are changed.")
    expect(box).to_be_focused()
    assert form.file["instructions"] == "One.\nTwo."


def test_the_model_is_found_in_the_picker_by_keyboard(form):
    button = form.page.get_by_role("button", name="Model: ")
    button.press("Enter")
    find = form.page.get_by_label("Find a model")
    expect(find).to_be_focused()
    find.fill("demo")
    option = form.page.locator('#model-list [data-model="demo/docs"]')
    expect(option).to_have_attribute("aria-selected", "true")
    form.site.change_agent(model="gone")
    find.press("Enter")
    expect(form.status).to_contain_text("The model is demo/docs.")
    expect(button).to_be_focused()
    assert form.file["model"] == "docs"


def test_two_tabs_follow_each_other_and_what_is_typed_in_one_stays(form, clock):
    other = form.open()
    here = other.page.get_by_role("textbox", name="Description", exact=True)
    typing = other.page.get_by_role("textbox", name="Instructions", exact=True)
    switch, there = (tab.page.get_by_label("Plan first on every task") for tab in (form, other))
    typing.fill("Half a thought")
    form["Description"].fill("Changed there")
    with form.tab.sends():
        form["Description"].press("Enter")
    with form.tab.sends():
        switch.check(force=True)
    clock.fast_forward(LOOKS_AGAIN)
    expect(here).to_have_value("Changed there")
    expect(there).to_be_checked()
    with other.sends():
        there.uncheck(force=True)
    here.fill("And back")
    with other.sends():
        here.press("Enter")
    clock.fast_forward(LOOKS_AGAIN)
    expect(switch).not_to_be_checked()
    expect(form["Description"]).to_have_value("And back")
    expect(typing).to_have_value("Half a thought")
