"""A key that saved in one place is no yes in the next one: neither while it is held, nor
pressed again in the same breath."""

import pytest
from playwright.sync_api import expect

from tests.tab import LIVE

MOMENT = 500  # ms from a change that an Enter made to the next one that counts


@pytest.fixture
def chat(product):
    return product.scripted("hang")


@pytest.fixture
def tab(open_tab, chat):
    tab = open_tab()
    tab.page.clock.install()
    tab.chat(chat)
    tab.sees_connection(LIVE)
    return tab


def rename(tab):
    return tab.edit(1, "Renamed"), lambda: tab.sees_plan(version=2)


def rename_the_plan(tab):
    tab.button("Edit the plan's title and description").click()
    field = tab.plan.locator("form.editor textarea").first
    field.fill("Renamed")
    return field, lambda: tab.sees_plan(version=2)


def comment(tab):
    tab.button("Comment on subtask 1").click()
    field = tab.plan.get_by_role("textbox", name="Comment on subtask 1")
    field.fill("Why?")
    kept = tab.row(1).locator(".subtask-comment-place").get_by_role("group")
    return field, lambda: expect(kept).to_contain_text("Why?")


def add(tab):
    tab.button("Add a subtask").click()
    field = tab.editor("Add a subtask").get_by_role("textbox").first
    field.fill("One more")
    return field, lambda: tab.sees_plan(version=2)


def hold_both(keys, sees):
    keys.down("Control")
    for _ in range(20):
        keys.down("Enter")  # a repeated one, from the second on
    sees()
    for _ in range(20):
        keys.down("Enter")


def hold_control(keys, sees):
    keys.down("Control")
    keys.press("Enter")
    sees()
    keys.press("Enter")
    keys.press("Enter")


def press_it_again(keys, sees):
    keys.press("Control+Enter")
    sees()
    keys.press("Control+Enter")


def press_it_again_at_once(keys, sees):
    keys.press("Control+Enter")
    keys.press("Control+Enter")
    sees()
    keys.press("Control+Enter")


TRIES = [
    (rename, hold_both),
    (rename, hold_control),
    (add, press_it_again_at_once),
    (comment, hold_both),
]


@pytest.mark.parametrize(("write", "press"), TRIES)
def test_the_keys_that_save_never_start_and_save_once(product, tab, chat, write, press):
    saves_once_and_starts_nothing(product, tab, chat, write, press)


def saves_once_and_starts_nothing(product, tab, chat, write, press):
    keys, before = tab.page.keyboard, len(tab.names())
    field, sees = write(tab)
    field.focus()
    press(keys, sees)
    expect(tab.plan.locator("form.editor")).to_have_count(0)
    assert product.plan(chat)["approved_version"] is None
    keys.up("Enter")
    keys.up("Control")
    tab.page.clock.fast_forward(MOMENT)
    plan = product.plan(chat)
    assert plan["approved_version"] is None
    assert plan["version"] == (1 if write is comment else 2)
    assert len(plan["subtasks"]) == before + (write is add)


def test_enter_in_the_name_and_then_the_chord_of_the_form_never_starts(product, tab, chat):
    field, sees = rename(tab)
    field.press("Enter")
    sees()
    tab.page.keyboard.press("Control+Enter")
    assert product.plan(chat)["approved_version"] is None
    tab.page.clock.fast_forward(MOMENT)
    tab.page.keyboard.press("Control+Enter")
    tab.sees_plan(approved_version=2)


def test_a_button_is_pressed_once_however_long_enter_is_held(tab):
    sent = []
    tab.page.on("request", lambda each: sent.append(each) if each.method == "POST" else None)
    tab.button("Ask for changes").focus()
    for _ in range(20):
        tab.page.keyboard.down("Enter")
    tab.page.keyboard.up("Enter")
    tab.edit(1, "Renamed")
    tab.editor("Edit subtask 1").get_by_role("button", name="Save").focus()
    for _ in range(20):
        tab.page.keyboard.down("Enter")
    tab.sees_plan(version=2)
    tab.page.keyboard.up("Enter")
    assert len([each for each in sent if "/edit" in each.url]) == 1
    assert not [each for each in sent if "/approve" in each.url]
