"""None of forty-five agents that claim without doing gets a checked tick; without checks all do."""

import pytest

from tests.liars import LIARS
from tests.plans.test_liars import is_done_by_its_word, is_not_ticked

pytestmark = pytest.mark.django_db(transaction=True)


def test_there_are_forty_five():
    assert len(LIARS) == len({liar.tries for liar in LIARS}) == 45


@pytest.mark.parametrize("liar", LIARS, ids=lambda liar: liar.tries)
def test_with_checks_it_gets_no_checked_tick(liar, record_property):
    record_property("said", repr(is_not_ticked(liar)))


@pytest.mark.parametrize("liar", LIARS, ids=lambda liar: liar.tries)
def test_without_checks_it_is_done_by_its_word(liar):
    is_done_by_its_word(liar)
