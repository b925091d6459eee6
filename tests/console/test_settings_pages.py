"""Settings > Models, Tools and the tools of an agent, as an admin and as anybody meets them."""

import json
import re

import httpx
import pytest
from django.test import RequestFactory
from django.urls import reverse

from agents import http
from agents.models import Provider, ToolSource
from tests.fake_model import call, say
from tests.inner import (
    PAGES,
    ProviderKey,
    create_conversation,
    first_run,
    palette,
    preferences_of,
    read_agent,
    set_owner,
)
from tests.markup import html
from tests.world import HTMX, agent, calls_of, conversation, files_of, person, scripted, tell

pytestmark = pytest.mark.django_db(transaction=True)

FIELDS = {
    "name": "router",
    "base_url": "https://router.invalid/v1",
    "key": "gsk-secret-1",
    "headers": "X-Team: hidden-value",
    "prices": "llama-3 0.40 1.60",
    "stream_options": "on",
}
PETS = {
    "name": "petstore",
    "kind": "openapi",
    "url": "https://pets.invalid",
    "headers": {"Authorization": "Bearer very-secret"},
    "tools": [
        {"name": name, "description": f"{name}. More.", "parameters": {}, "read_only": False,
         "idempotent": False}
        for name in ("list_pets", "add_pet")
    ],
}  # fmt: skip


@pytest.fixture
def owner(admin):
    return admin


@pytest.fixture
def writer(owner):
    """The id of an agent of the owner's."""
    id = agent(tools={"read_file": "allow", "shell": "ask"})
    set_owner(person("alice"), id)
    return id


@pytest.fixture
def served():
    """A server that answers everything with these models; nothing else is reached."""
    asked = []

    def serve(*models, status=200, error=""):
        def answers(request):
            asked.append(request)
            if request.url.port == 1234:
                raise httpx.ConnectError("nobody is there")
            if error:
                return httpx.Response(status, json={"error": {"message": error}})
            listed = [each if isinstance(each, dict) else {"id": each} for each in models]
            return httpx.Response(status, json={"data": listed})

        http.use(httpx.MockTransport(answers))
        return asked

    yield serve


def post(client, address, **values):
    return client.post(address, values, headers=HTMX)


def squeezed(page):
    """With single spaces, as a browser shows it."""
    return " ".join(page.split())


def in_file(id):
    return json.loads(read_agent(id).text)


# Models


def test_the_page_of_models_asks_no_server(owner, served):
    asked = served("qwen3:8b")
    page = html(owner.get("/settings/models/"))
    assert 'aria-label="Ollama"' in page
    assert asked == []


def test_a_provider_is_added_changed_and_removed_and_its_secrets_stay_inside(owner):
    added = post(owner, "/settings/models/add", **FIELDS)
    assert added["HX-Redirect"] == "/settings/models/?provider=router"
    page = html(owner.get("/settings/models/?provider=router"))
    assert "gsk-secret" not in page
    assert "hidden-value" not in page
    assert "llama-3 0.4 1.6" in page
    kept = {**FIELDS, "key": "", "headers": ""}
    post(owner, "/settings/models/router/change", **kept)
    row = Provider.objects.get()
    assert (row.key, row.headers) == ("gsk-secret-1", {"X-Team": "hidden-value"})
    post(owner, "/settings/models/router/change", **kept, forget=["key", "headers"])
    row.refresh_from_db()
    assert (row.key, row.headers) == ("", {})
    post(owner, "/settings/models/router/remove")
    assert not Provider.objects.exists()


@pytest.mark.parametrize(
    ("field", "typed", "told"),
    [
        ("name", "Groq", "small letters"),
        ("base_url", "router", "web address"),
        ("headers", "my-secret-token", "Line 1 of the headers"),
        ("prices", "llama-3 cheap", "Line 1 of the prices"),
    ],
)
def test_what_cannot_be_saved_is_said_and_no_secret_with_it(owner, field, typed, told):
    response = post(owner, "/settings/models/add", **{**FIELDS, field: typed})
    assert response.status_code == 422
    assert told in html(response)
    assert "my-secret-token" not in html(response)
    assert not Provider.objects.exists()


