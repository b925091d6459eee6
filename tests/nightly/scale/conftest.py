"""Where the servers for many processes are: TEST_DATABASE_URL and TEST_REDIS_URL."""

import os

import pytest

from tests.console.serving import new_database
from tests.fake_model import FakeModelServer
from tests.nightly.scale.story import RULES
from tests.nightly.scale.team import Team

DATABASE = os.environ.get("TEST_DATABASE_URL", "")
REDIS = os.environ.get("TEST_REDIS_URL", "")


@pytest.fixture(scope="package")
def elsewhere():
    if not DATABASE or not REDIS:
        pytest.skip("TEST_DATABASE_URL and TEST_REDIS_URL are not both set")
    return DATABASE, REDIS


@pytest.fixture(scope="package")
def model():
    with FakeModelServer({"rules": RULES}) as server:
        yield server


@pytest.fixture(scope="package")
def team(tmp_path_factory, elsewhere, model):
    """Two servers and two workers, for all tests that leave two of each behind."""
    database, redis = elsewhere
    with new_database(database) as url:
        team = Team(tmp_path_factory.mktemp("team") / "home", url, redis, model)
        try:
            team.until_served()
            yield team
        finally:
            team.close()
