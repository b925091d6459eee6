"""Checks on the page: read before the yes, changed in their place, by mouse and by keyboard alone."""

import pytest
from playwright.sync_api import expect

from tests.browser.test_pages import violations
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


def test_a_proposal_shows_each_check_counts_them_and_says_where_there_is_none(open_tab, chat):
    tab = open_tab().chat(chat)
    expect(tab.plan.locator("#subtask-list-head")).to_contain_text("3 subtasks, 3 checks")
    expect(lines(tab, 2).get_by_role("listitem")).to_have_count(2)
    expect(lines(tab, 2)).to_contain_text("notes.md exists")
    expect(lines(tab, 2)).to_contain_text("asks you")
    expect(tab.row(3)).to_contain_text("No check: done by the agent’s word")
    card = tab.articles.filter(has_text="with checks")
    expect(card).to_contain_text("3 subtasks, 2 with checks. Nothing runs until you start it.")
    expect(card).to_contain_text("no check")
    assert violations(tab) == []


def test_a_check_is_changed_in_its_place_and_that_is_a_new_version(product, open_tab, chat):
    tab = open_tab().chat(chat)
    tab.sees_connection(LIVE)
    before = product.plan(chat)["version"]
    tab.button("Edit check 2 of subtask 2: command make lint asks you").click()
    command = form(tab, 2).get_by_role("textbox", name="Command")
    expect(command).to_be_focused()
    expect(form(tab, 2)).to_contain_text("shell is set to Ask for Scripted")
    assert violations(tab) == []
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


def test_what_cannot_be_saved_says_why_and_keeps_what_was_typed(product, open_tab, chat):
    tab = open_tab().chat(chat)
    tab.expects("status of 4")
    tab.button("Add a check to subtask 3").click()
    new = form(tab, 3, "Add a check to subtask")
    new.get_by_role("button", name="Save").click()
    expect(new.get_by_role("alert")).to_contain_text("needs its path")
    new.get_by_label("Path").fill("../up.md")
    new.get_by_role("button", name="Save").click()
    expect(new.get_by_role("alert")).to_contain_text("relative to the workspace")
    expect(new.get_by_label("Path")).to_have_value("../up.md")
    new.get_by_text("HTTP", exact=True).click()
    expect(new).not_to_contain_text("relative to the workspace")
    expect(new).to_contain_text("fetch_url is off for Scripted")
    expect(new.get_by_role("button", name="Save")).to_have_attribute("aria-disabled", "true")
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


@pytest.fixture
def refused(product):
    """A plan whose first subtask says it is done, and is not."""
    product.change_agent("scripted", plan={"enabled": True, "max_attempts": 1})
    chat = product.scripted("quick")
    checked(product, chat, "s1", NOTES)
    plan = product.plan(chat)
    product.post(f"/plans/{plan['id']}/approve", version=plan["version"])
    product.wait(chat, lambda plan: plan["attention"] == "failed")
    yield chat
    product.file("notes.md", "scripted").unlink(missing_ok=True)


def test_a_finish_that_is_refused_says_which_check_and_why_and_then_holds(
    product, open_tab, refused
):
    tab = open_tab().chat(refused)
    tab.sees_connection(LIVE)
    blocks = tab.log.get_by_role("group", name="Not done yet: notes.md failed")
    expect(blocks).to_have_count(3)
    expect(blocks.first).to_contain_text("refused 1 of 3")
    expect(blocks.last).to_contain_text("notes.md is not there.")
    expect(tab.row(1).get_by_role("img", name="A check failed").first).to_be_visible()
    expect(tab.row(1)).to_contain_text("3 finishes were refused by its checks")
    tab.row(1).hover()
    tab.button("Add a check to subtask 1").click()
    form(tab, 1, "Add a check to subtask").get_by_role("button", name="Cancel").click()
    tab.row(1).get_by_role("button", name="Edit check 1 of subtask 1").click()
    expect(form(tab, 1).get_by_label("Path")).to_have_value("notes.md")
    tab.page.keyboard.press("Escape")
    assert violations(tab) == []
    product.file("notes.md", "scripted").write_text("there")
    tab.row(1).get_by_role("button", name="Retry subtask 1").click()
    expect(tab.plan).to_have_attribute("data-state", "done")
    expect(tab.row(1).get_by_role("img", name="Done, checked")).to_be_visible()
    expect(tab.row(2).get_by_role("img", name="Done, by the agent’s word")).to_be_visible()
    expect(tab.progress).to_have_attribute("aria-valuetext", "3 of 3 · 1 checked, 2 by word")
    expect(tab.log).to_contain_text("Subtasks 2 and 3 are done by the agent’s word.")
    assert violations(tab) == []


def test_what_is_done_is_checked_again_and_a_person_may_look_instead(product, open_tab, refused):
    product.file("notes.md", "scripted").write_text("there")
    plan = product.plan(refused)
    product.post(f"/plans/{plan['id']}/subtasks/s1/retry")
    product.wait(refused, lambda plan: plan["state"] == "done")
    tab = open_tab().chat(refused)
    tab.sees_connection(LIVE)
    expect(tab.plan).to_contain_text("1 of 3 checked, last at")
    product.file("notes.md", "scripted").unlink()
    tab.button("Check all").click()
    expect(tab.row(1)).to_contain_text("No longer true since")
    expect(tab.row(1)).to_contain_text("notes.md is not there.")
    expect(tab.drawer_toggle.get_by_role("img", name="No longer true")).to_be_visible()
    assert violations(tab) == []
    tab.button("I have looked at subtask 1").click()
    expect(tab.row(1)).to_contain_text("Looked at by you,")
    expect(tab.row(1)).to_be_focused()
    expect(tab.progress).to_have_attribute(
        "aria-valuetext", "3 of 3 · 1 checked, 1 of them by you, 2 by word"
    )
    tab.button("Add a check to subtask 2").click()
    form(tab, 2, "Add a check to subtask").get_by_label("Path").fill("gone.md")
    tab.page.keyboard.press("Enter")
    tab.row(2).get_by_text("1 check").click()
    tab.button("Check now, subtask 2").click()
    expect(tab.row(2)).to_contain_text("No longer true since")
    assert violations(tab) == []


def test_why_the_form_of_a_check_does_not_come_is_said(open_tab, chat):
    tab = open_tab().chat(chat)
    tab.sees_connection(LIVE)
    tab.expects("500")
    tab.page.route("**/plan/check-editor", lambda route: route.fulfill(status=500, body=""))
    tab.button("Edit check 1 of subtask 1: file notes.md exists").click()
    expect(tab.plan.get_by_role("alert")).to_contain_text("Something broke inside Planside.")
