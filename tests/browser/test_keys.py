"""Keys of the list that ? shows and that no other file presses; all of them are pressed by night."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE
from tests.browser.keys_tried import TRIES

ONLY_HERE = ("line", "unsent", "list-move")
BELOW_ITS_BUTTONS = """(it) => it.getBoundingClientRect().bottom -
  it.querySelector(".buttons").getBoundingClientRect().bottom"""


@pytest.mark.parametrize("name", ONLY_HERE)
def test_a_key_does_what_the_list_says(site, open_tab, name):
    TRIES[name](site, open_tab())


def test_who_turned_it_off_types_a_question_mark_anywhere_and_nothing_opens(site, open_tab):
    tab = open_tab("/settings/appearance/")
    switch = tab.page.get_by_role("switch", name="? opens the list of keys")
    for is_on in (False, True):
        with tab.page.expect_response("**/appearance/set"):
            switch.click()
        expect(switch).to_be_checked(checked=is_on)
        tab.page.get_by_role("heading", name="Appearance").click()
        tab.page.keyboard.press("?")
        dialog = tab.page.get_by_role("dialog", name="Keys")
        if is_on:
            expect(dialog).to_be_visible()
        else:
            tab.has_sent_all()
            expect(dialog).to_have_count(0)


def test_the_list_opens_at_its_beginning_with_close_in_view_also_for_who_has_no_such_key(
    site, open_tab
):
    tab = open_tab("/settings/appearance/", viewport=PHONE)
    tab.button("Show the list").click()
    dialog = tab.page.get_by_role("dialog", name="Keys")
    close = dialog.get_by_role("button", name="Close")
    expect(close).to_be_focused()
    expect(close).to_be_in_viewport(ratio=1)
    expect(dialog.get_by_role("heading", name="Keys")).to_be_in_viewport(ratio=1)
    assert dialog.evaluate("(it) => it.scrollHeight > it.clientHeight"), "it is longer than that"
    below = dialog.evaluate(BELOW_ITS_BUTTONS)
    assert below <= 2, "lines of the list are seen below its buttons"
    tab.page.keyboard.press("Escape")
    expect(tab.button("Show the list")).to_be_focused()
