import pytest

from tests.console.serving import Started
from tests.world import person


@pytest.fixture
def alice(client):
    """Her browser, signed in."""
    client.force_login(person("alice"))
    return client


@pytest.fixture
def start(tmp_path):
    """Starts servers on a home of the test's own; they are gone when it ends."""
    running = []

    def start_one(where=tmp_path / "home", is_first=False, **environment):
        running.append(Started(where, is_first=is_first, **environment))
        return running[-1]

    yield start_one
    for server in running:
        if server.process.poll() is None:
            server.process.kill()
        server.process.communicate()


@pytest.fixture
def admin(client):
    """Alice, signed in, who may change what all share."""
    who = person("alice")
    who.is_superuser = True
    who.save()
    client.force_login(who)
    return client


@pytest.fixture
def bob(client):
    client.force_login(person("bob"))
    return client