def test_nobody_but_an_admin_changes_providers_or_services(bob):
    Provider.objects.create(name="router", base_url="https://router.invalid/v1", key="gsk-secret-1")
    ToolSource.objects.create(**PETS)
    for address in ("models/add", "models/router/change", "models/router/remove", "tools/add",
                    "tools/petstore/refresh", "tools/petstore/remove"):  # fmt: skip
        response = post(bob, f"/settings/{address}", **FIELDS)
        assert response.status_code == 403, address
        assert "Only admins" in html(response)
    assert Provider.objects.get().key == "gsk-secret-1"
    page = html(bob.get("/settings/models/")) + html(bob.get("/settings/tools/"))
    assert "Add provider</button>" not in page
    assert "pets.invalid" not in page
    assert "petstore__list_pets" in page


def test_a_test_lists_the_models_or_says_what_to_do(owner, served):
    served("qwen3:8b", "llama3.2")
    assert "qwen3:8b" in html(owner.get("/settings/models/ollama/test"))
    told = html(owner.get("/settings/models/lmstudio/test"))
    assert "Start LM Studio&#x27;s server" in told
    assert owner.get("/settings/models/nowhere/test").status_code == 404


def test_a_model_at_hand_is_offered_and_one_click_writes_it(owner, served):
    served("nomic-embed-text", "llama3.2", "qwen3:8b")
    id = agent(provider="demo", model="docs", name="Docs writer")
    set_owner(person("alice"), id)
    offer = html(owner.get(f"/settings/agents/{id}/offers"))
    assert "Ollama (on this computer) has qwen3:8b." in offer
    assert "Use it for Docs writer" in offer
    post(owner, f"/settings/agents/{id}/use-model", model="ollama/qwen3:8b")
    assert (in_file(id)["provider"], in_file(id)["model"]) == ("ollama", "qwen3:8b")
    assert "Use it" not in html(owner.get(f"/settings/agents/{id}/offers"))


def test_who_wants_no_offers_gets_none_from_any_agent_and_others_do(owner, served):
    served("qwen3:8b")
    ids = [agent(provider="demo", model="docs", name=name) for name in ("One", "Two")]
    for id in ids:
        set_owner(person("alice"), id)
    assert "Offer no models here" in html(owner.get(f"/settings/agents/{ids[0]}/offers"))
    assert "Use it" not in html(post(owner, "/settings/agents/dismiss-offers"))
    for id in ids:
        assert "Use it" not in html(owner.get(f"/settings/agents/{id}/offers"))
    assert preferences_of(person("bob").pk).offers_models
    page = html(owner.get("/settings/notifications/"))
    assert "checked" not in page.split('name="offers_models"')[1].partition(">")[0]
    post(owner, "/settings/notifications/set", offers_models="on")
    assert "Use it for" in html(owner.get(f"/settings/agents/{ids[0]}/offers"))


def test_what_was_found_is_not_asked_for_again_at_once(owner, served):
    asked = served("qwen3:8b")
    id = agent(provider="demo", model="docs")
    owner.get(f"/settings/agents/{id}/offers")
    count = len(asked)
    owner.get(f"/settings/agents/{id}/offers")
    assert len(asked) == count > 0
    owner.get(f"/settings/agents/{id}/found-models?anew")
    assert len(asked) == 2 * count


def test_nothing_at_hand_offers_nothing(owner, served):
    served(status=500)
    id = agent(provider="demo", model="docs")
    assert "Use it" not in html(owner.get(f"/settings/agents/{id}/offers"))


# Keys, and what a card says of its provider


def card(page, name):
    """The part of the page that is one provider's card."""
    return page.split(f'id="provider-{name}"')[1].split("<article")[0]


