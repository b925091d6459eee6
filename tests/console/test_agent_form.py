"""Settings > Agents as a form: one field is one key of agent.json, in step both ways."""

import json
import re

import pytest

from tests.inner import AGENT_FORM_SETTINGS as SETTINGS
from tests.inner import agent_form_digest_of as digest_of
from tests.inner import field_of, fields_of, read_agent, set_owner
from tests.markup import html
from tests.world import HTMX, agent, person

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def alice(admin):
    return admin


@pytest.fixture
def writer(alice):
    id = agent(tools={"read_file": "allow"}, temperature=0.5)
    set_owner(person("alice"), id)
    return id


def save(client, id, key, value, was=None, **more):
    field = field_of(SETTINGS[key], read_agent(id), ())
    values = {"key": key, "value": value, "was": field.was if was is None else was, **more}
    return client.post(f"/settings/agents/{id}/field", values, headers=HTMX)


def in_file(id):
    return json.loads(read_agent(id).text)


CASES = [
    ("name", "Tidy  writer", "Tidy  writer", "The name is Tidy  writer."),
    ("description", "Keeps it tidy", "Keeps it tidy", "The description is changed."),
    ("instructions", "One.\r\n\r\nTwo.", "One.\n\nTwo.", "The instructions are changed."),
    ("temperature", "0.3", 0.3, "Temperature is 0.3."),
    ("temperature", "", None, "Temperature is the model’s own."),
    ("context_window", "128,000", 128000, "Context is 128,000 tokens."),
    ("plan.enforce", "on", True, "Plan first is on."),
    ("plan.confirm", "create", "create", "Your yes is asked for: Not the agent’s."),
    ("plan.max_attempts", "5", 5, "Attempts are 5."),
    ("plan.attempt_timeout_s", "2.5", 150, "An attempt may take 2.5 minutes."),
    ("plan.template", "## Goal", "## Goal", "The template is changed."),
    ("plan.context", "full", "full", "The plan in the prompt: Whole."),
    ("plan.context_template", "{{.title}}", "{{.title}}", "What is written in the prompt is"),
    ("plan.priority", "10", 10, "The plan’s priority is 10."),
    ("plan.inherit", "", False, "Plans of agents it calls: off."),
    ("plan.tools", "read", "read", "Plan tools in chat: Reading alone."),
    ("budget.tokens", "200,000", 200000, "Tokens are 200,000."),
    ("budget.cost_usd", "2.50", 2.5, "US dollars are 2.5."),
    ("budget.seconds", "10", 600, "Minutes are 10."),
    ("budget.model_calls", "40", 40, "Model calls are 40."),
    ("chains.chat", "executor", "executor", "It talks by executor."),
    ("chains.planner", "executor", "executor", "It plans by executor."),
    ("chains.executor", "planner", "planner", "It carries subtasks out by planner."),
    ("fetch_hosts", "10.0.0.1\n10.0.0.2", ["10.0.0.1", "10.0.0.2"], "The private hosts are"),
    ("vars", "tone = kind\npath=a\\nb", {"tone": "kind", "path": "a\nb"}, "The variables are"),
    ("tool_descriptions", "shell = Ask", {"shell": "Ask"}, "The descriptions of tools are"),
]


@pytest.mark.parametrize(("key", "typed", "stored", "said"), CASES)
@pytest.mark.sampled(9)
def test_a_field_writes_its_key_and_says_so(alice, writer, key, typed, stored, said):
    before = in_file(writer)
    page = html(save(alice, writer, key, typed))
    value = after = in_file(writer)
    for part in key.split("."):
        value = value[part]
    assert value == stored
    assert type(value) is type(stored)
    assert re.search(rf"Saved <time[^>]*>[^<]*</time>\. {re.escape(said)}", page)
    top = key.partition(".")[0]
    assert {k: v for k, v in after.items() if k != top} == {
        k: v for k, v in before.items() if k != top
    }


def test_every_key_of_the_schema_has_a_field_or_a_place_of_its_own(alice, writer):
    file = read_agent(writer).file
    keys = set()
    for key, value in file.settings().items():
        keys |= (
            {f"{key}.{each}" for each in value} if key in ("plan", "budget", "chains") else {key}
        )
    elsewhere = {"id", "model", "provider", "tools", "always_allow", "plan.enabled"}
    assert keys == elsewhere | set(SETTINGS)
    page = html(alice.get(f"/settings/agents/?agent={writer}"))
    for setting in SETTINGS.values():
        assert f'name="key" value="{setting.key}"' in page


