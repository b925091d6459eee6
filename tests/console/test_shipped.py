"""What comes with Planside is read in the reader's language until somebody changes it."""

import json

import pytest
from django.utils.translation import gettext, override

from agents.actions import create_conversation
from agents.chains.store import SHIPPED, chain_ids, read_text
from agents.config import workspaces
from agents.config.store import change_agent, read_agent
from console.shipped import CHAINS, SAMPLE, SAMPLE_TEXTS
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
    assert {key: sample[key] for key in SAMPLE_TEXTS} == SAMPLE_TEXTS
    assert sample["id"] == SAMPLE
    shipped = {path.stem: json.loads(path.read_text()) for path in SHIPPED.glob("*.json")}
    assert {id: chain["description"] for id, chain in shipped.items()} == CHAINS


def test_names_and_descriptions_are_in_the_language_of_the_page(alice):
    page = html(alice.get(f"/settings/agents/?agent={SAMPLE}", **CHINESE))
    assert f'aria-label="{in_chinese(SAMPLE_TEXTS["name"])}"' in page
    assert f'value="{in_chinese(SAMPLE_TEXTS["description"])}"' in page
    assert SAMPLE_TEXTS["name"] in html(alice.get("/settings/agents/"))
    talk = create_conversation(person("alice"), SAMPLE)
    files = html(alice.get(f"/c/{talk.pk}/workspace/", **CHINESE))
    assert in_chinese(SAMPLE_TEXTS["name"]) in files and SAMPLE_TEXTS["name"] not in files
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
    other = agent(name=SAMPLE_TEXTS["name"])
    page = html(alice.get("/settings/agents/", **CHINESE))
    assert 'aria-label="My writer"' in page
    assert f'aria-label="{SAMPLE_TEXTS["name"]}"' in page
    assert other


def test_saving_a_shown_text_again_changes_nothing(alice):
    before = read_agent(SAMPLE).text
    form = {"key": "name", "value": in_chinese(SAMPLE_TEXTS["name"])}
    alice.post(f"/settings/agents/{SAMPLE}/field", form, headers=HTMX, **CHINESE)
    assert read_agent(SAMPLE).text == before
    form["value"] = "文档"
    alice.post(f"/settings/agents/{SAMPLE}/field", form | {"keep": "mine"}, headers=HTMX, **CHINESE)
    assert read_agent(SAMPLE).file.name == "文档"
