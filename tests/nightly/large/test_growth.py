"""What anybody may send costs in proportion to its length: a text ten times as long takes ten times
the steps, not a hundred. Steps are the calls that Python makes, and none of them reads the whole
text once more for each fault."""

import pytest

from tests.inner import of_chain
from tests.security.test_growth import CHAINS, demand_linear

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]


@pytest.mark.parametrize("text_of", CHAINS)
def test_a_chain_with_many_faults_is_checked_in_proportion_to_its_length(text_of):
    demand_linear(lambda text: of_chain(text, "x"), text_of)
