"""Signing in to a service for everybody of this installation, and out again: for admins."""

from __future__ import annotations

import asyncio
import logging
from contextvars import Context
from datetime import timedelta

from django.utils import timezone

from agents.db import in_db
from agents.errors import Invalid, Refused
from agents.models import OAuthLogin, ToolSource
from agents.stored_text import gettext, gettext_lazy
from agents.telemetry.redaction import redact
from agents.tools.integrations import mcp
from agents.tools.integrations.actions import source_named
from agents.tools.integrations.tools import (
    all_secrets_of,
    check_inject,
    server_of,
    store,
)

log = logging.getLogger(__name__)

BEGIN = 30.0  # seconds until the address for the browser has to be known
PATIENCE = 30.0  # seconds that the browser waits until its answer was used
LOOK = 0.2
LIFETIME = timedelta(minutes=10)
LONGEST_ANSWER = 8_000  # characters of a code
GONE = gettext_lazy("This sign-in is not under way any more: press Connect again.")

# Those that wait for a browser, by the name of the service.
_under_way: dict[str, asyncio.Task[None]] = {}


async def connect(name: str, redirect_uri: str, person: int, by: str) -> str:
    """The address to which the browser goes; nothing where the server lets us in as we are.

    Raises Refused.
    """
    source = await in_db(new_login, name, redirect_uri, person)
    begun: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    stop(name)
    # In a context of its own: it outlives the request.
    work = signing_in(source, redirect_uri, begun)
    task = asyncio.get_running_loop().create_task(work, context=Context())
    _under_way[name] = task
    task.add_done_callback(lambda _: _under_way.get(name) is task and _under_way.pop(name))
    either: set[asyncio.Future[str] | asyncio.Task[None]] = {begun, task}
    await asyncio.wait(either, timeout=BEGIN, return_when=asyncio.FIRST_COMPLETED)
    if begun.done():
        log.debug("signing in to service %s begun by %s", name, by)
        return begun.result()
    if not task.done():
        task.cancel()
        raise Invalid(gettext("{name} did not say in time where to sign in.").format(name=name))
    await in_db(source.refresh_from_db)
    if source.error:
        raise Invalid(source.error)
    return ""


def new_login(name: str, redirect_uri: str, person: int) -> ToolSource:
    """The row that the sign-in works with. What we are registered as is kept for this address."""
    source = source_named(name)
    if source.kind != ToolSource.Kind.MCP or not source.url:
        raise Invalid(gettext("Only an MCP server at an address can be signed in to."))
    login, _ = OAuthLogin.objects.get_or_create(source=source)
    if source.client_id:
        login.client = own_client(source, redirect_uri, login)
    elif redirect_uri not in (login.client.get("redirect_uris") or []):
        login.client = {}
    login.tokens, login.endpoints, login.expires_at, login.renewing_until = {}, {}, None, None
    login.state_hash, login.answer, login.failure = "", {}, ""
    login.started_by, login.started_at = person, timezone.now()
    login.save()
    return source


def own_client(source: ToolSource, redirect_uri: str, login: OAuthLogin) -> dict[str, object]:
    """As somebody registered us there. It stays with the server it was used at the first time."""
    own: dict[str, object] = {"client_id": source.client_id, "redirect_uris": [redirect_uri]}
    if source.client_secret:
        own["client_secret"] = source.client_secret
    if login.client.get("client_id") == source.client_id and "issuer" in login.client:
        own["issuer"] = login.client["issuer"]
    return own


async def signing_in(source: ToolSource, redirect_uri: str, begun: asyncio.Future[str]) -> None:
    """Until somebody has signed in, or it has failed; then the row of the source says which."""
    changes: dict[str, object]
    try:
        tools = await mcp.sign_in(server_of(source), redirect_uri, begun)
        check_inject(source, tools)
        changes = {"tools": tools, "error": ""}
    except Refused as refusal:
        changes = {"error": redact(str(refusal), await in_db(all_secrets_of, source))}
    await in_db(settle, source, changes)
    mcp.forget(source.name)


def settle(source: ToolSource, changes: dict[str, object]) -> None:
    login = OAuthLogin.objects.filter(source=source)
    row = login.first()
    if row and row.tokens:
        changes = {**changes, "sign_in": ToolSource.SignIn.CONNECTED}
    elif not changes["error"]:
        changes = {**changes, "sign_in": ""}
    elif not source.client_id:
        login.update(client={})  # what we were registered as may be what was wrong
    store(source, changes)
    login.update(state_hash="", answer={}, failure=str(changes["error"]))


async def bring_answer(state: str, answer: dict[str, str], person: int) -> ToolSource:
    """What the browser came back with, for whoever waits for it; the source as it is then.

    Only the person who pressed Connect brings it, once. Raises Invalid.
    """
    too_long = sum(map(len, answer.values())) > LONGEST_ANSWER
    source = None if too_long or not state else await in_db(taken, state, answer, person)
    if source is None:
        raise Invalid(str(GONE))
    end = asyncio.get_running_loop().time() + PATIENCE
    while asyncio.get_running_loop().time() < end:
        login = await in_db(OAuthLogin.objects.filter(source=source).first)
        if login is None or not login.state_hash:
            await in_db(source.refresh_from_db)
            return source
        await asyncio.sleep(LOOK)
    raise Invalid(
        gettext("{name} did not confirm the sign-in in time: press Connect again.").format(
            name=source.name
        )
    )


def taken(state: str, answer: dict[str, str], person: int) -> ToolSource | None:
    under_way = OAuthLogin.objects.filter(
        state_hash=mcp.state_hash(state),
        started_by=person,
        started_at__gt=timezone.now() - LIFETIME,
        answer={},
    )
    login = under_way.select_related("source").first()
    if login is None or not under_way.update(answer={**answer, "state": state}):
        return None
    return login.source


def stop(name: str) -> None:
    """Nobody waits for a browser any more."""
    if task := _under_way.pop(name, None):
        task.cancel()


async def disconnect(name: str, by: str) -> ToolSource:
    """The tokens are taken back where the server can do that, and forgotten here."""
    source = await in_db(source_named, name)
    stop(name)
    await mcp.sign_out(server_of(source))
    changes = {"sign_in": ToolSource.SignIn.WANTED, "error": ""}
    await in_db(OAuthLogin.objects.filter(source=source).delete)
    mcp.forget(name)
    log.debug("service %s disconnected by %s", name, by)
    return await in_db(store, source, changes)
