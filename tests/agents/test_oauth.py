"""Signing in to an MCP server, with one of the SDK's making in this loop."""

import asyncio
import json
from datetime import timedelta
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import pytest
from django.utils import timezone

pytest.importorskip("mcp", reason="the package mcp is not installed")

from agents.db import in_db
from agents.errors import Invalid
from agents.models import OAuthLogin, ToolSource
from tests.agents.oauth_server import Guarded
from tests.agents.web import Served, says
from tests.inner import (
    ToolFailed,
    add_source,
    mcp,
    progress,
    redact_log,
    refresh_source,
    register,
    server_of,
    sign_in,
    source_tools,
)
from tests.world import HTMX, person

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("no_waiting"),
    pytest.mark.server("MCP behind OAuth"),
    pytest.mark.shows("sign-in, renewal, revocation with the SDK in Python"),
]

BACK = "http://127.0.0.1:8000/settings/tools/signed-in"


@pytest.fixture
async def guarded(web):
    """A server that wants somebody to sign in."""
    guarded = Guarded("http://127.0.0.1:4711")
    served = Served(guarded.app())
    web.add(4711, served)
    yield guarded
    await mcp.aclose_all()
    await served.kill()


def admin(name="alice", is_admin=True):
    who = person(name)
    who.is_superuser = is_admin
    who.save()
    return who


async def added(server):
    source = await in_db(
        lambda: add_source("guarded", kind="mcp", url=f"{server.url}/mcp", by="alice")
    )
    return await register(source, "alice")


async def led_to(who=1):
    """Press Connect: where the browser is sent."""
    return await sign_in.connect("guarded", BACK, who, "alice")


def answer_in(location):
    """What the browser brings that is sent back to us."""
    back = urlsplit(location)
    assert f"{back.scheme}://{back.netloc}{back.path}" == BACK
    return {key: value for key, [value] in parse_qs(back.query).items()}


@pytest.fixture
def sent_back(web):
    """Signs in there: with what the browser comes back."""

    async def sign_in_there(address):
        return answer_in((await web.get(address)).headers["location"])

    return sign_in_there


async def brought(answer, who=1):
    given = {key: value for key, value in answer.items() if key != "state"}
    return await sign_in.bring_answer(answer["state"], given, who)


@pytest.fixture
async def connected(guarded, sent_back):
    """The service, signed in to."""
    await added(guarded)
    return await brought(await sent_back(await led_to()))


async def call(source, name="secret", **arguments):
    tools = {tool.name: tool for tool in await in_db(source_tools)}
    return (await tools[f"{source.name}__{name}"].run(arguments)).text


async def test_a_server_that_wants_a_sign_in_is_kept_and_says_what_to_do(guarded):
    source = await added(guarded)
    assert source.sign_in == "wanted" and source.tools == []
    assert "wants to know who asks (401): press Connect at the service" in source.error


async def test_who_signs_in_gets_its_tools_and_no_token_comes_back(connected):
    source = connected
    assert (source.sign_in, source.error) == ("connected", "")
    assert [tool["name"] for tool in source.tools] == ["secret", "leak", "read_resource"]
    assert await call(source) == "The cake is in the oven."
    assert await call(source, "leak") == "[hidden] [hidden]"


async def test_the_browser_is_sent_with_pkce_and_its_answer_counts_once(guarded, sent_back):
    await added(guarded)
    address = await led_to()
    asked = {key: value for key, [value] in parse_qs(urlsplit(address).query).items()}
    assert asked["code_challenge_method"] == "S256" and len(asked["code_challenge"]) == 43
    assert (asked["redirect_uri"], asked["resource"]) == (BACK, f"{guarded.url}/mcp")
    back = await sent_back(address)
    for state, who in (("x" * 43, 1), (back["state"][:-1], 1), ("", 1), (back["state"], 2)):
        with pytest.raises(Invalid, match="press Connect again"):
            await brought({**back, "state": state}, who)
    assert (await brought(back)).sign_in == "connected"
    with pytest.raises(Invalid, match="press Connect again"):
        await brought(back)


