"""Each test of the old suite is still there under its name, or docs/tests-moved.md says where its
sentence went. Goes with tests/baseline when the suite is done."""

import re

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