def test_what_a_field_shows_is_read_as_the_same_value(alice):
    id = agent(
        vars={"a": "one\ntwo \\n three", "b": "c = d"},
        budget={"tokens": 1234567, "cost_usd": 0.25, "seconds": 90},
        fetch_hosts=["10.0.0.1"],
        temperature=1,
    )
    record = read_agent(id)
    for field in fields_of(record).values():
        value = field.setting.read(field.text)
        assert digest_of(value) == field.was or value == field.setting.value_in(record.file)


@pytest.mark.parametrize(
    ("key", "typed", "why"),
    [
        ("temperature", "3", "“Temperature” must be less than or equal to 2, not 3."),
        ("temperature", "0,3", "This has to be a number"),
        ("temperature", "warm", "This has to be a number"),
        ("name", "  ", "“Name” must not be empty."),
        ("plan.max_attempts", "", "This has to be a number."),
        ("plan.max_attempts", "2.5", "“Attempts” must be a whole number"),
        ("plan.attempt_timeout_s", "-2", "“Minutes an attempt” must be greater than 0, not -2."),
        ("plan.confirm", "sometimes", "“Ask for your yes” must be"),
        ("plan.context_template", "{{.nobody}}", "“As written” cannot say"),
        ("budget.tokens", "-1", "“Tokens” must be greater than 0, not -1."),
        ("vars", "no sign", "Line 1 of this field is not written as"),
        (
            "workspace",
            "/nowhere/at/all",
            "“Folder of this server that it works in”: /nowhere/at/all is",
        ),
        ("id", "other", "There is no such field."),
    ],
)
@pytest.mark.sampled(6)
def test_what_is_not_valid_is_said_under_the_field_and_changes_nothing(
    alice, writer, key, typed, why
):
    before = read_agent(writer).text
    form = {"key": key, "value": typed, "was": ""}
    if key in SETTINGS:
        form["was"] = field_of(SETTINGS[key], read_agent(writer), ()).was
    response = alice.post(f"/settings/agents/{writer}/field", form, headers=HTMX)
    assert response.status_code == 422
    page = html(response)
    assert why in page
    assert f"setting-{writer}-{key.replace('.', '-').replace('_', '-')}-alert" in page
    assert read_agent(writer).text == before


def test_a_change_on_disk_is_not_overwritten_unless_the_person_says_so(alice, writer):
    was = field_of(SETTINGS["temperature"], read_agent(writer), ()).was
    path = read_agent(writer).path
    path.write_text(path.read_text().replace("0.5", "0.9"))
    response = save(alice, writer, "temperature", "0.3", was)
    assert response.status_code == 412
    assert "agent.json changed on disk." in html(response)
    assert in_file(writer)["temperature"] == 0.9
    assert save(alice, writer, "temperature", "0.3", was, keep="mine").status_code == 200
    assert in_file(writer)["temperature"] == 0.3


def test_a_change_of_another_key_on_disk_is_kept_and_stands_in_nobodys_way(alice, writer):
    was = field_of(SETTINGS["temperature"], read_agent(writer), ()).was
    path = read_agent(writer).path
    path.write_text(json.dumps(in_file(writer) | {"note": "by hand"}, indent=1))
    assert save(alice, writer, "temperature", "0.3", was).status_code == 200
    assert in_file(writer)["note"] == "by hand"
    assert '\n "note"' in read_agent(writer).text


def test_the_same_value_again_writes_nothing_and_says_nothing(alice, writer):
    before = read_agent(writer).path.stat().st_mtime_ns
    page = html(save(alice, writer, "temperature", "0.50"))
    assert "Saved <time" not in page
    assert read_agent(writer).path.stat().st_mtime_ns == before


def test_an_emptied_limit_is_null_where_it_stood_and_no_key_where_none_was(alice, writer):
    save(alice, writer, "budget.tokens", "5")
    save(alice, writer, "budget.tokens", "")
    assert in_file(writer)["budget"] == {"tokens": None}
    bare = agent()
    set_owner(person("alice"), bare)
    save(alice, bare, "budget.seconds", "")
    assert "budget" not in in_file(bare)


