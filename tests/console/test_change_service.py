"""Services that are changed after they were added: what stays, what goes, and what goes nowhere."""

import httpx
import pytest

from agents.models import OAuthLogin, ToolCall, ToolSource
from tests.agents.petstore import petstore
from tests.fake_model import call, say
from tests.inner import SignInNeeded, http, operation_names, read_agent, set_owner, source_tools
from tests.markup import html
from tests.world import HTMX, calls_of, conversation, drive, person, scripted, tell

pytestmark = pytest.mark.django_db(transaction=True)

OLD, NEW = "http://127.0.0.1:8123", "http://127.0.0.1:9321"
SECRETS = {"X-Key": "k-very-secret"}


class Pets:
    """Two servers with the same document; what each was sent."""

    def __init__(self):
        self.asked, self.status = [], 200

    def answer(self, request):
        self.asked.append(request)
        return httpx.Response(self.status, json=petstore())

    def sent_to(self, url):
        return [each for each in self.asked if str(each.url).startswith(url)]


@pytest.fixture
def pets():
    served = Pets()
    with http.use(httpx.MockTransport(served.answer)):
        yield served


@pytest.fixture
def source(pets, admin):
    body = {"name": "pets", "kind": "openapi", "url": OLD, "headers": SECRETS}
    assert admin.post("/api/tools", body, content_type="application/json").status_code == 201
    return ToolSource.objects.get()


def patch(admin, **changes):
    return admin.patch("/api/tools/pets", changes, content_type="application/json")


def save(admin, **fields):
    shown = {"where": OLD, "timeout_s": "60", "allowed": "", "headers": "", "inject": ""}
    return admin.post("/settings/tools/pets/change", {**shown, **fields}, headers=HTMX)


def now():
    return ToolSource.objects.get(name="pets")


def test_a_form_that_is_saved_as_it_is_changes_nothing(admin, source, pets):
    asked = len(pets.asked)
    assert save(admin)["HX-Redirect"] == "/settings/tools/?source=pets"
    assert (now().url, now().headers, now().tools) == (OLD, SECRETS, source.tools)
    assert len(pets.asked) == asked


def test_another_server_is_not_sent_what_was_entered_for_this_one(admin, source, pets):
    for refused in (save(admin, where=NEW), patch(admin, url=NEW)):
        assert refused.status_code == 409
        assert "This is another server than the secrets were entered for" in html(refused)
        assert "enter headers again" in html(refused)
    assert now().url == OLD and not pets.sent_to(NEW)
    assert patch(admin, url=NEW, headers={"X-Key": "another-secret"}).status_code == 200
    assert {each.headers["X-Key"] for each in pets.sent_to(NEW)} == {"another-secret"}
    assert now().headers == {"X-Key": "another-secret"}


@pytest.mark.parametrize("fields", [{"forget": "headers"}, {"headers": "X-Other: given-anew"}])
def test_secrets_are_forgotten_or_entered_again_with_another_address(admin, source, pets, fields):
    assert save(admin, where=NEW, **fields).status_code == 200
    assert now().url == NEW and "X-Key" not in now().headers
    assert all("X-Key" not in each.headers for each in pets.sent_to(NEW))


def test_a_path_is_corrected_without_entering_the_headers_again(admin, source, pets):
    assert patch(admin, url=f"{OLD}/v2").status_code == 200
    assert now().headers == SECRETS


@pytest.mark.parametrize(
    "where", [f"{OLD}@127.0.0.1:9321", "http://127.0.0.1", "https://127.0.0.1:8123"]
)
def test_what_only_looks_like_the_same_server_is_another(admin, source, pets, where):
    assert save(admin, where=where).status_code in (409, 422)
    assert now().url == OLD and len(pets.asked) == 1


def test_a_change_that_does_not_answer_changes_nothing(admin, source, pets):
    pets.status = 503
    refused = patch(admin, url=NEW, headers={}, timeout_s=5)
    assert refused.status_code == 409 and "503" in refused.json()["detail"]
    assert (now().url, now().headers, now().timeout_s) == (OLD, SECRETS, 60)
    assert now().tools == source.tools and now().error == ""


