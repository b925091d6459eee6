"""One rule for Enter: it saves a field of one line, Ctrl+Enter saves one of several lines."""

import re

import pytest
from playwright.sync_api import expect

from plans.models import Plan

NAME, TOLD, EXPECTED = "Name", "What the agent is told", "Expected outcome"


@pytest.fixture
def proposed(site, open_tab):
    tab = open_tab().chat(site.scripted("hang"))
    expect(tab.button("Start plan")).to_be_visible()
    return tab


def field(form, label):
    return form.get_by_role("textbox", name=label, exact=True)


def open_form(tab, which):
    """The form, and the one of its fields that takes several lines."""
    if which == "a subtask":
        tab.button("Edit subtask 1").click()
        return tab.editor("Edit subtask 1"), TOLD
    if which == "a new subtask":
        tab.button("Add a subtask").click()
        form = tab.editor("Add a subtask")
        field(form, NAME).fill("One more")
        return form, TOLD
    tab.button("Edit the plan's title and description").click()
    return tab.editor("Edit the plan"), "Description"


FORMS = ("a subtask", "a new subtask", "the plan")


def test_in_several_lines_enter_begins_a_line_and_ctrl_enter_saves_and_never_starts(proposed):
    for number, (which, keys) in enumerate(zip(FORMS, ("Control", "Meta", "Control"), strict=True)):
        form, label = open_form(proposed, which)
        several = field(form, label)
        several.fill("first")
        several.press("End")
        several.press("Enter")
        proposed.page.keyboard.type("second")
        expect(several).to_have_value("first\nsecond")
        expect(form).to_contain_text(re.compile(r"Ctrl\s+Enter\s+saves"))
        proposed.page.keyboard.press(f"{keys}+Enter")
        proposed.sees_plan(version=2 + number, state="todo", approved_version="")
        expect(form).to_be_hidden()
    expect(proposed.rows).to_have_count(4)


def test_ctrl_enter_in_a_form_that_changed_nothing_starts_nothing(proposed):
    for which in FORMS:
        form, label = open_form(proposed, which)
        if which == "a new subtask":
            field(form, NAME).fill("")
        field(form, label).press("Control+Enter")
        proposed.has_sent_all()
        proposed.page.keyboard.press("Escape")
    proposed.sees_plan(version=1, state="todo", approved_version="")
    plan = Plan.objects.get()
    assert (plan.version, plan.approved_version) == (1, None)


def test_enter_in_a_name_saves_it_and_a_new_one_is_not_wrong_before_anything_was_typed(proposed):
    form, _ = open_form(proposed, "a subtask")
    field(form, NAME).fill("Short and sweet")
    proposed.page.keyboard.press("Enter")
    proposed.sees_plan(version=2, approved_version="")
    expect(proposed.row(1)).to_contain_text("Short and sweet")
    form, _ = open_form(proposed, "a new subtask")
    name = field(form, NAME)
    name.fill("")
    form.get_by_role("button", name="Cancel").click()
    proposed.button("Add a subtask").click()
    calm = field(form, EXPECTED).evaluate("element => getComputedStyle(element).borderColor")
    expect(name).to_have_css("border-color", calm)
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_role("alert")).to_have_text("Give the subtask a name.")
    expect(name).not_to_have_css("border-color", calm)