async def test_a_sign_in_that_is_refused_there_is_said_on_the_card(guarded, sent_back):
    await added(guarded)
    [state] = parse_qs(urlsplit(await led_to()).query)["state"]
    source = await brought({"error": "access_denied", "state": state})
    assert "its sign-in was not completed (access_denied)" in source.error
    assert source.sign_in == "wanted"
    assert (await brought(await sent_back(await led_to()))).sign_in == "connected"


async def test_a_token_that_is_old_is_renewed_once_for_all_that_ask(guarded, connected):
    source = connected
    before = (await in_db(OAuthLogin.objects.get)).tokens
    await in_db(OAuthLogin.objects.update, expires_at=timezone.now() - timedelta(seconds=1))
    seen = len(guarded.seen)
    # As several processes do it, each with a connection of its own.
    servers = [server_of(source) for _ in range(3)]
    loop = asyncio.get_running_loop()
    began = loop.time()
    results = await asyncio.gather(*(mcp.list_tools(server) for server in servers))
    assert loop.time() - began < 10, "who does not renew waits no longer than need be"
    assert [len(tools) for tools in results] == [3, 3, 3]
    assert guarded.seen[seen:] == ["refresh"]
    after = await in_db(OAuthLogin.objects.get)
    assert after.tokens["access_token"] != before["access_token"]
    assert after.expires_at > timezone.now() and after.renewing_until is None


async def test_a_token_that_was_taken_back_is_renewed(guarded, connected):
    source = connected
    assert await call(source)
    guarded.forget("access")
    assert await call(source) == "The cake is in the oven."


async def test_calls_run_beside_each_other_behind_a_sign_in(guarded, connected):
    source = connected
    await call(source)
    calls = [asyncio.ensure_future(call(source, seconds=1.5)) for _ in range(5)]
    while guarded.calls_at_work < 5:
        assert not any(each.done() for each in calls), "one has ended before the last has begun"
        await asyncio.sleep(0.01)
    await asyncio.gather(*calls)


async def test_a_sign_in_that_ended_says_so_and_is_begun_anew(guarded, connected, sent_back):
    source = connected
    guarded.forget("access", "refresh", "client")
    with pytest.raises(ToolFailed, match="its sign-in has ended: press Connect"):
        await call(source)
    source = await in_db(ToolSource.objects.get)
    assert source.sign_in == "ended" and len(source.tools) == 3
    with pytest.raises(ToolFailed, match=r"wants to know who asks \(401\): press Connect"):
        await call(source)
    await in_db(OAuthLogin.objects.update, client={})  # as after a sign-in that failed
    source = await brought(await sent_back(await led_to()))
    assert await call(source) == "The cake is in the oven."


async def test_disconnecting_takes_the_tokens_back_there_and_here(guarded, connected):
    source = connected
    assert await call(source)
    await sign_in.disconnect("guarded", "alice")
    assert guarded.seen[-2:] == ["revoke", "revoke"]
    assert not await in_db(OAuthLogin.objects.exists)
    source = await refresh_source(await in_db(ToolSource.objects.get))
    assert source.sign_in == "wanted" and "press Connect" in source.error


@pytest.fixture
async def listener(web):
    """Some other server: its address, and all that it hears."""
    heard = bytearray()

    async def answer(request):
        heard.extend(f"{request.method} {request.url.path}\r\n".encode())
        heard.extend(b"\r\n".join(b": ".join(pair) for pair in request.headers.raw))
        heard.extend(await request.aread())
        return says(404)

    yield web.add(4712, answer), heard
    await mcp.aclose_all()