def test_undo_brings_the_text_back_unless_the_file_has_changed_since(alice, writer):
    before = read_agent(writer).text
    page = html(save(alice, writer, "temperature", "0.3"))
    assert 'id="undo-form"' in page
    digest = read_agent(writer).digest
    undo = {"text": before.replace("\n", "\r\n"), "digest": digest}
    address = f"/settings/agents/{writer}/undo"
    assert "Undone." in html(alice.post(address, undo, headers=HTMX))
    assert read_agent(writer).text == before
    refused = alice.post(address, undo, headers=HTMX)
    assert refused.status_code == 409
    assert "cannot be undone any more" in html(refused)


def test_only_an_admins_agent_gets_at_the_server_and_others_see_no_such_fields(client):
    client.force_login(person("bob"))
    id = agent()
    set_owner(person("bob"), id)
    page = html(client.get(f"/settings/agents/?agent={id}"))
    assert 'value="workspace"' not in page
    assert 'value="fetch_hosts"' not in page
    for key, typed in (("workspace", "/tmp"), ("fetch_hosts", "10.0.0.1")):
        response = save(client, id, key, typed)
        assert response.status_code == 403
        assert "only an admin" in html(response)


def test_a_folder_on_another_disk_is_said_to_keep_what_is_deleted(
    alice, writer, tmp_path, monkeypatch
):
    trash = "what is deleted there is kept in its .planside-trash"
    assert trash not in html(save(alice, writer, "workspace", str(tmp_path)))
    monkeypatch.setattr("console.agent_settings.lies_elsewhere", bool)
    assert trash in html(save(alice, writer, "workspace", "/usr/share"))
    assert trash not in html(save(alice, writer, "workspace", ""))


def test_nobody_edits_an_agent_of_somebody_else(client, writer):
    client.force_login(person("bob"))
    was = field_of(SETTINGS["name"], read_agent(writer), ()).was
    for address, form in (
        ("field", {"key": "name", "value": "Mine", "was": was}),
        ("undo", {"text": "{}", "digest": read_agent(writer).digest}),
    ):
        response = client.post(f"/settings/agents/{writer}/{address}", form, headers=HTMX)
        assert response.status_code == 404
    assert client.get(f"/settings/agents/{writer}/models").status_code == 404


def test_a_broken_file_keeps_its_fields_shut(alice, writer):
    path = read_agent(writer).path
    path.write_text("{")
    page = html(alice.get(f"/settings/agents/?agent={writer}"))
    assert '<fieldset class="settings-rows" disabled>' in page
    assert save(alice, writer, "name", "Else").status_code == 409
    assert path.read_text() == "{"


def test_the_models_to_choose_from_begin_with_the_agents_own(alice):
    id = agent(provider="demo", model="docs")
    set_owner(person("alice"), id)
    page = html(alice.get(f"/settings/agents/{id}/models"))
    assert 'data-model="demo/docs"' in page
    assert "in use here" in page
    address = f"/settings/agents/{id}/model"
    assert "The model is" in html(alice.post(address, {"model": "demo/docs2"}, headers=HTMX))
    assert in_file(id)["model"] == "docs2"
    assert alice.post(address, {"model": "nobody/x"}, headers=HTMX).status_code == 422


def check(client, id, text):
    return html(client.post(f"/settings/agents/{id}/check", {"text": text}, headers=HTMX))


def test_the_file_is_judged_as_it_is_typed_and_each_fault_names_its_line(alice, writer):
    good = json.dumps(in_file(writer), indent=2)
    assert "Nothing is wrong with it." in check(alice, writer, good)
    line = next(n for n, row in enumerate(good.split("\n"), 1) if "temperature" in row)
    wrong = check(alice, writer, good.replace('"temperature": 0.5', '"temperature": 5'))
    assert f'data-line="{line}"' in wrong
    assert "temperature must be less than or equal to 2, not 5." in wrong
    assert "A comma is missing." in check(alice, writer, good.replace(",", "", 1))
    tools = good.replace('"read_file": "allow"', '"create_plan": "off"')
    assert "create_plan cannot be" in check(alice, writer, tools)
    assert json.dumps(in_file(writer), indent=2) == good


def test_a_text_that_is_refused_stays_in_the_editor_with_its_faults(alice, writer):
    before = read_agent(writer)
    values = {"text": before.text.replace("0.5", "5"), "digest": before.digest}
    response = alice.post(f"/settings/agents/{writer}/save", values, headers=HTMX)
    assert response.status_code == 422
    assert "Not saved: the last good version stays in use." in html(response)
    assert "temperature must be" in html(response)
    assert read_agent(writer).text == before.text
