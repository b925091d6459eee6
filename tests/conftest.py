import pytest

from agents import http


@pytest.fixture(autouse=True)
def _nothing_on_the_wire_outlives_a_test():
    with http.use(None):
        yield


@pytest.fixture
def own_home(tmp_path, settings):
    """A home folder that no other test shares."""
    settings.PLANSIDE_HOME = tmp_path
    return tmp_path
