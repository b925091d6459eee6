"""docs/tests-moved.md says where the sentences of the old suite went: to places that are there."""

import re

from tests.lint.test_layers import ROOT

TABLE = ROOT / "docs" / "tests-moved.md"
ROW = re.compile(r"^\| tests/(.+) \| (.+) \| (.+) \| (.+) \|$", re.MULTILINE)
KINDS = {"nightly", "client", "merged", "moved", "cheaper", "dropped"}


def test_each_place_that_the_table_names_is_there():
    paths = list((ROOT / "tests").rglob("*.py"))
    there = {str(path.relative_to(ROOT)) for path in paths} | {path.stem for path in paths}
    there |= {name for path in paths for name in re.findall(r"def (test\w+)", path.read_text())}
    rows = ROW.findall(TABLE.read_text())
    assert len(rows) > 300
    for *_, place, kinds in rows:
        named = re.findall(r"tests/[\w/]+\.py|\btest_\w+\b(?!\.py)", place)
        assert [each for each in named if each not in there] == [], place
        assert KINDS.issuperset(kinds.split(", ")), kinds