def test_a_key_is_entered_shown_by_its_end_replaced_and_removed(owner, served):
    served("mistral-large")
    name = "/settings/models/mistral"
    assert "Nothing is set yet" in card(html(owner.get("/settings/models/")), "mistral")
    entered = html(post(owner, f"{name}/key", key="mk-0123456789-4f2a"))
    assert "Asking Mistral" in entered
    assert "•••• •••• •••• 4f2a" in entered
    assert Provider.objects.get().key == "mk-0123456789-4f2a"
    assert "1 model" in html(owner.get(f"{name}/test"))
    page = html(owner.get("/settings/models/"))
    assert "mk-0123456789" not in entered + page
    assert "Answered in" in card(page, "mistral") and "never shown again" in card(page, "mistral")
    post(owner, f"{name}/key", key="mk-abcdefghij-9999")
    assert Provider.objects.get().key == "mk-abcdefghij-9999"
    assert "Paste a key" in html(post(owner, f"{name}/key/remove"))
    assert not Provider.objects.exists()


def test_a_short_key_shows_nothing_of_itself(owner):
    assert "4f2a" not in html(post(owner, "/settings/models/mistral/key", key="mk-4f2a"))


def test_a_key_that_is_refused_says_the_servers_words_and_asks_for_another(owner, served):
    served(status=401, error="Incorrect API key provided")
    post(owner, "/settings/models/mistral/key", key="mk-0123456789-4f2a")
    tested = html(owner.get("/settings/models/mistral/test"))
    assert "Key refused" in tested
    assert "Mistral answered 401 at" in tested and "“Incorrect API key provided”" in tested
    assert "Paste a key" in tested


def test_a_key_of_the_environment_is_named_by_its_variable(owner, settings):
    settings.PROVIDER_KEYS = {"groq": ProviderKey("GROQ_API_KEY", "gsk-0123456789-abcd")}
    shown = card(html(owner.get("/settings/models/")), "groq")
    assert "•••• •••• •••• abcd" in shown and "0123456789" not in shown
    assert "GROQ_API_KEY" in shown and "Remove key" not in shown


def test_an_azure_key_asks_for_the_address_of_its_resource(owner):
    assert (
        'name="base_url"'
        in card(html(owner.get("/settings/models/")), "azure").split("<details")[0]
    )
    values = {"key": "az-1", "base_url": "https://docs.openai.azure.com"}
    assert post(owner, "/settings/models/azure/key", **values).status_code == 200
    told = html(post(owner, "/settings/models/azure/key", key="", base_url=""))
    assert "Paste the key." in told


def test_only_admins_enter_keys_and_see_how_they_end(bob, settings):
    settings.PROVIDER_KEYS = {"groq": ProviderKey("GROQ_API_KEY", "gsk-0123456789-abcd")}
    page = html(bob.get("/settings/models/"))
    assert "abcd" not in page and "Paste a key" not in page
    assert post(bob, "/settings/models/groq/key", key="mine").status_code == 403
    assert post(bob, "/settings/models/groq/key/remove").status_code == 403
    assert not Provider.objects.exists()


def test_the_models_of_a_provider_are_listed_with_what_is_known_of_them(owner, served):
    agent(provider="ollama", model="qwen3-vl", name="Docs writer")
    vision = {"context_length": 131072, "architecture": {"input_modalities": ["text", "image"]}}
    served({"id": "qwen3-max", "context_length": 128000}, {"id": "qwen3-vl", **vision})
    shown = html(owner.get("/settings/models/ollama/test"))
    assert "sees images" in shown and "128k" in shown and "Docs writer" in shown
    found = html(owner.get("/settings/models/ollama/list?find=MAX"))
    assert "qwen3-max" in found and "qwen3-vl" not in found
    assert "No model here" in html(owner.get("/settings/models/ollama/list?find=nothing"))


def test_a_page_that_was_just_drawn_asks_no_one_who_was_asked_lately(owner, served):
    asked = served("qwen3:8b")
    owner.get("/settings/models/ollama/test")
    count = len(asked)
    owner.get("/settings/models/ollama/test?auto")
    assert len(asked) == count
    owner.get("/settings/models/ollama/test")
    assert len(asked) == 2 * count


