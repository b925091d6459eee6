"""Coming in and being let go: sessions, tokens, and what was opened with them."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from asgiref.sync import ThreadSensitiveContext, sync_to_async
from channels.layers import InMemoryChannelLayer
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import DatabaseError
from django.test import AsyncClient, Client
from django.utils import timezone

from agents.db import in_db
from agents.models import ApiToken, Conversation
from console.asgi import application
from tests.inner import (
    NOT_YOURS,
    SIGN_IN,
    TOO_MANY,
    create_token,
    ownership,
    revoke_token,
    sessions,
    signin_path,
)
from tests.waiting import nothing_comes
from tests.world import conversation, person, signed_in

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def alice():
    user = person("alice")
    user.set_password("correct horse")
    user.save()
    return user


@pytest.fixture
def chat(alice):
    c = conversation()
    ownership.set_owner(alice, c.agent_id)
    return c.pk


def test_the_session_key_is_another_after_the_sign_in(alice):
    client = Client()
    session = client.session
    session.save()
    before = client.cookies["sessionid"] = session.session_key
    client.post("/signin/", {"username": "alice", "password": "correct horse"})
    assert client.cookies["sessionid"].value != before
    assert not Session.objects.filter(pk=before).exists()


def test_a_link_too_makes_a_new_session(alice):
    client = Client()
    session = client.session
    session.save()
    before = client.cookies["sessionid"] = session.session_key
    client.get(signin_path(alice))
    assert client.cookies["sessionid"].value != before


def test_signing_out_ends_the_session_for_whoever_kept_its_cookie(alice):
    client = signed_in(alice)
    thief = Client()
    thief.cookies["sessionid"] = client.cookies["sessionid"].value
    assert thief.get("/plans/").status_code == 200
    client.post("/signout/")
    assert thief.get("/plans/").status_code == 302
    assert thief.get("/api/plans").status_code == 401


def test_a_new_password_ends_every_session(alice):
    client = signed_in(alice)
    alice.set_password("battery staple")
    alice.save()
    assert client.get("/plans/").status_code == 302


def test_who_is_switched_off_is_out_at_once(alice, chat):
    client, script = signed_in(alice), Client(headers=bearer(alice))
    link = signin_path(alice)
    User.objects.filter(pk=alice.pk).update(is_active=False)
    assert client.get(f"/c/{chat}/").status_code == 302
    assert script.get("/api/plans").status_code == 401
    assert Client().get(link).status_code == 403
    right = {"username": "alice", "password": "correct horse"}
    assert Client().post("/signin/", right).status_code == 403


def bearer(user):
    return {"Authorization": f"Bearer {create_token(user, f'script {timezone.now()}')}"}


def test_a_token_is_stored_as_a_hash_alone(alice):
    secret = create_token(alice, "script")
    assert secret not in str(list(ApiToken.objects.values()))


# What was opened stays open until the next check, a second later.


def test_the_check_is_prompt():
    assert sessions.CHECK_EVERY <= 1


def end_session(user):
    Session.objects.all().delete()


def let_session_expire(user):
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))


def switch_off(user):
    User.objects.filter(pk=user.pk).update(is_active=False)


def delete(user):
    User.objects.filter(pk=user.pk).delete()


def new_password(user):
    user.set_password("battery staple")
    user.save()


def revoke(user):
    revoke_token(user, "script")


ENDS = [end_session, let_session_expire, switch_off, new_password]


def connected(client, chat):
    cookie = f"sessionid={client.cookies['sessionid'].value}".encode()
    headers = [(b"cookie", cookie), (b"origin", b"http://localhost"), (b"host", b"localhost")]
    return WebsocketCommunicator(application, f"/ws/conversations/{chat}/", headers=headers)


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize("end", ENDS)
async def test_an_open_socket_is_closed_soon_after(alice, chat, end):
    socket = connected(await in_db(signed_in, alice), chat)
    assert (await socket.connect())[0]
    await socket.receive_from()
    assert await nothing_comes(socket, 3), "it stays open until then"
    await in_db(end, alice)
    assert (await socket.receive_output())["code"] == SIGN_IN


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize("end", [*ENDS, delete])
async def test_an_open_tail_of_a_session_ends_soon_after(alice, chat, end):
    client = AsyncClient()
    await sync_to_async(client.force_login)(alice)
    await ended_by(end, alice, client, chat)


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize("end", [revoke, switch_off])
async def test_an_open_tail_of_a_token_ends_soon_after(alice, chat, end):
    secret = await in_db(create_token, alice, "script")
    await ended_by(end, alice, AsyncClient(), chat, Authorization=f"Bearer {secret}")


async def ended_by(end, user, client, chat, **headers):
    path = f"/api/conversations/{chat}/events"
    stream = aiter(await client.get(path, headers={"Accept": "text/event-stream", **headers}))
    async with asyncio.timeout(10):
        assert (await anext(stream)).startswith(b":")
        await in_db(end, user)
        assert [piece async for piece in stream] == [], "at once, without waiting for news"


@pytest.mark.usefixtures("no_waiting")
async def test_the_socket_of_a_deleted_conversation_is_closed_soon_after(alice, chat):
    socket = connected(await in_db(signed_in, alice), chat)
    await socket.connect()
    await socket.receive_from()
    await in_db(Conversation.objects.filter(pk=chat).delete)
    assert (await socket.receive_output())["code"] == NOT_YOURS


@pytest.mark.usefixtures("no_waiting")
async def test_what_passes_to_somebody_else_is_listened_to_no_more(alice, chat):
    secret = await in_db(create_token, alice, "script")
    charlie = await in_db(person, "charlie")

    def give_away(_):
        Conversation.objects.filter(pk=chat).update(owner=charlie)

    await ended_by(give_away, alice, AsyncClient(), chat, Authorization=f"Bearer {secret}")


@pytest.mark.usefixtures("no_waiting")
async def test_a_database_that_is_away_turns_nobody_away(alice, chat, monkeypatch, caplog):
    socket = connected(await in_db(signed_in, alice), chat)
    await socket.connect()
    await socket.receive_from()

    def away(credentials):
        raise DatabaseError

    monkeypatch.setattr(sessions, "check_sessions", away)
    assert await nothing_comes(socket, 3)
    assert "could not be looked up" in caplog.text
    monkeypatch.undo()
    await socket.disconnect()


async def test_a_persons_open_sockets_are_limited(alice, chat, settings):
    settings.SOCKETS_PER_PERSON = 2
    client = await in_db(signed_in, alice)
    sockets = [connected(client, chat) for _ in range(3)]
    for socket in sockets:
        await socket.connect()
    assert (await sockets[2].receive_output())["code"] == TOO_MANY
    await sockets[0].disconnect()
    again = connected(client, chat)
    await again.connect()
    assert (await again.receive_output())["type"] == "websocket.send"
    for socket in (sockets[1], again):
        await socket.disconnect()


async def test_a_socket_that_cannot_join_its_groups_is_not_counted(alice, chat, monkeypatch):
    async def away(layer, group, channel):
        raise OSError

    monkeypatch.setattr(InMemoryChannelLayer, "group_add", away)
    with pytest.raises(OSError):
        await connected(await in_db(signed_in, alice), chat).connect()
    assert sessions.live_sessions.pages_of(alice.pk) == 0


@pytest.mark.usefixtures("no_waiting")
async def test_nothing_is_checked_when_nobody_is_there(monkeypatch):
    looked_up = []
    monkeypatch.setattr(sessions, "check_sessions", looked_up.append)
    live = sessions.live_sessions
    session = sessions.LiveSession(sessions.Credential(1), 1, lambda _: asyncio.sleep(0))
    live.add(session)
    live.remove(session)
    await asyncio.wait_for(live.checks, 10)
    assert looked_up == []


async def test_who_comes_just_after_the_last_one_left_is_checked_too(alice, chat, monkeypatch):
    monkeypatch.setattr(sessions, "CHECK_EVERY", 0.01)
    live, let_go = sessions.live_sessions, asyncio.Event()

    async def close(is_signed_in):
        let_go.set()

    credential = sessions.Credential(alice.pk, "an older one")
    before, now = (sessions.LiveSession(credential, chat, close) for _ in range(2))
    live.add(before)
    live.remove(before)
    live.add(now)
    await asyncio.wait_for(let_go.wait(), 10)


def test_what_another_event_loop_has_left_is_forgotten():
    async def open_streams():
        session = sessions.LiveSession(sessions.Credential(1), 1, lambda _: asyncio.sleep(0))
        sessions.live_sessions.add(session)
        return sessions.live_sessions.streams_of(1)

    assert asyncio.run(open_streams()) == 1
    assert asyncio.run(open_streams()) == 1


# Who may open a socket: our own pages.


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("https://elsewhere.example", "localhost:8000"),
        ("http://localhost:9999", "localhost:8000"),
        ("http://127.0.0.1:8000", "localhost:8000"),
        ("http://rebound.example", "rebound.example"),
        ("null", "localhost:8000"),
        ("", "localhost:8000"),
        ("file://localhost:8000", "localhost:8000"),
        ("http://[", "localhost:8000"),
        ("http://localhost:8000", ""),
    ],
)
async def test_a_page_of_another_origin_opens_no_socket(alice, chat, origin, host):
    client = await in_db(signed_in, alice)
    socket = connected(client, chat)
    cookie = socket.scope["headers"][0]
    socket.scope["headers"] = [cookie, (b"origin", origin.encode()), (b"host", host.encode())]
    assert not (await socket.connect())[0]


@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1:8000", "[::1]:8000"])
async def test_our_own_page_opens_one(alice, chat, host):
    socket = connected(await in_db(signed_in, alice), chat)
    cookie = socket.scope["headers"][0]
    own = f"http://{host}".encode()
    socket.scope["headers"] = [cookie, (b"origin", own), (b"host", host.encode())]
    assert (await socket.connect())[0]
    await socket.receive_from()
    await socket.disconnect()


def test_a_host_that_is_none_of_ours_is_refused(alice):
    client = signed_in(alice)
    assert client.get("/plans/", headers={"Host": "rebound.example"}).status_code == 400
    assert client.get("/api/plans", headers={"Host": "rebound.example"}).status_code == 400


async def test_whoever_came_first_may_leave_and_the_others_are_still_looked_after(
    alice, chat, monkeypatch
):
    """An event stream is served within a context that ends with it."""
    monkeypatch.setattr(sessions, "CHECK_EVERY", 0.01)
    live, let_go = sessions.live_sessions, asyncio.Event()

    async def close(is_signed_in):
        let_go.set()

    first = sessions.LiveSession(sessions.Credential(alice.pk, alice.password), chat, close)
    other = sessions.LiveSession(sessions.Credential(alice.pk, "an older one"), chat, close)
    with ThreadPoolExecutor(1) as executor:
        async with ThreadSensitiveContext(executor=executor):
            live.add(first)
    live.add(other)
    live.remove(first)
    await asyncio.wait_for(let_go.wait(), 10)
    assert other not in live.open
