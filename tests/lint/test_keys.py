"""The list of keys says what the scripts do: no key without a line, no line without a key."""

import re
from pathlib import Path

from tests.browser.keys_tried import TRIES
from tests.inner import PLACES

# As a person reads them, and as a script does.
NAMES = {
    "Esc": "Escape",
    "Up": "ArrowUp",
    "Down": "ArrowDown",
    "Left": "ArrowLeft",
    "Right": "ArrowRight",
}
MODIFIERS = {"Ctrl", "Shift", "Alt"}
ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "static" / "js"
NAMED = re.compile(
    r'"(Enter|Escape|Tab|Delete|Backspace|F\d+|Arrow\w+|Home|End|Page\w+)"'
    r"|\b(Arrow\w+|Home|End|Page\w+):"
)
LETTER = re.compile(r'event\.key(?:\.toLowerCase\(\))? [!=]== "(.)"')


def listed():
    return [key for place in PLACES for key in place.keys]


def heard():
    """The names of all keys that a script listens to."""
    found = set()
    for file in SCRIPTS.glob("*.js"):
        text = file.read_text()
        found |= {a or b for a, b in NAMED.findall(text)} | set(LETTER.findall(text))
    return found


def test_every_key_that_a_script_listens_to_is_listed():
    words = [word for key in listed() for together in key.keys for word in together.split()]
    words += [word for key in listed() for word in re.findall(r"\w+", str(key.does))]
    named = {NAMES.get(word, word) for word in words} | {word.lower() for word in words}
    assert heard() <= named


def test_every_listed_key_is_one_that_a_script_listens_to():
    last = {together.split()[-1] for key in listed() for together in key.keys}
    # "/" is text in the box, which begins a command.
    known = heard() | {"/"}
    assert {w for w in last if not {NAMES.get(w, w), w.lower()} & known} == set()


def test_every_listed_key_is_tried_in_a_browser():
    assert [key.name for key in listed()] == list(TRIES)


def test_every_row_about_the_focus_names_a_test_that_walks_it():
    folders = (ROOT / "tests" / "browser", ROOT / "tests" / "nightly" / "browser")
    tests = "".join(file.read_text() for each in folders for file in each.glob("*.py"))
    rows = [
        line
        for line in (ROOT / "docs" / "keyboard.md").read_text().splitlines()
        if line.startswith("| ") and not line.startswith(("| ---", "| action"))
    ]
    assert len(rows) >= 15
    walked = [re.findall(r"`(test_\w+)`", row) for row in rows]
    unnamed = [row for row, named in zip(rows, walked, strict=True) if not named]
    missing = [name for named in walked for name in named if f"def {name}(" not in tests]
    assert (unnamed, missing) == ([], [])
