"""A refusal names the field that it is about, in every form of Settings, so that the page can show
it there."""

import re

import httpx
import pytest

from agents import http
from agents.errors import Invalid
from agents.models import Provider, ToolSource
from tests.inner import create_token, headers_of, set_owner
from tests.markup import html
from tests.world import HTMX, agent, person

pytestmark = pytest.mark.django_db(transaction=True)

TICKED = {"admin", "forget", "plan_mode", "stream_options", "trusts_hints"}  # nothing to refuse
PROVIDER = {"base_url": "https://router.invalid/v1", "name": "router"}
SERVICE = {"kind": "openapi", "name": "pets", "where": "https://pets.invalid", "timeout_s": "60"}
SERVER = SERVICE | {"kind": "mcp", "client_id": "me"}
PASSWORD = {"current_password": "old-and-long-1", "password": "new-and-long-1", "again": "new-and-long-1"}  # fmt: skip

PROVIDER_FAULTS = {
    "base_url": ["nowhere", "ftp://router.invalid", "https://a:b@router.invalid"],
    "api": ["telepathy"],
    "key": ["two words", "ключ"],
    "headers": ["no sign", "Bad Name: x", "Host: x"],
    "prices": ["llama-3", "llama-3 a b", "llama-3 -1 2"],
}
SERVICE_FAULTS = {
    "headers": ["no sign", "Bad Name: x"],
    "inject": ["no sign"],
    "timeout_s": ["soon", "0", "601"],
}
# The page, its form, what is right, and values of each field that are not.
FORMS = {
    "add a provider": ("models/", "models/add", PROVIDER, PROVIDER_FAULTS | {"name": ["", "My server", "demo", "taken"]}),
    "change a provider": ("models/?provider=taken", "models/taken/change", PROVIDER, PROVIDER_FAULTS),
    "a provider's key": ("models/?provider=openai", "models/openai/key", {}, {"key": ["", "two words"]}),
    "add a service": ("tools/", "tools/add", SERVICE, SERVICE_FAULTS | {
        "kind": ["carrier pigeon"],
        "name": ["", "My pets", "shell", "taken"],
        "where": ["", "nowhere", "https://pets.invalid"],
        "spec": ["nowhere"],
    }),
    "add a server": ("tools/", "tools/add", SERVER | {"client_secret": "s"}, {
        "client_id": ["", "ключ"], "client_secret": ["ключ"],
    }),
    "change a service": ("tools/?source=taken", "tools/taken/change", SERVICE, SERVICE_FAULTS | {
        "where": ["nowhere", "https://elsewhere.invalid"],
        "spec": ["nowhere"],
        "allowed": ["no_such_*"],
    }),
    "add a person": ("people/", "people/add", {"name": "carol"}, {"name": ["", "no spaces", "bob", "system"]}),
    "change one's name": ("account/", "account/name", {"name": "ann", **PASSWORD}, {
        "name": ["", "no spaces", "bob"], "current_password": ["", "wrong"],
    }),
    "change one's password": ("account/", "account/password", PASSWORD, {
        "current_password": ["", "wrong"], "password": ["short", "password123"], "again": ["other"],
    }),
    "make a token": ("account/", "account/tokens/new", {"name": "build", **PASSWORD}, {
        "name": ["", "x" * 101, "taken"], "current_password": ["", "wrong"],
    }),
    "make a chain": ("chains/", "chains/new", {"name": "not-there-yet", "from": "planner"}, {
        "name": ["", "ä", "planner"], "from": ["nobody", ""],
    }),
    "run a chain": ("chains/?chain=planner", "chains/planner/run", {"input": "Hello"}, {
        "input": ["", "  "], "agent": ["nobody"],
    }),
    "make an agent": ("agents/", "agents/new", {"name": "Mine"}, {"name": ["", " ", "x" * 101]}),
    "choose a model": ("agents/?agent={agent}", "agents/{agent}/model", {"provider": "openai", "model": "gpt"}, {
        "provider": ["nobody"], "model": ["", "\t"],
    }),
}  # fmt: skip


@pytest.fixture
def alice(client, settings):
    settings.PROVIDER_KEYS = {}

    def unreachable(request):
        raise httpx.ConnectError("nobody is there")

    with http.use(httpx.MockTransport(unreachable)):
        yield admin(client)


def admin(client):
    who = person("alice")
    who.set_password(PASSWORD["current_password"])
    who.is_superuser = True
    who.save()
    person("bob")
    create_token(who, "taken")
    Provider.objects.create(name="taken", base_url=PROVIDER["base_url"], key="k", headers={})
    tools = [{"name": "list", "description": "", "parameters": {}, "read_only": True}]
    ToolSource.objects.create(
        name="taken", kind="openapi", url=SERVICE["where"], headers={"A": "b"}, tools=tools
    )
    client.force_login(who)
    return client


@pytest.fixture
def own(alice):
    id = agent()
    set_owner(person("alice"), id)
    return id


def form_on(client, form, own):
    """What the page has between the form's tags, and its address."""
    page, address, right, _ = FORMS[form]
    address = f"/settings/{address.format(agent=own)}"
    drawn = html(client.get(f"/settings/{page.format(agent=own)}"))
    [inside] = re.findall(rf'<form[^>]*hx-post="{address}"[^>]*>(.*?)</form>', drawn, re.S)[:1]
    return address, right, inside


@pytest.mark.parametrize("form", FORMS)
def test_a_refusal_names_its_field(alice, own, form):
    address, right, inside = form_on(alice, form, own)
    faults = [(field, value) for field, values in FORMS[form][3].items() for value in values]
    for field, value in faults:
        typed = {"password": value, "again": value} if field == "password" else {field: value}
        response = alice.post(address, right | typed, headers=HTMX)
        assert response.status_code >= 400, (field, value, html(response))
        assert response.headers.get("Planside-Field") == field, (field, value, html(response))
        assert f'name="{field}"' in inside
    every_field_is_tried_with_what_it_cannot_take(address, inside, own)


def every_field_is_tried_with_what_it_cannot_take(address, inside, own):
    names = set(re.findall(r'<(?:input|select|textarea)[^>]* name="(\w+)"', inside))
    tried = {n for _, a, _, faults in FORMS.values() for n in faults if a.format(agent=own) in address}  # fmt: skip
    assert names - tried - TICKED - {"username"} == set()


def test_what_is_about_no_field_is_said_at_the_foot(alice):
    response = alice.post("/settings/models/openai/key/remove", headers=HTMX)
    assert response.status_code == 404
    assert "Planside-Field" not in response.headers


def test_a_key_that_is_no_name_is_in_no_header():
    for field in ("tools.a\nSet-Cookie: b", "tools.ключ", "a" * 5000):
        assert headers_of(Invalid("No.", field=field)) == {}
    assert headers_of(Invalid("No.", field="always_allow[0].tool")) == {
        "Planside-Field": "always_allow[0].tool"
    }