def test_headers_are_replaced_and_what_they_were_is_never_shown(admin, source, pets):
    page = html(admin.get("/settings/tools/?source=pets"))
    assert "Set: X-Key. Leave empty to keep them" in page and "k-very-secret" not in page
    answer = patch(admin, headers={"Authorization": "Bearer new-secret"})
    assert answer.json()["headers"] == ["Authorization"]
    assert "new-secret" not in answer.content.decode()


def test_only_allowed_operations_are_tools_and_the_others_are_named(admin, source, pets):
    assert len(operation_names()) == 6
    answer = patch(admin, allowed=["get_pet", "find*"]).json()
    assert {each["name"] for each in answer["tools"] if each["allowed"]} == operation_names()
    assert operation_names() == {"pets__get_pet", "pets__findPets"}
    assert answer["note"] == "2 of 6 operations are offered; the others are not allowed here."
    assert "not allowed</span>" in html(admin.get("/settings/tools/?source=pets"))
    assert patch(admin, allowed=[]).json()["note"] == ""
    assert len(operation_names()) == 6


def test_an_operation_that_is_misspelt_is_refused(admin, source, pets):
    refused = save(admin, allowed="get_pet\nlist_pest")
    assert refused.status_code == 409
    assert "No operation of pets is called &#x27;list_pest&#x27;." in html(refused)
    assert now().allowed is None


def test_grants_stay_and_count_for_what_is_allowed(admin, source, pets):
    c = conversation(tools={"pets": "allow"}, plan={"enabled": False})
    patch(admin, allowed=["findPets"])
    scripted(call("pets__get_pet", pet_id=1), call("pets__findPets"), say("Two."))
    tell(c, "which pets are there?")
    assert [made.state for made in calls_of(c)] == ["refused", "done"]


def test_nobody_but_an_admin_changes_a_service(client, source, pets):
    client.force_login(person("bob"))
    assert save(client).status_code == 403
    assert patch(client, timeout_s=5).status_code == 403
    assert now().timeout_s == 60


def test_tokens_stay_while_the_address_does_and_go_with_it(admin):
    source = ToolSource.objects.create(
        name="pets", kind="mcp", url="https://g.example/mcp", sign_in="wanted", tools=[]
    )
    OAuthLogin.objects.create(source=source, tokens={"access_token": "top-secret-1"})
    assert patch(admin, timeout_s=5).status_code == 200
    assert OAuthLogin.objects.exists() and now().sign_in == "wanted"
    refused = patch(admin, url="http://127.0.0.1:1/mcp")
    assert refused.status_code == 409, "nobody answers there"
    assert OAuthLogin.objects.exists() and now().url == "https://g.example/mcp"


@pytest.mark.parametrize(
    "change",
    [
        {"url": NEW},
        {"inject": {"lang": "de"}},
        {"tools": "other description"},
        {"tools": "other parameters"},
    ],
)
def test_a_call_is_not_carried_out_if_its_tool_has_changed_since_it_was_allowed(
    admin, source, pets, change
):
    c = conversation(tools={"pets": "ask"}, plan={"enabled": False})
    scripted(call("pets__get_pet", petId=1), say("I call it again."))
    tell(c, "look at the first one")
    [asked] = calls_of(c)
    assert asked.state == "asked"
    asked_before = len(pets.asked)
    changed(source, change)
    decide = {"decision": "allow_once"}
    address = f"/api/tool-calls/{asked.pk}/decide"
    assert admin.post(address, decide, content_type="application/json").status_code == 200
    drive()
    made = ToolCall.objects.get(pk=asked.pk)
    assert made.state == "refused"
    assert "not the tool any more that the person was asked about" in made.result
    assert len(pets.asked) == asked_before


