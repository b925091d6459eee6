"""Each test of the old suite is still there under its name, or docs/tests-moved.md says where its
sentence went, which is a place that is there."""

import re
from pathlib import Path

from tests.lint.test_layers import ROOT

OLD = ROOT / "tests" / "baseline" / "names.txt"
TABLE = ROOT / "docs" / "tests-moved.md"


def names_now():
    files = (ROOT / "tests").rglob("test_*.py")
    return {name for file in files for name in re.findall(r"def (test\w+)", file.read_text())}


def test_every_sentence_of_the_old_suite_has_a_place():
    """By the name of the test, or by its file where a row is about the whole of it."""
    table = TABLE.read_text()
    whole = re.findall(r"^\| (tests/[\w/]+\.py) \| the whole file ", table, re.MULTILINE)
    known = names_now() | set(re.findall(r"\btest\w+", table))
    old = (each.split("::") for each in OLD.read_text().split())
    assert [(file, name) for file, name in old if name not in known and file not in whole] == []


KINDS = {"nightly", "client", "merged", "moved", "cheaper", "dropped"}


def test_each_place_that_the_table_names_is_there():
    rows = re.findall(r"^\| (.+) \| (.+) \| (.+) \| (.+) \|$", TABLE.read_text(), re.MULTILINE)[2:]
    assert len(rows) > 300
    files = {str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("*.py")}
    there = files | names_now() | {Path(file).stem for file in files}
    for *_, place, kinds in rows:
        named = re.findall(r"tests/[\w/]+\.py|\btest_\w+\b(?!\.py)", place)
        assert [each for each in named if each not in there] == [], place
        assert KINDS.issuperset(kinds.split(", ")), kinds