# The first page


def fresh(id="docs-writer"):
    """An agent whose file names no model, as the shipped one at the first start."""
    agent(id=id, name="Docs writer")
    path = read_agent(id).path
    path.write_text(
        json.dumps({k: v for k, v in in_file(id).items() if k not in ("provider", "model")})
    )
    set_owner(person("alice"), id)
    return create_conversation(person("alice"), id)


def test_the_first_page_asks_which_model_should_answer_and_waits_for_no_server(owner, served):
    asked = served("qwen3:8b")
    page = html(owner.get(f"/c/{fresh().pk}/"))
    assert "Which model should answer?" in page and "Looking for models" in page
    assert 'id="say"' not in page
    assert asked == []


def test_what_is_found_is_offered_and_the_choice_is_written(owner, served, settings):
    settings.PROVIDER_ADDRESSES = {}
    settings.PROVIDER_KEYS = {"groq": ProviderKey("GROQ_API_KEY", "gsk-1")}
    served(*(f"model-{n}" for n in range(9)))
    c = fresh()
    found = html(owner.get("/settings/agents/docs-writer/found-models"))
    assert "Found 28 models in 4 places" in found
    assert "LM Studio does not answer. Start it and look again, or" in squeezed(found)
    assert "key from GROQ_API_KEY" in found and "6 more." in found
    more = html(owner.get("/settings/agents/docs-writer/found-models?place=groq&find=model-8"))
    assert "groq/model-8" in more and "model-7" not in more
    post(owner, "/settings/agents/docs-writer/use-model", model="groq/model-8")
    assert (in_file("docs-writer")["provider"], in_file("docs-writer")["model"]) == (
        "groq",
        "model-8",
    )
    assert "What should Docs writer do?" in html(owner.get(f"/c/{c.pk}/"))


def test_without_any_model_the_demo_is_there_and_the_remedy_is_said(owner, served):
    served(status=500)
    fresh()
    found = squeezed(html(owner.get("/settings/agents/docs-writer/found-models")))
    assert "Found no model yet" in found
    assert "Start Ollama or LM Studio and look again, or" in found
    assert "checked" in found.split('value="demo/docs"')[1].split(">")[0]


def test_where_the_installation_names_a_model_nothing_is_asked(owner, settings):
    settings.PLANSIDE_MODEL_IS_SET = True
    assert "Which model should answer?" not in html(owner.get(f"/c/{fresh().pk}/"))


def test_a_model_that_nobody_offered_is_refused(owner):
    fresh()
    for wrong in ("", "nowhere/m", "qwen3"):
        answer = post(owner, "/settings/agents/docs-writer/use-model", model=wrong)
        assert answer.status_code == 422
    assert "provider" not in in_file("docs-writer")


# What stands in agent.json


def test_a_broken_file_and_a_word_that_changes_nothing_are_told_in_the_conversation(owner):
    c = conversation(tools={"create_plan": "off"})
    page = html(owner.get(f"/c/{c.pk}/"))
    assert "create_plan cannot be &quot;off&quot;" in page
    assert f'href="/settings/agents/?agent={c.agent_id}">Open agent.json</a>' in page
    (files_of(c).parent / "agent.json").write_text("{")
    assert "The last good version is still in use" in html(owner.get(f"/c/{c.pk}/"))


# A model that does not exist


def test_a_missing_model_is_said_on_the_card_and_above_the_message_box(owner, served):
    served("qwen3:8b")
    c = conversation(provider="ollama", model="qwen3:88b")
    sentence = "There is no model qwen3:88b at Ollama: run ollama pull qwen3:88b"
    for address in ("/settings/agents/", f"/c/{c.pk}/"):
        assert sentence not in html(owner.get(address))  # nobody was asked yet
    assert sentence in html(owner.get("/settings/agents/models"))
    noted = html(owner.get(f"/c/{c.pk}/model"))
    assert sentence in noted and 'role="alert"' in noted and "Choose a model" in noted
    for address in ("/settings/agents/", f"/c/{c.pk}/"):
        page = html(owner.get(address))
        assert sentence in page and 'id="model-check"' not in page
    before_and_after = [
        re.search(r'id="agent-note" data-seq="([\d.]+)"', h)[1] for h in (page, noted)
    ]
    before, after = map(float, before_and_after)
    assert before < after < before + 1, "what the socket drew before the check cannot take it away"