async def test_no_token_goes_to_a_server_that_had_the_same_name_before(connected, listener):
    address, heard = listener
    # As a process has it that has not heard yet that another one was registered in its place.
    before = mcp.Server("guarded", url=f"{address}/mcp", signed_in=True)
    with pytest.raises(Invalid):
        await mcp.list_tools(before)
    login = await in_db(OAuthLogin.objects.select_related("source").get)
    assert b"POST /mcp" in heard and login.tokens["access_token"].encode() not in heard
    assert login.source.sign_in == "connected"


async def test_the_headers_of_a_service_do_not_go_to_where_its_tokens_are_taken_back(
    connected, listener
):
    address, heard = listener
    source = connected
    source.headers = {"X-Key": "of-the-service-alone"}
    await in_db(source.save)
    login = await in_db(OAuthLogin.objects.get)
    login.endpoints["server"]["revocation_endpoint"] = f"{address}/revoke"
    await in_db(login.save)
    await sign_in.disconnect("guarded", "alice")
    assert b"POST /revoke" in heard and login.tokens["refresh_token"].encode() in heard
    assert b"of-the-service-alone" not in heard


@pytest.fixture
async def metadata(web):
    """An MCP server that names another place for signing in."""

    def serve(issuer):
        async def answer(request):
            if request.url.path == "/mcp":
                described = f"{where}/.well-known/oauth-protected-resource"
                return says(401, WWW_Authenticate=f'Bearer resource_metadata="{described}"')
            if "protected-resource" not in request.url.path:
                return says(404, b"{}", content_type="application/json")
            body = {"resource": f"{where}/mcp", "authorization_servers": [issuer]}
            return says(200, json.dumps(body).encode(), content_type="application/json")

        where = web.add(4712, answer)
        return where

    yield serve
    await mcp.aclose_all()


@pytest.mark.parametrize(
    "issuer", ["http://169.254.169.254", "http://10.0.0.7/auth", "http://[::1]"]
)
async def test_no_server_leads_us_to_other_private_addresses(metadata, issuer):
    await added(SimpleNamespace(url=metadata(issuer)))
    with pytest.raises(Invalid, match="neither public nor on its own host"):
        await led_to()
    assert not (await in_db(OAuthLogin.objects.get)).tokens


# A server that names how clients show who they are


@pytest.mark.parametrize("way", ["none", "client_secret_basic", "client_secret_post"])
async def test_the_registration_asks_for_what_the_server_names(guarded, sent_back, way):
    """`none` is a public client, whose code is protected by PKCE alone."""
    guarded.name_way(way)
    await added(guarded)
    address = await led_to()
    assert "code_challenge" in parse_qs(urlsplit(address).query)
    source = await brought(await sent_back(address))
    assert (source.sign_in, source.error) == ("connected", "")
    client = (await in_db(OAuthLogin.objects.get)).client
    assert client["token_endpoint_auth_method"] == way
    assert ("client_secret" in client) == (way != "none")
    await in_db(OAuthLogin.objects.update, expires_at=timezone.now() - timedelta(seconds=1))
    await mcp.aclose_all()
    assert await call(source) == "The cake is in the oven."


# A server that registers nobody by itself


@pytest.fixture
def closed(guarded):
    """It knows one client, which somebody has registered there, and registers no other."""
    guarded.close("planside-1", "hush-hush-1", BACK)
    return guarded


async def with_client(server, id="planside-1", secret="hush-hush-1"):
    def add():
        known = {"client_id": id, "client_secret": secret}
        return add_source("guarded", kind="mcp", url=f"{server.url}/mcp", by="alice", **known)

    return await register(await in_db(add), "alice")


async def test_a_server_that_registers_nobody_says_to_enter_a_client_id(closed):
    await added(closed)
    with pytest.raises(Invalid, match="register Planside there, and enter the client ID"):
        await led_to()


