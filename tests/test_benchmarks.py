"""What `make bench` asks for is still there, so that a table is not lost to a change of names."""

import pytest

from tests.benchmarks import growth
from tests.world import person, signed_in

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_the_benchmark_of_growth_asks_for_is_answered_as_it_expects():
    client = signed_in(person("alice"))
    c = growth.give_plan(growth.with_messages(10), 3)
    for name, address, headers, status in growth.addresses(client, c):
        assert client.get(address, headers=headers).status_code == status, name