@pytest.mark.parametrize(
    "change", [None, {"url": NEW}, {"tools": "other description"}, {"tools": "other parameters"}]
)
@pytest.mark.sampled(2)
def test_always_does_not_cover_a_tool_that_has_changed_since(admin, source, pets, change):
    c = conversation(tools={"pets": "ask"}, plan={"enabled": False})
    set_owner(person("alice"), c.agent_id)
    scripted(call("pets__findPets"), say("There."), call("pets__findPets"), say("There."))
    tell(c, "which pets are there?")
    [asked] = calls_of(c)
    decide = {"decision": "always"}
    address = f"/api/tool-calls/{asked.pk}/decide"
    assert admin.post(address, decide, content_type="application/json").status_code == 200
    drive()
    if change:
        changed_for("findPets", change)
    assert ("has changed since, so this call asks again" in rules(admin, c)) is bool(change)
    tell(c, "and now?")
    again = calls_of(c)[1]
    assert again.state == ("asked" if change else "done")
    if change:  # allowed anew, the rule names the tool as it is now, and stands there once
        admin.post(f"/api/tool-calls/{again.pk}/decide", decide, content_type="application/json")
        [rule] = read_agent(c.agent_id).file.always_allow
        assert rule.identity == again.asked_as != asked.asked_as
        assert "has changed since" not in rules(admin, c)


def rules(admin, c):
    """Those of the conversation's agent, as Settings shows them."""
    page = html(admin.get("/settings/approvals/"))
    return page.partition(f'id="approvals-{c.agent_id}"')[2].partition("</article>")[0]


def changed(source, change):
    changed_for("get_pet", change)


def changed_for(name, change):
    source = now()
    if "tools" in change:
        tools = [dict(each) for each in source.tools]
        one = next(each for each in tools if each["name"] == name)
        if "description" in change["tools"]:
            one["description"] = "Deletes all pets"
        else:
            one["parameters"] = {"type": "object", "properties": {"petId": {"enum": [2]}}}
        change = {"tools": tools}
    for field, value in change.items():
        setattr(source, field, value)
    source.save()


def test_a_call_whose_tool_is_the_same_is_carried_out(admin, source, pets):
    c = conversation(tools={"pets": "ask"}, plan={"enabled": False})
    scripted(call("pets__findPets"), say("There."))
    tell(c, "which pets are there?")
    [asked] = calls_of(c)
    patch(admin, timeout_s=30)
    admin.post(
        f"/api/tool-calls/{asked.pk}/decide",
        {"decision": "allow_once"},
        content_type="application/json",
    )
    drive()
    assert calls_of(c)[0].state == "done"
    assert len({tool.identity for tool in source_tools()}) == 6


def test_a_client_id_is_entered_in_the_form_and_its_secret_is_never_shown(admin, monkeypatch):
    ToolSource.objects.create(
        name="pets", kind="mcp", url="https://g.example/mcp", sign_in="wanted", tools=[]
    )
    page = html(admin.get("/settings/tools/?source=pets"))
    assert "http://testserver/settings/tools/signed-in" in page, "what to register there"

    async def wants_a_sign_in(server):
        raise SignInNeeded("Nobody has signed in.")

    monkeypatch.setattr("agents.tools.integrations.mcp.list_tools", wants_a_sign_in)
    given = {"client_id": "planside-1", "client_secret": "hush-hush-1"}
    assert save(admin, where="https://g.example/mcp", **given).status_code == 200
    assert (now().client_id, now().client_secret) == ("planside-1", "hush-hush-1")
    assert now().sign_in == "wanted"
    page = html(admin.get("/settings/tools/?source=pets"))
    listed = admin.get("/api/tools").content.decode()
    assert "planside-1" in page and "hush-hush-1" not in page + listed
    assert '"has_client_secret": true' in listed
    save(admin, where="https://g.example/mcp", client_id="planside-2")
    assert (now().client_id, now().client_secret) == ("planside-2", ""), "it went with the first"
