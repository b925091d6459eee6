"""What is wrong with a file stands under its line while one types, and nothing jumps."""

import json
from itertools import pairwise

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE

A_PAUSE = 600  # ms after the last key, until the file is checked
LONG = 400  # tasks of the long chain, of six lines each

# Where a line of the text is on the screen: from the first sign of it to the last.
LINE = """(n) => {
  const box = document.querySelector(".typed-text");
  const dataOf = (node) => node.data ?? "\\n";
  const rows = [...box.childNodes].map(dataOf).join("").split("\\n");
  let rest = rows.slice(0, n - 1).join("\\n").length + (n > 1 ? 1 : 0);
  const range = new Range(), length = rows[n - 1].length;
  const place = (offset) => {
    for (const node of box.childNodes) {
      if (node.data && offset <= node.data.length) return [node, offset];
      offset -= dataOf(node).length;
    }
  };
  range.setStart(...place(rest));
  range.setEnd(...place(rest + length));
  const { top, bottom } = range.getBoundingClientRect();
  return { top, bottom };
}"""


class Editor:
    """The editor of a chain or an agent, and its lines and faults as they stand on the screen."""

    def __init__(self, tab, name):
        self.tab, self.page = tab, tab.page
        tab.page.get_by_role("complementary").get_by_role("button", name="Edit").click()
        self.box = tab.page.get_by_role("textbox", name=name)
        self.faults = tab.page.get_by_role("list", name="What is wrong").get_by_role("listitem")
        expect(self.box).to_be_focused()

    def rests(self):
        """Whoever types pauses, and the file is checked."""
        self.page.clock.fast_forward(A_PAUSE)

    def line(self, number):
        return self.page.evaluate(LINE, number)

    def put(self, number, text, length=0):
        """Type over so many signs from the beginning of a line."""
        self.page.evaluate(
            """([n, length]) => {
              const box = document.querySelector(".typed-text");
              const at = box.textContent.split("\\n").slice(0, n - 1).join("\\n").length + (n > 1);
              const [node] = box.childNodes;
              getSelection().setBaseAndExtent(node, at, node, at + length);
            }""",
            [number, length],
        )
        self.page.keyboard.insert_text(text)

    def stands_under(self, fault, number, next_one=0):
        """Between the line and the next one, over neither."""
        box = fault.bounding_box()
        above, below = self.line(number), self.line(next_one or number + 1)
        assert above["bottom"] - 4 <= box["y"], (above, box)
        assert box["y"] + box["height"] <= below["top"] + 4, (box, below)

    @property
    def scroll(self):
        return self.page.evaluate("document.querySelector('.typed').scrollTop")


def chain(site, name, tasks=1):
    rows = [{"id": f"task-{n}", "handler": "chat_completion"} for n in range(tasks)]
    for row, after in pairwise(rows):
        row["transition"] = {"branches": [{"operator": "default", "goto": after["id"]}]}
    text = json.dumps({"id": name, "description": "Long", "tasks": rows}, indent=2)
    (site.home / "chains" / f"{name}.json").write_text(text)
    return text.split("\n")


@pytest.fixture
def editor(site, open_tab, clock):
    def open_one(name, tasks=1, **options):
        chain(site, name, tasks)
        tab = open_tab(f"/settings/chains/?chain={name}", **options)
        if options.get("viewport") == PHONE:
            tab.button(f"{name}.json").or_(tab.page.locator("[data-toggle-drawer]")).first.click()
        return Editor(tab, f"{name}.json")

    return open_one


def test_a_fault_stands_under_its_line_and_goes_with_it_while_one_types(editor):
    it = editor("under", 3)
    line = 7  # "handler" of the first task
    it.put(line, '      "handler": "no_such",', len('      "handler": "chat_completion",'))
    it.rests()
    expect(it.faults).to_have_count(1)
    expect(it.faults).to_contain_text("Input should be")
    it.stands_under(it.faults.first, line)
    expect(it.box).to_have_attribute("aria-invalid", "true")
    expect(it.box).to_have_accessible_description("1 fault, at line 7. Next fault")
    it.tab.hold("**/check")
    it.put(3, "")
    it.page.keyboard.press("Enter")
    it.page.keyboard.press("Enter")
    text = it.page.locator("textarea[name=text]").input_value()
    assert text.split("\n")[2:5] == ["", "", '  "description": "Long",']
    it.stands_under(it.faults.first, line + 2)


def test_undo_takes_back_what_was_typed_and_not_what_the_faults_did(editor):
    it = editor("undo", 2)
    before = it.box.text_content()
    it.put(3, "broken ")
    it.rests()
    expect(it.faults).to_have_count(1)
    it.page.keyboard.press("Control+z")
    assert it.box.text_content() == before
    it.rests()
    expect(it.faults).to_have_count(0)
    it.page.keyboard.press("Control+Shift+z")
    it.rests()
    expect(it.faults).to_have_count(1)


def test_neither_the_caret_nor_the_view_jumps_in_a_long_file(editor):
    it = editor("long", LONG)
    middle = 270
    it.put(middle, "")
    it.page.evaluate("document.querySelector('.typed').scrollTop = 5000")
    it.put(middle, " ")
    top, scroll = it.line(middle)["top"], it.scroll
    # A fault far above, without going there.
    it.page.evaluate(
        """() => {
          const box = document.querySelector(".typed-text"), [node] = box.childNodes;
          node.replaceData(node.data.indexOf("chat_completion"), 4, "no_such");
          box.dispatchEvent(new Event("input"));
        }"""
    )
    it.rests()
    expect(it.faults).to_have_count(1)
    assert it.line(middle)["top"] == pytest.approx(top, abs=3)
    assert it.scroll > scroll
    it.page.get_by_role("button", name="Next fault").click()
    expect(it.box).to_be_focused()
    it.stands_under(it.faults.first, 7)
    assert "no_such" in it.page.evaluate("getSelection().toString()")


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
