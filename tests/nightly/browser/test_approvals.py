"""A call that asks: blank lines, an empty file, a wrapped change, and no scripts."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE
from tests.browser.test_approvals import COVERED, NARROW, allow, asked
from tests.tab import armed

__all__ = ["asked"]


def test_a_long_command_can_be_denied_at_once(asked):
    tab, card = asked("run the long one")
    card.get_by_role("button", name="Deny").click()
    card.get_by_role("button", name="Deny").click()
    expect(tab.log.get_by_text("Denied by you")).to_be_visible()


def test_blank_lines_push_nothing_out_of_sight(asked):
    _, card = asked("run the blank one")
    expect(card.get_by_text("400 blank lines")).to_be_visible()
    expect(card.get_by_text("echo below")).to_be_in_viewport()
    expect(allow(card)).not_to_have_attribute("aria-disabled", "true")


@pytest.mark.parametrize("viewport", [PHONE, NARROW], ids=["phone", "narrow"])
def test_a_wrapped_change_has_the_width_of_its_pane(asked, viewport):
    _, card = asked("write the file", viewport)
    card.get_by_role("button", name="Wrap lines").click()
    text = card.get_by_role("group", name="Change, 7 lines")
    expect(text).to_have_attribute("data-wrapped", "")
    room = text.evaluate("text => text.clientWidth")
    widths = text.evaluate(WIDTHS)
    assert min(widths) > room - 100
    assert text.evaluate("text => text.scrollWidth") == room
    assert text.evaluate(COVERED) == []


WIDTHS = "pane => [...pane.querySelectorAll('.line-text')].map((one) => one.offsetWidth)"


def test_an_empty_file_can_be_allowed(asked):
    tab, card = asked("write the empty file")
    expect(card.get_by_text("(empty)")).to_be_visible()
    armed(allow(card)).click()
    expect(tab.log.get_by_text("allowed once")).to_be_visible()


def test_without_scripts_all_is_shown(asked, site, open_tab):
    tab, _card = asked("run the long one")
    plain = open_tab(tab.page.url.removeprefix(site.address), java_script_enabled=False)
    expect(plain.page.get_by_text("echo 200", exact=True)).to_be_visible()
    expect(plain.page.get_by_text("403 not shown")).to_be_hidden()
