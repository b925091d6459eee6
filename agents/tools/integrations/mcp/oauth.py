"""Signing in to an MCP server: OAuth 2.1 by the SDK's client, with what it learns kept in a row.

The SDK does it in one go: it finds out where to sign in, registers us, hands out the address for
the browser, waits for the answer, and gets the tokens. So a task of the process in which a person
pressed Connect waits, while the answer may come to another process: it goes through the row.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from datetime import UTC, datetime, timedelta
from typing import Literal
from urllib.parse import parse_qs

import httpx2
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_noop
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.oauth2 import OAuthContext
from mcp.client.auth.utils import create_client_registration_request
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, ValidationError

from agents.db import in_db
from agents.models import OAuthLogin, ToolSource
from agents.normalization import split_url
from agents.telemetry.redaction import register_passing_secrets
from agents.tools.integrations.mcp import Server, state_hash
from agents.tools.integrations.mcp.failures import ServerFailed, SignInWanted, one_line
from agents.tools.integrations.mcp.remote import Remote

SIGN_IN_SECONDS = 600.0  # that a person has
LOOK = 0.3  # seconds between two looks at the row
MARGIN = 10.0  # seconds before the end at which tokens are renewed
RENEWAL = timedelta(seconds=20)
TOKENS = ("refresh_token", "access_token")
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
ENDED = gettext_noop("its sign-in has ended: press Connect at the service in Settings > Tools")


def sources(server: Server) -> QuerySet[ToolSource]:
    """Its row, if it is still registered: another server may have its name by now."""
    return ToolSource.objects.filter(name=server.name, url=server.url)


def logins(server: Server) -> QuerySet[OAuthLogin]:
    return OAuthLogin.objects.filter(source__in=sources(server))


class Storage:
    """Where the SDK keeps what it has got (its TokenStorage): the row of the source."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.provider: OAuthClientProvider | None = None

    async def row(self) -> OAuthLogin | None:
        return await in_db(logins(self.server).first)

    async def get_tokens(self) -> OAuthToken | None:
        row = await self.row()
        return OAuthToken.model_validate(row.tokens) if row and row.tokens else None

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        row = await self.row()
        return OAuthClientInformationFull.model_validate(row.client) if row and row.client else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        await self.update(client=client_info.model_dump(mode="json", exclude_none=True))

    async def set_tokens(self, tokens: OAuthToken) -> None:
        register_passing_secrets((tokens.access_token, tokens.refresh_token or ""))
        expires = None
        if tokens.expires_in is not None:
            expires = timezone.now() + timedelta(seconds=min(tokens.expires_in, 10**9))
        await self.update(
            tokens=tokens.model_dump(mode="json", exclude_none=True),
            expires_at=expires,
            renewing_until=None,
            endpoints=self.endpoints(),
        )

    def endpoints(self) -> dict[str, object]:
        """What was found out about the server, needed again to renew tokens after a restart."""
        assert self.provider
        context = self.provider.context
        described = {
            "server": context.oauth_metadata,
            "resource": context.protected_resource_metadata,
        }
        found: dict[str, object] = {
            name: each.model_dump(mode="json", exclude_none=True)
            for name, each in described.items()
            if each is not None
        }
        return {**found, "issuer": context.auth_server_url}

    async def update(self, **changes: object) -> None:
        await in_db(logins(self.server).update, **changes)


class StoredSignIn(OAuthClientProvider):
    """Shows the stored token, and renews it. Where that fails, somebody has to sign in again."""

    def __init__(self, server: Server) -> None:
        self.row = Storage(server)
        super().__init__(server.url, client_metadata([]), self.row, self.refuse, self.wait)
        self.row.provider = self

    async def refuse(self, address: str) -> None:
        ended = {"sign_in": ToolSource.SignIn.ENDED, "updated_at": timezone.now()}
        await in_db(sources(self.row.server).update, **ended)
        raise SignInWanted(ENDED)

    async def wait(self) -> AuthorizationCodeResult:
        """The SDK asks for it before it asks where to send the browser; nobody is waited for."""
        raise SignInWanted(ENDED)

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Past the SDK's lock, by which one slow answer would hold up all other calls."""
        await self.load()
        if self.context.is_token_valid():
            self._add_auth_header(request)
            response = yield request
            if response.status_code != 401:
                return
            await self.load(is_refused=True)  # it was taken back before its time
        flow = super().async_auth_flow(request)
        with suppress(StopAsyncIteration):
            outgoing = await anext(flow)
            while True:
                response = yield outgoing
                if outgoing is not request and response.status_code >= 500:
                    raise ServerFailed(f"its sign-in does not work now ({response.status_code})")
                outgoing = await flow.asend(response)

    async def load(self, *, is_refused: bool = False) -> None:
        """The tokens as they are now: another process may have renewed them, or be about to."""
        context = self.context
        soon = context.token_expiry_time and time.time() > context.token_expiry_time - MARGIN
        if context.current_tokens and not (soon or is_refused):
            return
        before = context.current_tokens and context.current_tokens.access_token
        end = time.monotonic() + RENEWAL.total_seconds()
        while row := await self.row.row():
            take(context, row)
            is_new = context.current_tokens and context.current_tokens.access_token != before
            expires = context.token_expiry_time
            is_old = (is_refused and not is_new) or (expires and time.time() > expires - MARGIN)
            if not is_old or not context.can_refresh_token():
                return
            if await in_db(claim_renewal, row) or time.monotonic() > end:
                context.token_expiry_time = 1.0
                return
            await asyncio.sleep(LOOK)