async def test_a_client_that_was_registered_by_hand_signs_in_and_stays_signed_in(closed, sent_back):
    await with_client(closed)
    address = await led_to()
    assert parse_qs(urlsplit(address).query)["client_id"] == ["planside-1"]
    source = await brought(await sent_back(address))
    assert (source.sign_in, source.error) == ("connected", "")
    assert await call(source) == "The cake is in the oven."
    await in_db(OAuthLogin.objects.update, expires_at=timezone.now() - timedelta(seconds=1))
    await mcp.aclose_all()
    assert await call(source) == "The cake is in the oven."
    assert closed.seen[-1] == "refresh"
    assert "register" not in closed.seen[closed.seen.index("closed") :]


async def test_a_wrong_client_secret_is_said_and_not_shown(closed, sent_back):
    await with_client(closed, secret="not-the-secret")
    source = await brought(await sent_back(await led_to()))
    assert "its sign-in failed" in source.error and "not-the-secret" not in source.error


async def test_the_client_secret_goes_to_no_other_server_than_the_first_time(
    closed, metadata, sent_back
):
    source = await with_client(closed)
    await brought(await sent_back(await led_to()))
    login = await in_db(OAuthLogin.objects.get)
    assert login.client["issuer"].rstrip("/") == closed.url
    kept = sign_in.own_client(source, BACK, login)
    assert kept["issuer"] == login.client["issuer"]
    other = sign_in.own_client(source, BACK, OAuthLogin(client={"client_id": "x", "issuer": "y"}))
    assert "issuer" not in other


async def test_a_token_that_is_renewed_during_a_call_is_hidden_like_all_others(connected):
    source = connected
    before = (await in_db(OAuthLogin.objects.get)).tokens
    await in_db(OAuthLogin.objects.update, expires_at=timezone.now() - timedelta(seconds=1))
    await mcp.aclose_all()
    heard = []
    with progress.listening(heard.append):
        told = await call(source, "leak")
    after = (await in_db(OAuthLogin.objects.get)).tokens
    assert after["access_token"] != before["access_token"]
    for shown in (told, *heard, redact_log(f"sent {after['access_token']}")):
        assert after["access_token"] not in shown and after["refresh_token"] not in shown
    assert heard == ["1 of 1 · [hidden]"]
    with pytest.raises(ToolFailed) as failure:
        await call(source, "leak", fails=True)
    assert after["access_token"] not in str(failure.value)


# The pages


def wanted():
    return ToolSource.objects.create(
        name="guarded", kind="mcp", url="https://g.example/mcp", sign_in="wanted"
    )


def test_admins_are_offered_to_connect_and_to_disconnect(client):
    source = wanted()
    client.force_login(admin())
    page = client.get("/settings/tools/").content.decode()
    assert "/settings/tools/guarded/connect" in page and "guarded/disconnect" not in page
    ToolSource.objects.update(sign_in="connected")
    OAuthLogin.objects.create(source=source, tokens={"access_token": "top-secret-1"})
    page = client.get("/settings/tools/?source=guarded").content.decode()
    assert "signed in" in page and "/settings/tools/guarded/disconnect" in page
    listed = client.get("/api/tools").content.decode()
    assert '"sign_in": "connected"' in listed and "top-secret-1" not in page + listed


def test_others_can_neither_connect_nor_disconnect_nor_bring_an_answer(client):
    wanted()
    client.force_login(admin("bob", is_admin=False))
    assert "/connect" not in client.get("/settings/tools/").content.decode()
    for verb in ("connect", "disconnect"):
        assert client.post(f"/settings/tools/guarded/{verb}", headers=HTMX).status_code == 403
    assert client.get("/settings/tools/signed-in?code=1&state=2").status_code == 403
    client.logout()
    assert "/signin/" in client.get("/settings/tools/signed-in?code=1&state=2")["Location"]


@pytest.mark.parametrize(
    "query", ["", "?code=1", "?state=2", "?code=1&state=2", "?error=no&state=2"]
)
def test_an_answer_that_nobody_waits_for_is_refused_on_the_page(client, query):
    wanted()
    client.force_login(admin())
    response = client.get(f"/settings/tools/signed-in{query}")
    assert response.status_code == 422
    assert "This sign-in is not under way any more" in response.content.decode()