def test_a_missing_key_or_provider_is_said_without_asking_anybody(owner, served):
    asked = served("m")
    for values, sentence in (
        ({"provider": "mistral"}, "No key for Mistral: set MISTRAL_API_KEY or enter it in"),
        ({"provider": "nowhere"}, "There is no provider “nowhere”: choose another"),
    ):
        c = conversation(model="m", **values)
        assert sentence in html(owner.get(f"/c/{c.pk}/"))
        assert sentence in html(owner.get("/settings/agents/"))
    assert asked == []


def test_a_model_that_is_there_is_not_spoken_of(owner, served):
    served("qwen3:8b")
    c = conversation(provider="ollama", model="qwen3:8b")
    assert "There is no model" not in html(owner.get(f"/c/{c.pk}/model"))


# Tools


def test_a_service_that_cannot_be_asked_is_not_kept(owner):
    values = {"name": "pets", "kind": "openapi", "where": "http://127.0.0.1:1/", "timeout_s": "5"}
    response = post(owner, "/settings/tools/add", **values, headers="Authorization: very-secret")
    assert response.status_code == 409
    assert "very-secret" not in html(response)
    assert not ToolSource.objects.exists()


def test_a_service_shows_its_tools_and_hides_its_secrets(owner):
    ToolSource.objects.create(**PETS)
    page = html(owner.get("/settings/tools/"))
    assert "petstore__add_pet" in page
    assert "Authorization" in page
    assert "very-secret" not in page


def test_a_service_is_removed(owner):
    ToolSource.objects.create(**PETS)
    post(owner, "/settings/tools/petstore/remove")
    assert not ToolSource.objects.exists()


# The tools of an agent


def test_the_card_has_shell_fetch_and_a_row_for_each_service(owner, writer):
    ToolSource.objects.create(**PETS)
    page = html(owner.get("/settings/agents/"))
    for name in ("shell", "fetch_url", "petstore"):
        assert f'value="{name}"' in page
    assert "petstore__list_pets" not in page
    unfolded = html(owner.get(f"/settings/agents/{writer}/operations/petstore"))
    assert 'value="petstore__list_pets"' in unfolded


def test_an_operation_has_its_own_grant_until_it_follows_its_service_again(owner, writer):
    ToolSource.objects.create(**PETS)
    address = f"/settings/agents/{writer}/tool"
    post(owner, address, tool="petstore", grant="allow")
    post(owner, address, tool="petstore__add_pet", grant="ask")
    assert in_file(writer)["tools"]["petstore__add_pet"] == "ask"
    post(owner, address, tool="petstore__add_pet", grant="as-above")
    assert in_file(writer)["tools"] == {"read_file": "allow", "shell": "ask", "petstore": "allow"}


def test_what_runs_without_asking_says_so(owner, writer):
    address = f"/settings/agents/{writer}/tool"
    reach = "it reaches the database, keys, chains"
    assert reach not in html(post(owner, address, tool="shell", grant="off"))
    asks = html(post(owner, address, tool="shell", grant="ask"))
    assert reach in asks and "without asking" not in asks
    assert "without asking" in html(post(owner, address, tool="shell", grant="allow"))


def test_a_new_agent_reads_asks_before_it_writes_and_has_neither_shell_nor_network(owner):
    post(owner, "/settings/agents/new", name="Careful reader")
    tools = in_file("careful-reader")["tools"]
    assert tools["read_file"] == "allow"
    assert tools["write_file"] == "ask"
    assert not {"shell", "fetch_url"} & set(tools)


