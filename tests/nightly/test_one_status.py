"""Two thousand random plans, and every door says the same of each."""

import pytest

from tests.plans.test_one_status import faults_of, read

pytestmark = pytest.mark.django_db

HOMES, PLANS = 40, 50


@pytest.mark.parametrize("seed", range(HOMES))
def test_every_door_says_the_same_of_fifty_random_plans(seed):
    home = read(seed, PLANS)
    assert len(home.plans["API, one"]) >= PLANS
    faults = faults_of(home)
    assert not faults, "\n".join(faults)
