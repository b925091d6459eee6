"""What is wrong with a file stands under its line: in an agent's file, and on a phone."""

from playwright.sync_api import expect

from tests.browser.conftest import PHONE
from tests.browser.test_typed_faults import Editor, editor

__all__ = ["editor"]


def test_who_goes_on_in_an_empty_line_below_a_fault_does_not_stand_on_its_words(editor):
    it = editor("empty", 2)
    it.put(7, '      "handler": "no_such",', len('      "handler": "chat_completion",'))
    expect(it.faults).to_contain_text("Input should be")
    it.page.keyboard.press("Enter")
    it.page.keyboard.type(" ")
    it.stands_under(it.faults.first, 7)
    it.page.keyboard.press("Backspace")
    it.stands_under(it.faults.first, 8, 9)


def test_an_agents_file_has_its_faults_under_their_lines_too(site, open_tab):
    tab = open_tab("/settings/agents/?agent=scripted")
    tab.expects("422")
    it = Editor(tab, "agent.json")
    rows = it.box.text_content().split("\n")
    line = next(n for n, row in enumerate(rows, 1) if '"temperature"' in row)
    it.put(line, '  "temperature": 5,', len(rows[line - 1]))
    expect(it.faults).to_contain_text("temperature must be less than or equal to 2")
    it.stands_under(it.faults.first, line)
    it.box.press("Control+Enter")
    expect(tab.alerts).to_contain_text("Not saved: the last good version stays in use.")
    it.put(line, rows[line - 1], len('  "temperature": 5,'))
    expect(it.faults).to_have_count(0)
    it.box.press("Control+Enter")
    expect(tab.page.locator("#file footer")).to_contain_text("Saved")


def test_on_a_phone_a_fault_is_as_wide_as_the_screen_however_long_the_lines(editor):
    it = editor("narrow", 2, viewport=PHONE)
    long = '  "description": "' + "long " * 100 + '",'
    it.put(3, long, len('  "description": "Long",'))
    it.put(7, '      "handler": "no_such",', len('      "handler": "chat_completion",'))
    expect(it.faults).to_have_count(1)
    text = it.faults.locator(".typed-fault").bounding_box()
    assert text["x"] >= 0 and text["x"] + text["width"] <= PHONE["width"]