def test_a_call_allowed_for_always_is_taken_back_and_asks_again(owner):
    c = conversation(tools={"shell": "ask"})
    set_owner(person("alice"), c.agent_id)
    scripted(call("shell", command="echo hi"), say("Done."), call("shell", command="echo hi"))
    tell(c, "run it")
    [asked] = calls_of(c, "shell")
    post(owner, f"/c/{c.pk}/calls/{asked.pk}/decide", decision="always")
    [always] = in_file(c.agent_id)["always_allow"]
    assert always.pop("at").endswith("Z")
    assert always == {"tool": "shell", "arguments": {"command": "echo hi"}, "by": "alice"}
    page = html(owner.get("/settings/approvals/"))
    assert "echo hi" in page
    assert "by you" in page
    assert "1 call without asking" in html(owner.get(f"/settings/agents/?agent={c.agent_id}"))
    address = f"/settings/agents/{c.agent_id}/always"
    rule = json.dumps({"tool": "shell", "arguments": {"command": "echo hi"}}, sort_keys=True)
    assert "Revoked. It asks again" in html(post(owner, address, call=rule))
    assert in_file(c.agent_id)["always_allow"] == []
    again = post(owner, address, call=rule)
    assert again.status_code == 409
    assert f'id="approvals-{c.agent_id}"' not in html(owner.get("/settings/approvals/"))


def test_approvals_are_those_of_ones_own_agents_whole_and_with_nothing_hidden(owner):
    long = "\n".join(f"line {n}" for n in range(40))
    hidden = {"tool": "shell", "arguments": {"command": f"echo \u202etxt\n{long}"}}
    own, others = (agent(always_allow=[hidden]) for _ in range(2))
    set_owner(person("alice"), own)
    set_owner(person("bob"), others)
    page = html(owner.get("/settings/approvals/"))
    assert f'id="approvals-{own}"' in page
    assert f'id="approvals-{others}"' not in page
    assert "line 39" in page
    assert "\u202e" not in page
    assert "1 hidden character is drawn as a box." in page
    assert "It is not known when" in page
    rule = json.dumps(hidden, sort_keys=True)
    assert post(owner, f"/settings/agents/{others}/always", call=rule).status_code == 404


def test_a_revoked_rule_leaves_the_others_as_the_hand_wrote_them(owner):
    rules = [
        {"tool": "shell", "arguments": {"command": "ls"}, "note": "mine"},
        {"tool": "shell", "arguments": {"command": "pwd"}},
        {"tool": "read_file", "at": "some day"},
    ]
    id = agent(always_allow=rules)
    set_owner(person("alice"), id)
    rule = json.dumps(rules[1], sort_keys=True)
    post(owner, f"/settings/agents/{id}/always", call=rule)
    assert in_file(id)["always_allow"] == [rules[0], rules[2]]


# A call that asks


def asked(**arguments):
    c = conversation(tools={"shell": "ask", "write_file": "ask"})
    tool = "shell" if "command" in arguments else "write_file"
    scripted(call(tool, **arguments), say("Done."))
    tell(c, "do it")
    return c, calls_of(c, tool)[0]


def test_the_question_shows_the_command_what_it_can_do_and_what_always_covers(owner):
    c, _ = asked(command="npm run <lint>")
    page = html(owner.get(f"/c/{c.pk}/"))
    assert "Run this shell command?" in page
    assert '<span class="line-text">npm run &lt;lint&gt;\n' in page
    assert "It can do anything on this computer that Planside may do" in page
    assert "starts in the agent’s folder." in page
    assert '“Always allow” covers <span class="mono">npm run &lt;lint&gt;</span> for' in page
    assert "Tell the agent why (optional)" in page


def test_a_command_with_hidden_characters_is_drawn_with_boxes_and_counted(owner):
    c, _ = asked(command="echo \u202e hi\u200b\n" + "\n" * 400 + "rm -rf build")
    page = html(owner.get(f"/c/{c.pk}/"))
    card = page[page.index('class="ask"') : page.index("Always allow")]
    assert "\u202e" not in page
    assert '<span class="hidden-character" title="Right-to-left override">U+202E</span>' in card
    assert "2 hidden characters are drawn as boxes." in card
    assert "400 blank lines" in card
    assert "rm -rf build" in card


