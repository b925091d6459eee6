import asyncio
import json
import logging

import httpx
import pytest
from asgiref.sync import async_to_sync

from agents.errors import Conflict, Invalid, NotFound
from agents.models import ToolSource
from tests.agents.mcp_server import serve
from tests.agents.petstore import many, petstore
from tests.fake_model import call as calls
from tests.fake_model import say
from tests.inner import (
    ToolFailed,
    add_source,
    doctor,
    http,
    mcp,
    refresh_source,
    register,
    remove_source,
    shape,
    source_tools,
)
from tests.inner import integrations_actions as actions
from tests.world import calls_of, conversation, person, scripted, signed_in, tell

pytestmark = pytest.mark.django_db

URL = "http://127.0.0.1:8123"
SECRET = 'Bearer top"secret/1'


def service(respond=None, document=None):
    """Everything the service is asked from now on; by default it echoes what it was sent."""
    seen = []

    def answer(request):
        seen.append(request)
        if request.url.path.endswith("/openapi.json"):
            return httpx.Response(200, json=document or petstore())
        if respond:
            return respond(request)
        sent = {
            "url": str(request.url),
            "headers": dict(request.headers),
            "body": request.content.decode(),
        }
        return httpx.Response(200, json=sent)

    http.use(httpx.MockTransport(answer))
    return seen


@pytest.fixture(autouse=True)
def _no_wire_is_left():
    with http.use(None):
        yield


def pets(**more):
    source = add_source("pets", kind="openapi", url=URL, by="alice", **more)
    return async_to_sync(refresh_source)(source)


def tools(named=()):
    return {tool.name: tool for tool in source_tools(named)}


def call(name, **arguments):
    async def story():
        try:
            return (await tools_by_name[name].run(arguments)).text
        finally:
            await mcp.aclose_all()

    tools_by_name = tools()
    return async_to_sync(story)()


def test_a_registered_service_is_tools_without_being_asked_again():
    seen = service()
    pets()
    asked = len(seen)
    offered = tools()
    assert "pets__findPets" in offered and not offered["pets__findPets"].read_only
    assert all(len(name) <= 64 for name in offered)
    assert len(seen) == asked


def test_a_source_that_is_gone_offers_nothing():
    service()
    pets()
    assert tools()
    remove_source("pets", "alice")
    assert tools() == {}
    with pytest.raises(NotFound):
        remove_source("pets", "alice")


def test_what_is_asked_again_replaces_what_was_known():
    service()
    source = pets()
    assert len(tools()) == 6
    service(document=many(3))
    async_to_sync(refresh_source)(source)
    assert len(tools()) == 3


def test_a_source_that_cannot_be_asked_keeps_what_was_known_and_says_why():
    service()
    source = pets()
    http.use(httpx.MockTransport(lambda request: httpx.Response(500, text=SECRET)))
    source = async_to_sync(refresh_source)(source)
    assert "500" in source.error and len(tools()) == 6
    service()
    assert async_to_sync(refresh_source)(source).error == ""


def test_a_new_source_that_cannot_be_asked_is_not_kept():
    http.use(httpx.MockTransport(lambda request: httpx.Response(404)))
    source = add_source("pets", kind="openapi", url=URL, by="alice")
    with pytest.raises(Conflict):
        async_to_sync(register)(source, "alice")
    assert not ToolSource.objects.exists()


def test_a_new_source_whose_adder_went_away_before_it_answered_is_not_kept():
    async def story():
        asked = asyncio.Event()

        async def silent(request):
            asked.set()
            await asyncio.Event().wait()

        http.use(httpx.MockTransport(silent))
        adding = asyncio.create_task(register(source, "alice"))
        await asked.wait()
        adding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await adding

    source = add_source("pets", kind="openapi", url=URL, by="alice")
    async_to_sync(story)()
    assert not ToolSource.objects.exists()


def test_what_could_not_be_used_is_counted_and_named_wherever_a_service_is_shown():
    document = petstore()
    document["paths"]["/items"] = {"post": {"requestBody": 3}}
    service(document=document)
    source = pets()
    assert actions.note_on(source).startswith("6 of 7 operations are offered")
    assert [each.operation for each in shape(source).skipped] == ["POST /items"]
    page = signed_in(person("alice")).get("/settings/tools/").content.decode()
    assert "6 of 7 operations" in page and "POST /items" in page
    assert any("6 of 7" in found.sentence for found in doctor.tool_sources())


def test_an_injected_argument_is_sent_and_hidden_from_the_model():
    seen = service()
    pets(inject={"petId": "7", "lang": "de", "kind": "cat", "keep": "true", "user": "me"})
    shown = tools()["pets__get_pet"].parameters
    assert set(shown["properties"]) == {"X-Trace", "session"} and shown["required"] == []
    call("pets__get_pet", petId=9)
    assert seen[-1].url.path.endswith("/pets/7") and seen[-1].url.query == b"lang=de"


def test_an_injected_field_of_a_body_is_sent_and_hidden():
    seen = service()
    pets(inject={"kind": "cat"})
    body = tools()["pets__addPet"].parameters["properties"]["body"]
    assert "kind" not in body["properties"] and body["required"] == ["name"]
    call("pets__addPet", body={"name": "Tom", "kind": "dog"})
    assert json.loads(seen[-1].content) == {"name": "Tom", "kind": "cat"}


def test_a_body_that_is_filled_in_altogether_is_not_shown_and_has_the_types_it_wants():
    seen = service()
    pets(inject={"user": "42", "keep": "true"})
    assert tools()["pets__post_login"].parameters["properties"] == {}
    call("pets__post_login")
    fields = seen[-1].content.split(b"&")  # in whatever order the database keeps them
    assert sorted(fields) == [b"keep=true", b"user=42"]


