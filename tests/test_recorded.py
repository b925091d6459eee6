"""A home that an older Planside left behind in the midst of everything goes on, in this process.

Four conversations that differ in kind: a reply that broke off, a plan that waits for its yes, one cut
off in an attempt, and one whose helper was planning. All, on both engines, with a server:
tests/nightly/homes/test_recorded.py.
"""

import json
import shutil
import sqlite3
from contextlib import closing

import pytest
from django.core.management import call_command
from django.test import Client

from agents import http
from agents.models import Conversation
from tests.fake_model import ScriptedTransport
from tests.inner import create_token, put_back_orphans
from tests.kept import database, kept
from tests.nightly.homes import home as recorded
from tests.nightly.homes.scenes import SCENES, Talk, rules
from tests.world import drive, signed_in

pytestmark = pytest.mark.django_db(transaction=True)

CHOSEN = ("cut-off-reply", "proposed", "cut-off", "nested-planning")
HELPER = "planner"  # of the last one


class Here(Talk):
    """The person asks in this process; what follows from it has happened when they look."""

    def ask(self, method, path, body=None, version=None):
        headers = self.headers | ({"If-Match": f'"{version}"'} if version else {})
        text = "" if body is None else json.dumps(body)
        answer = Client().generic(
            method, f"/api{path}", text, content_type="application/json", headers=headers
        )
        assert answer.status_code < 300, f"{method} {path}: {answer.status_code} {answer.content}"
        return answer.json() if answer.content else None

    def until(self, is_so):
        drive()
        assert is_so(), (self.agent, self.plan, self.messages)


def brought_up_to_date():
    """The rows of then, migrated; of the conversations those that are tried here."""
    with closing(sqlite3.connect(":memory:")) as old:
        old.executescript(recorded.DUMP.read_text())
        old.backup(database())
    call_command("migrate", verbosity=0)
    Conversation.objects.exclude(agent_id__in=[*CHOSEN, HELPER]).delete()


@pytest.fixture
def model(tmp_path_factory, settings, transactional_db):
    """The home as it was left; its turns are taken up again."""
    settings.PLANSIDE_HOME = tmp_path_factory.getbasetemp() / "recorded-home"
    shutil.rmtree(settings.PLANSIDE_HOME, ignore_errors=True)
    recorded.make_home(settings.PLANSIDE_HOME)
    with closing(sqlite3.connect(":memory:")) as as_it_was:
        database().backup(as_it_was)
        kept("recorded", brought_up_to_date, settings.PLANSIDE_HOME)
        put_back_orphans(all_of_them=True)
        transport = ScriptedTransport({"rules": rules("after")})
        http.use(transport)
        yield transport
        as_it_was.backup(database())


@pytest.mark.parametrize("name", CHOSEN)
@pytest.mark.sampled(2)
def test_what_was_under_way_is_shown_and_goes_on(model, name):
    [scene] = [each for each in SCENES if each.name == name]
    user = Conversation.objects.get(agent_id=name).owner
    talk = Here("", {"Authorization": f"Bearer {create_token(user, 'script')}"}, name, model)
    talk.find()
    page = signed_in(user).get(f"/c/{talk.c}/").content.decode()
    first = next(each["text"] for each in talk.messages if each["role"] == "user")
    assert first.removeprefix("/plan ") in page
    scene.goes_on(talk)
