"""Nobody stays in quarantine: who is put there is looked into within a week."""

from datetime import date, timedelta

import pytest

from tests.lint.test_layers import ROOT
from tests.quarantine import LIST, lines

WEEK = timedelta(days=7)


def test_no_test_is_in_quarantine_for_more_than_a_week():
    days = {each.test: date.today() - each.since for each in lines(LIST.read_text())}
    assert [test for test, here in days.items() if not timedelta(0) <= here <= WEEK] == []


def test_a_test_in_quarantine_is_there():
    for test, *_ in lines(LIST.read_text()):
        file, _, name = test.partition("::")
        assert f"def {name}(" in (ROOT / file).read_text()


def test_a_line_names_test_date_class_and_cause():
    [line] = lines("# a comment\n\ntests/a.py::test_b 2026-11-24 4 a state of a run that goes on\n")
    assert (line.since, line.kind) == (date(2026, 11, 24), "4")
    with pytest.raises(ValueError, match="not enough values"):
        lines("tests/a.py::test_b 2026-11-24")
    with pytest.raises(ValueError, match="class 12"):
        lines("tests/a.py::test_b 2026-11-24 12 the moon was full")
    with pytest.raises(ValueError, match="no sentence"):
        lines("tests/a.py::test_b 2026-11-24 1 ?")
