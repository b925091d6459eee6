"""What people and files do wrong: one sentence in the right place, and nothing is lost."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.test_tabs import add_subtask
from tests.tab import A_MOMENT, LIVE

REFUSED = r"status of 4(09|12|22)"


def test_a_message_that_is_empty_or_too_long_is_not_sent_and_the_long_one_kept(site, open_tab):
    chat = site.conversation()
    tab = open_tab().chat(chat)
    tab.expects(r"status of 4\d\d")
    tab.say("   \n ")
    tab.page.keyboard.press("Enter")
    expect(tab.alerts).to_have_count(0)
    text = "too long " * 23_000  # 207,000 characters, where 200,000 may be sent
    tab.say(text)
    expect(tab.alerts).to_have_count(1)
    expect(tab.page.get_by_role("alert").and_(tab.page.locator("#composer *"))).to_have_text(
        re.compile(r"^[A-Z][^.]*(too long|characters)[^.]*\.")
    )
    expect(tab.message).to_have_value(text)
    assert site.texts(chat) == []
    with tab.sends():
        tab.say("hello")
    site.drive()
    expect(tab.log).to_contain_text("Understood.")
    expect(tab.alerts).to_have_count(0)
    assert site.texts(chat)[0] == "hello"


@pytest.fixture
def stale(site, open_tab):
    """A tab that shows version 1 of a plan that is at version 2."""
    chat = site.scripted("hang")
    tab = open_tab(blocked=True)
    tab.expects("WebSocket", "ERR_FAILED", REFUSED)
    tab.hears_nothing_until_it_asks()
    tab.chat(chat)
    add_subtask(site, chat, "Added by another tab")
    tab.sees_plan(version=1)
    return chat, tab


def test_a_start_of_an_old_version_starts_nothing_and_names_the_current_one(site, clock, stale):
    chat, tab = stale
    tab.button("Start plan").click()
    expect(tab.plan.get_by_role("alert")).to_contain_text("The plan is now v2, not v1.")
    tab.sees_plan(version=2, state="todo", approved_version="")
    expect(tab.button("Start v2")).to_be_visible()
    assert site.plan(chat)["state"] == "todo"
    clock.fast_forward(A_MOMENT)
    tab.button("Start v2").click()
    tab.sees_plan(approved_version=2)
    site.drive()
    assert site.plan(chat)["state"] == "in_progress"


def test_a_yes_to_an_old_version_starts_nothing_and_says_so(site, stale):
    chat, tab = stale
    tab.say("go ahead")
    expect(tab.page.get_by_text("The plan is now v2, not v1.").first).to_be_visible()
    assert site.plan(chat)["state"] == "todo"


def test_an_edit_of_an_old_version_is_kept_in_its_editor(site, stale):
    _, tab = stale
    tab.rename(1, "My name for it")
    field = tab.editor("Edit subtask 1").get_by_role("textbox").first
    expect(tab.editor("Edit subtask 1").get_by_role("alert")).to_contain_text("v2")
    expect(field).to_have_value("My name for it")
    tab.sees_plan(version=2)
    tab.editor("Edit subtask 1").get_by_role("button", name="Save").click()
    tab.sees_plan(version=3)
    expect(tab.row(1)).to_contain_text("My name for it")


def test_a_name_is_needed_and_the_last_subtask_stays(site, open_tab):
    tab = open_tab().chat(site.scripted("quick"))
    tab.expects(REFUSED)
    tab.rename(1, "  ")
    expect(tab.editor("Edit subtask 1").get_by_role("alert")).to_have_text(
        "Give the subtask a name."
    )
    tab.sees_plan(version=1)
    tab.page.keyboard.press("Escape")
    for left in (2, 1):
        tab.remove(1)
        expect(tab.rows).to_have_count(left)
    remove = tab.button("Remove subtask 1")
    expect(remove).to_have_attribute("aria-disabled", "true")
    remove.click(force=True)
    expect(tab.rows).to_have_count(1)


# agent.json


@pytest.fixture
def file(site):
    """The agent's own."""
    return site.agent_file("scripted")


SETTINGS = "/settings/agents/?agent=scripted"


def card(tab, name="Scripted"):
    return tab.page.get_by_role("article", name=name, exact=True)


def test_with_plan_mode_off_the_button_is_gone_and_plan_says_why(site, open_tab, file):
    file.write_text(file.read_text().replace('"enabled": true', '"enabled": false'))
    tab = open_tab().chat(site.conversation())
    tab.sees_connection(LIVE)
    expect(tab.drawer_toggle).to_have_count(0)
    tab.say("/plan something")
    notice = tab.log.locator("article[data-kind=notice]")
    expect(notice).to_contain_text("/plan is off for Scripted")
    notice.get_by_role("link", name="Turn on Plan Mode").click()
    expect(card(tab)).to_be_visible()


def test_a_wrong_text_typed_into_the_file_stays_in_the_editor(open_tab, file):
    before = file.read_text()
    tab = open_tab(SETTINGS)
    tab.expects(REFUSED)
    tab.button("Edit").click()
    editor = tab.page.get_by_role("textbox", name="agent.json", exact=True)
    editor.fill('{"id": "scripted",\n "name": 7}')
    tab.button("Save").click()
    expect(tab.page.locator("#file-faults > li[data-line='2']")).to_contain_text("name")
    expect(editor).to_contain_text('"name": 7}')
    assert file.read_text() == before