def test_a_long_command_is_all_in_the_page_and_always_covers_it_whole(owner):
    command = "\n".join(f"echo {n}" for n in range(1, 415))
    c, _ = asked(command=command)
    page = html(owner.get(f"/c/{c.pk}/"))
    assert all(f">echo {n}\n" in page for n in range(1, 415))
    assert "414 lines, 403 not shown" in page
    assert "You can allow it once all 414 lines are shown." in page
    assert "“Always allow” covers exactly this command, whole, for" in page


def test_a_call_too_long_to_be_shown_can_only_be_denied(owner):
    c, _ = asked(command="echo\n" * 6_000)
    page = html(owner.get(f"/c/{c.pk}/"))
    assert "cannot be allowed here" in page
    assert 'value="allow_once"' not in page
    assert 'value="always"' not in page
    assert "data-deny" in page


def test_another_tool_is_asked_about_with_its_arguments(owner):
    c, _ = asked(path="new.md", content="two\nlines")
    page = html(owner.get(f"/c/{c.pk}/"))
    assert "Let it use write_file?" in page
    assert all(f"{text}\n</span>" in page for text in ("new.md", "two", "lines"))
    assert 'id="call-' not in page


def test_what_has_run_is_drawn_without_hidden_characters_too(owner):
    c, row = asked(command="echo \u202e hi")
    post(owner, f"/c/{c.pk}/calls/{row.pk}/decide", decision="deny")
    page = html(owner.get(f"/c/{c.pk}/"))
    assert f'id="call-{row.pk}"' in page
    assert "\u202e" not in page
    assert page.count("U+202E") == 2


def test_the_list_of_what_is_always_allowed_hides_nothing(owner):
    c, row = asked(command="echo \u202e hi\u200b")
    post(owner, f"/c/{c.pk}/calls/{row.pk}/decide", decision="always")
    page = html(owner.get("/settings/approvals/"))
    assert "\u202e" not in page.replace("\\u202e", "")
    assert "U+202E" in page


def test_deciding_twice_is_harmless_and_another_word_after_it_is_refused(owner):
    c, row = asked(command="echo hi")
    address = f"/c/{c.pk}/calls/{row.pk}/decide"
    for _ in range(2):
        assert post(owner, address, decision="deny", reason="not now").status_code == 200
    late = post(owner, address, decision="allow_once")
    assert late.status_code == 409
    assert "was decided already" in html(late)
    assert f'id="approval-{row.pk}"' not in html(owner.get(f"/c/{c.pk}/"))
    row.refresh_from_db()
    assert (row.decision, row.reason) == ("deny", "not now")


def test_someone_else_decides_nothing(bob):
    c, row = asked(command="echo hi")
    response = post(bob, f"/c/{c.pk}/calls/{row.pk}/decide", decision="allow_once")
    assert response.status_code == 404
    row.refresh_from_db()
    assert row.decision == ""


# Settings > Agents: what is under a card is drawn when it is opened


def test_only_the_card_that_is_opened_is_drawn_whole(owner, writer):
    other = agent(tools={"read_file": "allow"})
    set_owner(person("alice"), other)
    page = owner.get(f"/settings/agents/?agent={other}").content.decode()
    assert f'id="model-{other}"' in page
    assert f'id="agent-{writer}"' in page
    assert f'id="model-{writer}"' not in page
    assert f'id="delete-{writer}"' not in page
    opened = owner.get(f"/settings/agents/{writer}/file?card", headers=HTMX).content.decode()
    assert f'hx-target="#agent-{writer}-settings"' in opened
    assert f'id="model-{writer}"' in opened
    assert f'id="delete-{writer}"' in opened
    assert 'hx-target="#file"' in opened


