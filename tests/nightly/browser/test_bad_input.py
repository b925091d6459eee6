"""What people and files do wrong: one sentence in the right place, and nothing is lost."""

import json
import re

from playwright.sync_api import expect

from tests.browser.test_bad_input import SETTINGS, card, file

__all__ = ["file"]


def test_a_broken_file_is_shown_with_line_and_reason_and_the_last_good_one_counts(
    site, open_tab, file
):
    open_tab(SETTINGS)
    lines = file.read_text().splitlines()
    number = next(n for n, line in enumerate(lines) if '"name"' in line)
    lines[number] = lines[number].rstrip(",").replace("Scripted", "Broken one")
    file.write_text("\n".join(lines))

    tab = open_tab(SETTINGS)
    problem = re.compile(
        rf"Line {number + 1}: a comma is missing.*last good version is still in use"
    )
    expect(card(tab)).to_contain_text(problem)
    expect(tab.page.get_by_label("agent.json", exact=True).locator("mark")).to_have_count(1)
    chat = tab.chat(site.conversation())
    with chat.sends():
        chat.say("/plan I want to quick")
    site.drive()
    chat.sees_plan(state="todo")
    assert "Broken one" in file.read_text(), "the broken text is left as it was typed"

    file.write_text("\n".join(lines).replace('"Broken one"', '"Mended one",'))
    tab.open(SETTINGS)
    expect(card(tab, "Mended one")).to_be_visible()
    expect(tab.page.get_by_text("last good version")).to_have_count(0)


def test_the_switch_writes_its_one_key_and_keeps_hand_edits(open_tab, file):
    text = file.read_text().replace('"workspace": null,', '"workspace": null, "mine": [1,  2],')
    file.write_text(text)
    tab = open_tab(SETTINGS)
    switch = card(tab).get_by_role("switch", name="Plan Mode", exact=True)
    expect(switch).to_be_checked()
    switch.click()
    expect(tab.page.get_by_role("status").filter(has_text="Plan Mode is off")).to_be_visible()
    expect(switch).not_to_be_checked()
    before, after = json.loads(text), json.loads(file.read_text())
    assert after["plan"].pop("enabled") is False
    assert before["plan"].pop("enabled") is True
    assert list(after.items()) == list(before.items()), "the same keys in the same order"
    switch.click()
    expect(tab.page.get_by_role("status").filter(has_text="Plan Mode is on")).to_be_visible()
    expect(switch).to_be_checked()
    assert json.loads(file.read_text()) == json.loads(text)