class NewSignIn(OAuthClientProvider):
    """A person signs in: `address` is where the browser goes, and the row brings the answer."""

    def __init__(self, server: Server, redirect_uri: str, begun: asyncio.Future[str]) -> None:
        self.row, self.begun = Storage(server), begun
        super().__init__(
            server.url, client_metadata([redirect_uri]), self.row, self.hand_out, self.wait
        )
        self.row.provider = self

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """The SDK registers us without a look at the ways of sign-in that the server names."""
        async with aclosing(super().async_auth_flow(request)) as flow:
            with suppress(StopAsyncIteration):
                outgoing = await anext(flow)
                while True:
                    is_own = outgoing is not request and outgoing.method == "POST"
                    if is_own and self.context.client_info is None:
                        outgoing = self.registration()
                    outgoing = await flow.asend((yield outgoing))

    def registration(self) -> httpx2.Request:
        context = self.context
        context.client_metadata.token_endpoint_auth_method = way_to_register(context.oauth_metadata)
        base = context.get_authorization_base_url(context.server_url)
        return create_client_registration_request(
            context.oauth_metadata, context.client_metadata, base
        )

    async def hand_out(self, address: str) -> None:
        parts = split_url(address)
        if parts.scheme not in ("http", "https"):
            raise ServerFailed(gettext_noop("its sign-in is no page of the web"))
        [state] = parse_qs(parts.query)["state"]
        now = timezone.now()
        await self.row.update(
            state_hash=state_hash(state),
            started_at=now,
            answer={},
            failure="",
            client=self.identified_client(),
        )
        if not self.begun.done():
            self.begun.set_result(address)

    def identified_client(self) -> dict[str, object]:
        """With how it shows its secret, and with the server that it is for: shown to no other."""
        context, client = self.context, self.context.client_info
        assert client
        if client.token_endpoint_auth_method is None:
            client.token_endpoint_auth_method = way_to_show_secret(client, context.oauth_metadata)
        client.issuer = client.issuer or self._expected_issuer()
        return client.model_dump(mode="json", exclude_none=True)

    async def wait(self) -> AuthorizationCodeResult:
        """Until the browser comes back. Raises ServerFailed."""
        end = time.monotonic() + SIGN_IN_SECONDS
        while time.monotonic() < end and (row := await self.row.row()):
            if answer := row.answer:
                if error := answer.get("error"):
                    raise ServerFailed(f"its sign-in was not completed ({one_line(str(error))})")
                return AuthorizationCodeResult.model_validate(answer)
            await asyncio.sleep(LOOK)
        raise ServerFailed(gettext_noop("nobody signed in in time"))


def client_metadata(redirect_uris: list[str]) -> OAuthClientMetadata:
    uris = [AnyUrl(uri) for uri in redirect_uris or ["http://localhost/"]]
    is_local = all(uri.host in LOOPBACK for uri in uris)
    return OAuthClientMetadata(
        client_name="Planside",
        redirect_uris=uris,
        token_endpoint_auth_method="client_secret_post",
        application_type="native" if is_local else "web",
    )


def way_to_register(
    server: OAuthMetadata | None,
) -> Literal["client_secret_post", "client_secret_basic", "none"]:
    """One that the server names: with `none` we are a public client, which PKCE protects alone."""
    named = (server and server.token_endpoint_auth_methods_supported) or []
    if "client_secret_post" not in named and "client_secret_basic" in named:
        return "client_secret_basic"
    return "none" if "none" in named and "client_secret_post" not in named else "client_secret_post"


def way_to_show_secret(
    client: OAuthClientInformationFull, server: OAuthMetadata | None
) -> Literal["none", "client_secret_post", "client_secret_basic"]:
    """For a client that somebody registered by hand. A server that says nothing takes the header
    (RFC 8414, section 2)."""
    if not client.client_secret:
        return "none"
    named = (server and server.token_endpoint_auth_methods_supported) or []
    return "client_secret_post" if "client_secret_post" in named else "client_secret_basic"


def take(context: OAuthContext, row: OAuthLogin) -> None:
    """What the row says into what the SDK works with."""
    with suppress(ValidationError):
        context.current_tokens = OAuthToken.model_validate(row.tokens) if row.tokens else None
        register_passing_secrets(row.tokens.get(kind, "") for kind in TOKENS)
        context.client_info = OAuthClientInformationFull.model_validate(row.client)
        context.token_expiry_time = row.expires_at.timestamp() if row.expires_at else None
        known = row.endpoints
        context.auth_server_url = known.get("issuer")
        if server := known.get("server"):
            context.oauth_metadata = OAuthMetadata.model_validate(server)
        if resource := known.get("resource"):
            context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(resource)


def claim_renewal(row: OAuthLogin) -> bool:
    """Whether we are the one to renew: a refresh token used twice may end the sign-in."""
    now = datetime.now(UTC)
    free = Q(renewing_until=None) | Q(renewing_until__lt=now)
    same = OAuthLogin.objects.filter(free, pk=row.pk, tokens=row.tokens)
    return bool(same.update(renewing_until=now + RENEWAL))


async def revoke(server: Server) -> None:
    """Tell the server that the tokens are no longer used, if it wants to know that."""
    row = await in_db(logins(server).first)
    endpoint = (row.endpoints.get("server") or {}).get("revocation_endpoint") if row else None
    if not row or not endpoint:
        return
    sign_in = StoredSignIn(server)
    take(sign_in.context, row)
    async with Remote(server).client() as client:
        for kind in TOKENS:
            if token := row.tokens.get(kind):
                form, headers = sign_in.context.prepare_token_auth(
                    {"token": token, "token_type_hint": kind, "client_id": row.client["client_id"]},
                    {},
                )
                # Made apart from the client, whose headers are for the server alone.
                request = httpx2.Request("POST", endpoint, data=form, headers=headers)
                with suppress(httpx2.HTTPError, ServerFailed):
                    await client.send(request)
