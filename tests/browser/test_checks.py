"""Checks on the page: read before the yes, changed in their place, by mouse and by keyboard alone."""

import pytest
from playwright.sync_api import expect

from plans.models import Plan, Subtask
from tests.browser.model import subtasks_to
from tests.browser.scripted_site import TOOLS
from tests.tab import LIVE

NOTES = {"kind": "file", "path": "notes.md", "exists": True}
LINT = {"kind": "command", "command": "make lint"}


@pytest.fixture
def chat(site):
    site.change_agent(tools=TOOLS | {"shell": "ask"})
    first, second, third = subtasks_to("quick")
    return site.proposed(first | {"checks": [NOTES]}, second | {"checks": [NOTES, LINT]}, third)


@pytest.fixture
def tab(open_tab, chat):
    tab = open_tab().chat(chat)
    tab.sees_connection(LIVE)
    return tab


def checks_of(number):
    return Subtask.objects.get(key=f"s{number}").checks


def lines(tab, number):
    return tab.row(number).get_by_role("list", name=f"Checks of subtask {number}")


def form(tab, number, words="Edit a check of subtask"):
    return tab.editor(f"{words} {number}")


def test_a_check_is_changed_in_its_place_and_that_is_a_new_version(tab):
    tab.button("Edit check 2 of subtask 2: command make lint asks you").click()
    command = form(tab, 2).get_by_role("textbox", name="Command")
    expect(command).to_be_focused()
    expect(form(tab, 2)).to_contain_text("shell is set to Ask for Scripted")
    command.fill("make test")
    command.press("Enter")
    expect(lines(tab, 2)).to_contain_text("make test")
    expect(tab.button("Edit check 2 of subtask 2: command make test asks you")).to_be_focused()
    [_, lint] = checks_of(2)
    assert (lint["key"], lint["command"]) == ("c2", "make test")
    tab.plan.get_by_role("button", name="v2 · 1 change, compare versions").click()
    expect(tab.plan.locator("#versions")).to_contain_text("Check changed")


def test_the_start_takes_along_a_check_that_is_being_typed(tab):
    tab.button("Add a check to subtask 3").click()
    form(tab, 3, "Add a check to subtask").get_by_label("Path").fill("said.md")
    tab.button("Start with my edits").click()
    tab.sees_plan(version=2, approved_version=2)
    [check] = checks_of(3)
    assert (check["path"], check["exists"]) == ("said.md", True)


def test_half_a_check_survives_a_reload_and_a_change_elsewhere(site, tab):
    tab.button("Edit check 2 of subtask 2: command make lint asks you").click()
    command = form(tab, 2).get_by_role("textbox", name="Command")
    command.fill("make docs")
    tab.page.reload()
    expect(command).to_have_value("make docs")
    tab.sees_connection(LIVE)
    site.patch(f"/plans/{Plan.objects.get().pk}/subtasks/s1", checks=[])
    expect(form(tab, 2).get_by_role("alert")).to_contain_text("Your text is kept.")
    expect(command).to_have_value("make docs")
    form(tab, 2).get_by_role("button", name="Save mine as v3").click()
    expect(lines(tab, 2)).to_contain_text("make docs")
