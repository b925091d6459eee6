"""A key that saved in one place is no yes in the next one: the other fields and ways to press."""

import pytest

from tests.browser.test_approving_keys import (
    MOMENT,
    comment,
    hold_both,
    hold_control,
    press_it_again,
    press_it_again_at_once,
    rename,
    rename_the_plan,
    saves_once_and_starts_nothing,
    tab,
)

__all__ = ["tab"]

TRIES = [
    (rename, press_it_again),
    (rename, press_it_again_at_once),
    (rename_the_plan, hold_both),
    (comment, press_it_again_at_once),
]


@pytest.mark.parametrize(("write", "press"), TRIES)
def test_the_other_keys_that_save_never_start_and_save_once(tab, write, press):
    saves_once_and_starts_nothing(tab, write, press)


def test_the_chord_starts_once_the_keys_were_up_and_the_page_has_stood(tab):
    _, sees = rename(tab)
    hold_control(tab.page.keyboard, sees)
    tab.page.keyboard.up("Control")
    tab.page.clock.fast_forward(MOMENT)
    tab.page.keyboard.press("Control+Enter")
    tab.sees_plan(approved_version=2)
