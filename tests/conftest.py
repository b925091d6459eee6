import pytest

from agents import http


@pytest.fixture(autouse=True)
def _nothing_on_the_wire_outlives_a_test():
    with http.use(None):
        yield
