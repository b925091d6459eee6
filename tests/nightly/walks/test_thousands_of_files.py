"""Thousands of changed files, where tests/console/test_changes_page.py has a hundred."""

import pytest

from tests.inner import MOST_LISTED
from tests.nightly.large.test_changes_page import leads_from_page_to_page

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_home")]


def test_of_thousands_of_files_a_page_has_a_hundred_and_leads_to_the_others():
    first = leads_from_page_to_page(5_000, MOST_LISTED)
    assert len(first) < 400_000, "of names alone"
    assert "By the agent, 5,000 files" in first and "Files 1 to 100 of 5,000" in first
