"""Checks on the page: read before the yes, changed in their place, by mouse and by keyboard alone."""

import pytest
from playwright.sync_api import expect

from tests.tab import LIVE

NOTES = {"kind": "file", "path": "notes.md", "exists": True}
LINT = {"kind": "command", "command": "make lint"}


@pytest.fixture
def chat(product):
    product.change_agent(
        "scripted", tools={"write_file": "allow", "list_files": "allow", "shell": "ask"}
    )
    chat = product.scripted("quick")
    checked(product, chat, "s1", NOTES)
    checked(product, chat, "s2", NOTES, LINT)
    return chat


def checked(product, chat, key, *checks):
    plan = product.plan(chat)
    path = f"/plans/{plan['id']}/subtasks/{key}"
    product.script.patch(product.server, path, {"checks": list(checks)})


def checks_of(product, chat, number):
    return product.plan(chat)["subtasks"][number - 1]["checks"]


def lines(tab, number):
    return tab.row(number).get_by_role("list", name=f"Checks of subtask {number}")


def form(tab, number, words="Edit a check of subtask"):
    return tab.editor(f"{words} {number}")


def test_a_check_is_changed_in_its_place_and_that_is_a_new_version(product, open_tab, chat):
    tab = open_tab().chat(chat)
    tab.sees_connection(LIVE)
    before = product.plan(chat)["version"]
    tab.button("Edit check 2 of subtask 2: command make lint asks you").click()
    command = form(tab, 2).get_by_role("textbox", name="Command")
    expect(command).to_be_focused()
    expect(form(tab, 2)).to_contain_text("shell is set to Ask for Scripted")
    command.fill("make test")
    command.press("Enter")
    expect(lines(tab, 2)).to_contain_text("make test")
    expect(tab.button("Edit check 2 of subtask 2: command make test asks you")).to_be_focused()
    [_, lint] = checks_of(product, chat, 2)
    assert (lint["key"], lint["command"]) == ("c2", "make test")
    assert product.plan(chat)["version"] == before + 1
    tab.plan.get_by_role("button", name=f"v{before + 1} · 1 change, compare versions").click()
    expect(tab.plan.locator("#versions")).to_contain_text("Check changed")


def test_a_check_is_added_of_another_kind_and_removed_by_keyboard_alone(product, open_tab, chat):
    tab = open_tab().chat(chat)
    tab.sees_connection(LIVE)
    add = tab.button("Add a check to subtask 3")
    add.focus()
    add.press("Enter")
    kinds = form(tab, 3, "Add a check to subtask")
    expect(kinds.get_by_role("radio", name="File")).to_be_focused()
    tab.page.keyboard.press("Tab")
    tab.page.keyboard.type("a.md")
    tab.page.keyboard.press("Escape")
    expect(tab.button("Add a check to subtask 3")).to_be_focused()
    tab.page.keyboard.press("Enter")
    expect(kinds.get_by_role("radio", name="File")).to_be_focused()
    for _ in range(4):
        tab.page.keyboard.press("ArrowRight")
    tab.page.keyboard.press("Tab")
    expect(kinds.get_by_role("textbox", name="Question")).to_be_focused()
    tab.page.keyboard.type("Does every link work?")
    tab.page.keyboard.press("Enter")
    line = tab.button("Edit check 1 of subtask 3: review Does every link work?")
    expect(line).to_be_focused()
    tab.page.keyboard.press("Enter")
    expect(form(tab, 3).get_by_role("textbox", name="Question")).to_be_focused()
    for _ in range(3):
        tab.page.keyboard.press("Tab")
    expect(form(tab, 3).get_by_role("button", name="Remove check")).to_be_focused()
    tab.page.keyboard.press("Enter")
    expect(tab.row(3)).to_contain_text("No check: done by the agent’s word")
    expect(tab.row(3).locator(".step-row")).to_be_focused()
    assert checks_of(product, chat, 3) == []


def test_the_start_takes_along_a_check_that_is_being_typed(product, open_tab, chat):
    tab = open_tab().chat(chat)
    tab.sees_connection(LIVE)
    tab.button("Add a check to subtask 3").click()
    form(tab, 3, "Add a check to subtask").get_by_label("Path").fill("said.md")
    tab.button("Start with my edits").click()
    product.wait(chat, lambda plan: plan["approved_version"])
    [check] = checks_of(product, chat, 3)
    assert (check["path"], check["exists"]) == ("said.md", True)


def test_half_a_check_survives_a_reload_and_a_change_elsewhere(product, open_tab, chat):
    tab = open_tab().chat(chat)
    tab.sees_connection(LIVE)
    tab.button("Edit check 2 of subtask 2: command make lint asks you").click()
    form(tab, 2).get_by_role("textbox", name="Command").fill("make docs")
    tab.page.reload()
    command = form(tab, 2).get_by_role("textbox", name="Command")
    expect(command).to_have_value("make docs")
    tab.sees_connection(LIVE)
    checked(product, chat, "s1")
    expect(form(tab, 2).get_by_role("alert")).to_contain_text("Your text is kept.")
    expect(command).to_have_value("make docs")
    version = product.plan(chat)["version"]
    form(tab, 2).get_by_role("button", name=f"Save mine as v{version + 1}").click()
    expect(lines(tab, 2)).to_contain_text("make docs")
