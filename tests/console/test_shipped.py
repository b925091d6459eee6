"""What comes with Planside is read in the reader's language until somebody changes it."""

import json

import pytest
from django.utils.html import escape
from django.utils.translation import gettext, override

from tests.inner import (
    CHAINS,
    SAMPLE_NAME,
    SHIPPED,
    chain_ids,
    change_agent,
    create_conversation,
    read_agent,
    read_text,
    workspaces,
)
from tests.inner import SHIPPED_SAMPLE as SAMPLE
from tests.markup import html
from tests.world import HTMX, agent, person

pytestmark = pytest.mark.django_db(transaction=True)
CHINESE = {"HTTP_ACCEPT_LANGUAGE": "zh-CN"}


@pytest.fixture
def alice(client, tmp_path, settings):
    settings.PLANSIDE_HOME = tmp_path
    workspaces.prepare_home()
    who = person("alice")
    who.is_superuser = True
    who.save()
    client.force_login(who)
    return client


def test_each_text_is_as_it_is_shipped():
    sample = json.loads((workspaces.SAMPLE / "agent.json").read_text())
    assert (sample["id"], sample["name"]) == (SAMPLE, SAMPLE_NAME)
    shipped = {path.stem: json.loads(path.read_text()) for path in SHIPPED.glob("*.json")}
    assert {id: chain["description"] for id, chain in shipped.items()} == CHAINS


def test_names_and_descriptions_are_in_the_language_of_the_page(alice):
    page = html(alice.get(f"/settings/agents/?agent={SAMPLE}", **CHINESE))
    assert f'aria-label="{in_chinese(SAMPLE_NAME)}"' in page
    assert SAMPLE_NAME in html(alice.get("/settings/agents/"))
    talk = create_conversation(person("alice"), SAMPLE)
    files = html(alice.get(f"/c/{talk.pk}/workspace/", **CHINESE))
    assert in_chinese(SAMPLE_NAME) in files and SAMPLE_NAME not in files
    page = html(alice.get("/settings/chains/", **CHINESE))
    for id in chain_ids():
        assert in_chinese(CHAINS[id]) in page
    assert json.loads(read_text("planner"))["description"] == CHAINS["planner"]


def in_chinese(text):
    with override("zh-hans"):
        found = gettext(text)
    assert found != text
    return found


def test_what_somebody_has_changed_stays_as_they_wrote_it(alice):
    change_agent(SAMPLE, {"name": "My writer"})
    other = agent(name=SAMPLE_NAME)
    page = html(alice.get("/settings/agents/", **CHINESE))
    assert 'aria-label="My writer"' in page
    assert f'aria-label="{SAMPLE_NAME}"' in page
    assert other


def test_a_field_shows_what_the_file_says_and_saves_what_is_typed(alice):
    file = read_agent(SAMPLE).file
    page = html(alice.get(f"/settings/agents/?agent={SAMPLE}", **CHINESE))
    assert f'value="{file.name}"' in page and f'value="{in_chinese(file.name)}"' not in page
    assert f'value="{escape(file.description)}"' in page
    form = {"key": "name", "value": in_chinese(file.name)}
    alice.post(f"/settings/agents/{SAMPLE}/field", form | {"keep": "mine"}, headers=HTMX, **CHINESE)
    assert read_agent(SAMPLE).file.name == in_chinese(file.name)