def test_without_scripts_a_card_is_opened_by_loading_the_page(owner, writer):
    page = owner.get("/settings/agents/").content.decode()
    assert '<form id="unfold" method="get">' in page
    assert re.search(rf'form="unfold"\s+name="agent"\s+value="{writer}"', page)


def test_a_conversation_that_is_deleted_while_its_model_is_looked_for_gets_no_note():
    request = RequestFactory().get("/c/1/model")
    request.user = person("alice")
    c = conversation("alice")
    pk = c.pk
    assert "agent-note" in first_run.draw_notes(request, pk)
    c.delete()
    assert first_run.draw_notes(request, pk) == ""


def test_the_protocol_is_chosen_in_the_form_and_shown_on_the_card(owner):
    page = html(owner.get("/settings/models/"))
    assert '<option value="anthropic_messages">Anthropic Messages</option>' in page
    post(owner, "/settings/models/add", **{**FIELDS, "api": "anthropic_messages"})
    assert Provider.objects.get().api == "anthropic_messages"
    shown = card(html(owner.get("/settings/models/?provider=router")), "router")
    assert '<option value="anthropic_messages" selected>' in shown
    post(owner, "/settings/models/router/change", **{**FIELDS, "api": "chat_completions"})
    assert Provider.objects.get().api == "chat_completions"
    told = html(post(owner, "/settings/models/router/change", **{**FIELDS, "api": "x"}))
    assert "There is no protocol &#x27;x&#x27;" in told


def test_as_the_form_begins_a_known_address_says_what_is_spoken(owner):
    claude = {**FIELDS, "base_url": "https://api.anthropic.com", "api": "chat_completions"}
    post(owner, "/settings/models/add", **claude)
    assert Provider.objects.get().api == ""


def test_saving_the_rest_leaves_what_its_address_says(owner):
    """An address for Anthropic with a path of its own is kept as it was written."""
    typed = {**FIELDS, "base_url": "https://proxy.example/claude", "api": "anthropic_messages"}
    post(owner, "/settings/models/anthropic/change", **typed)
    row = Provider.objects.get()
    assert (row.base_url, row.api) == ("https://proxy.example/claude", "")


def test_too_many_tests_a_minute_are_refused_in_one_sentence(bob, served, settings):
    settings.TESTS_PER_MINUTE = 1
    asked = served("qwen3:8b")
    assert bob.get("/settings/models/ollama/test").status_code == 200
    count = len(asked)
    for again in ("", "?auto"):
        answer = bob.get(f"/settings/models/lmstudio/test{again}")
        assert answer.status_code == 429 and int(answer.headers["Retry-After"]) > 0
        assert "You have had 1 servers asked within a minute" in html(answer)
    assert bob.get("/settings/models/ollama/test?auto").status_code == 200, "nobody is asked"
    assert len(asked) == count


def test_pages_beyond_that_show_what_is_known(owner, served, settings):
    settings.TESTS_PER_MINUTE = 1
    asked = served("qwen3:8b")
    id = agent(provider="demo", model="docs")
    set_owner(person("alice"), id)
    owner.get("/settings/models/ollama/test")
    count = len(asked)
    assert "qwen3:8b" in html(owner.get(f"/settings/agents/{id}/offers"))
    assert "qwen3:8b" in html(owner.get(f"/settings/agents/{id}/found-models"))
    assert owner.get("/settings/agents/models").status_code == 200
    answer = owner.get(f"/settings/agents/{id}/found-models?anew")
    assert answer.status_code == 429 and "servers asked within a minute" in html(answer)
    assert len(asked) == count


@pytest.mark.parametrize("is_admin", [True, False])
def test_search_leads_to_every_page_of_the_settings_that_one_may_open(is_admin):
    user = person("ada")
    user.is_superuser = is_admin
    opened = {row.href for row in palette.pages(user)}
    may = {reverse(page.name) for page in PAGES if is_admin or not page.is_for_admins}
    assert may <= opened and (reverse("people") in opened) == is_admin
