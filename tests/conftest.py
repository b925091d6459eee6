import pytest

from agents import wire


@pytest.fixture(autouse=True)
def _nothing_on_the_wire_outlives_a_test():
    with wire.use(None):
        yield
