"""How a plan stands reads the same in every place in each combination of its columns."""

import pytest

from tests.plans import test_standing as standing

pytestmark = pytest.mark.django_db(transaction=True)

owner = standing.owner


@pytest.mark.parametrize("tried", ["untried", "stopped", "failed"])
def test_every_combination_reads_the_same_in_every_place(owner, tried):
    standing.reads_the_same(owner, tried, once=False)
