"""A home that an older Planside left behind in the midst of everything is shown, and goes on.

tests/nightly/homes holds it, with the script that made it and what is expected of each conversation.
"""

import os

import httpx
import pytest

from tests.console.serving import Started, new_database, token_for
from tests.fake_model import FakeModelServer
from tests.nightly.homes import home as recorded
from tests.nightly.homes.scenes import SCENES, Talk, rules

DATABASE = os.environ.get("TEST_DATABASE_URL", "")
NAMES = [scene.name for scene in SCENES]


@pytest.fixture(scope="module", params=["SQLite", "PostgreSQL"])
def served(request, tmp_path_factory):
    """The present code on a copy of the home: the server, and a way to talk in each scene."""
    home = recorded.make_home(tmp_path_factory.mktemp("recorded") / "home")
    with FakeModelServer({"rules": rules("after")}) as model:
        settings = {
            "OPENAI_BASE_URL": model.url,
            "OPENAI_API_KEY": "k",
            "PLANSIDE_MODEL": "openai/scripted",
        }
        if request.param == "SQLite":
            recorded.on_sqlite(home)
            yield from on(home, model, settings)
        elif not DATABASE:
            pytest.skip("TEST_DATABASE_URL is not set")
        else:
            with new_database(DATABASE) as url:
                recorded.on_postgres(home, url)
                yield from on(home, model, settings | {"DATABASE_URL": url})


def on(home, model, settings):
    server = Started(home, is_first=True, **settings)
    headers = {"Authorization": f"Bearer {token_for(home, **settings)}"}

    def talk(name):
        found = Talk(server.address, headers, name, model)
        found.find()
        return found

    yield server, talk
    server.end()


@pytest.fixture(scope="module")
def browser(served):
    server, _ = served
    with httpx.Client(follow_redirects=True, timeout=30) as browser:
        assert browser.get(server.link).status_code == 200
        yield browser


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_conversation_is_shown_with_its_plan(served, browser, name):
    server, find = served
    talk = find(name)
    page = browser.get(f"{server.address}/c/{talk.c}/")
    assert page.status_code == 200
    first = next(message["text"] for message in talk.messages if message["role"] == "user")
    assert first.removeprefix("/plan ") in page.text
    if plan := talk.plan:
        assert plan["standing"] in page.text
        for path in (f"/plans/{plan['id']}/", f"/plans/{plan['id']}/export.md"):
            assert browser.get(server.address + path).status_code == 200, path


@pytest.mark.parametrize("scene", SCENES, ids=NAMES)
def test_what_was_under_way_goes_on(served, scene):
    scene.goes_on(served[1](scene.name))