def test_an_injected_argument_that_nothing_takes_is_said():
    service()
    assert pets(inject={"pet": "7"}).error == "No operation of pets takes pet."


def test_no_secret_leaves_a_source(caplog):
    caplog.set_level(logging.DEBUG)
    service()
    source = pets(
        headers={"Authorization": SECRET, "X-Key": "k-98765"},
        inject={"session": "sess-4711"},
    )
    told = call("pets__get_pet", petId=1, lang="de")
    assert "[hidden]" in told
    service(lambda request: httpx.Response(400, text=f"bad {request.headers['Authorization']}"))
    with pytest.raises(ToolFailed) as failure:
        call("pets__get_pet", petId=1, lang="de")
    http.use(
        httpx.MockTransport(
            lambda request: httpx.Response(302, headers={"Location": f"http://x/{SECRET[7:]}/"})
        )
    )
    source = async_to_sync(refresh_source)(source)
    shown = shape(source).model_dump_json()
    for text in (
        told,
        str(failure.value),
        source.error,
        shown,
        caplog.text,
        repr(source),
        str(source),
    ):
        for secret in (SECRET, 'top"secret/1', 'top\\"secret/1', "k-98765", "sess-4711"):
            assert secret not in text
    assert json.loads(shown)["headers"] == ["Authorization", "X-Key"]


def test_a_secret_in_a_url_is_not_shown():
    source = add_source(
        "remote", kind="mcp", url="http://u:passwd@127.0.0.1:9/mcp?key=topsecret", by="alice"
    )
    source = async_to_sync(refresh_source)(source)
    assert source.error
    shown = shape(source).model_dump_json() + source.error
    assert "topsecret" not in shown and "passwd" not in shown


def test_the_environment_of_a_command_is_secret_too(programs):
    command = programs.add("small", serve)
    add_source("small", kind="mcp", command=command, headers={"TOKEN": "tok-123456"}, by="alice")
    async_to_sync(register)(ToolSource.objects.get(), "alice")
    told = call("small__environment")
    assert "TOKEN=[hidden]" in told and "tok-123456" not in told


def test_an_mcp_server_is_tools(programs):
    command = programs.add("small", serve)
    source = add_source(
        "small", kind="mcp", command=command, inject={"text": "always this"}, by="alice"
    )
    async_to_sync(register)(source, "alice")
    offered = tools()
    assert offered["small__echo"].parameters["properties"] == {}
    assert call("small__echo") == "[hidden]"
    assert call("small__long", characters=3) == "xxx"


@pytest.mark.parametrize(
    "name", ["", "A", "a b", "a__b", "-a", "a-", "ä", "x" * 33, "a.b", "../a", "*", "a\n"]
)
def test_a_name_that_is_none_is_refused(name):
    with pytest.raises(Invalid):
        add_source(name, kind="openapi", url=URL, by="alice")


def test_a_name_of_a_built_in_tool_is_refused():
    for name in (
        "shell",
        "local-shell",
        "local_fs",
        "fetch_url",
        "read_file",
        "run-agent",
        "create_plan",
        "plan",
    ):
        with pytest.raises(Conflict, match="built in"):
            add_source(name, kind="openapi", url=URL, by="alice")


def test_a_name_is_given_once():
    add_source("pets", kind="openapi", url=URL, by="alice")
    with pytest.raises(Conflict):
        add_source("pets", kind="mcp", command="x", by="alice")


@pytest.mark.parametrize(
    "values",
    [
        {"kind": "soap", "url": URL},
        {"kind": "openapi"},
        {"kind": "openapi", "command": "x"},
        {"kind": "mcp", "url": URL, "command": "x"},
        {"kind": "mcp", "url": "ftp://x"},
        {"kind": "mcp", "command": "x\0"},
        {"kind": "mcp", "command": "x", "spec": {}},
        {"kind": "openapi", "url": URL, "spec": "ftp://x"},
        {"kind": "openapi", "url": URL, "spec": 3},
        {"kind": "openapi", "url": URL, "timeout_s": 0},
        {"kind": "openapi", "url": URL, "headers": {"a b": "x"}},
        {"kind": "openapi", "url": URL, "headers": {"A": "topsecret\r\nB: c"}},
        {"kind": "mcp", "command": "x", "headers": {"A-B": "topsecret"}},
    ],
)
def test_what_cannot_be_a_source_is_refused_without_a_word_of_its_secrets(values):
    with pytest.raises(Invalid) as refusal:
        add_source("pets", by="alice", **values)
    assert "topsecret" not in str(refusal.value)
    assert not ToolSource.objects.exists()


def test_a_document_may_be_given_instead_of_fetched():
    seen = service()
    pets(spec=petstore(servers=[]))
    assert seen == []
    call("pets__findPets")
    assert str(seen[-1].url) == f"{URL}/pets"


def test_the_refusal_of_an_unknown_tool_names_the_nearest_not_all_of_them():
    stored = {
        "remote": "x",
        "description": "Does it.",
        "parameters": {"type": "object", "properties": {}},
        "read_only": False,
        "idempotent": False,
    }
    names = [f"list_the_{kind}_{n}" for n in range(45) for kind in ("orders", "invoices")]
    ToolSource.objects.create(
        name="shop", kind="mcp", url=URL, tools=[{"name": name, **stored} for name in names]
    )
    c = conversation(tools={"shop": "allow"}, plan={"enabled": False})
    scripted(calls("shop__list_orders_3"), say("Well."))
    tell(c, "Which?")
    refusal = calls_of(c)[0].result
    assert "shop__list_the_orders_3," in refusal and refusal.endswith("and 71 others.")
    assert len(refusal) < 1_000
