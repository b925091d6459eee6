"""An MCP server that wants somebody to sign in: `python oauth_server.py PORT`.

It is its own authorization server, of the SDK's making. Whoever asks is let in without a question.
/control/ways?named=none says how clients show who they are; others are not registered.
/control/forget?what=access (or refresh, or client) makes it forget
what it has given, /control/seen says what it was asked.
"""

import asyncio
import secrets
import sys
import time

from mcp.server import MCPServer
from mcp.server.auth import routes
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    RefreshToken,
    RegistrationError,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from starlette.responses import JSONResponse

PORT, SECONDS = int(sys.argv[1]), 3600
URL = f"http://127.0.0.1:{PORT}"
WAYS = ("client_secret_post", "client_secret_basic")
described = []
build_metadata = routes.build_metadata


def remembered_metadata(*args, **kwargs):
    described.append(build_metadata(*args, **kwargs))
    return described[-1]


routes.build_metadata = remembered_metadata


class Provider:
    def __init__(self):
        self.clients, self.codes, self.access, self.refresh = {}, {}, {}, {}
        self.seen, self.is_closed, self.ways = [], False, list(WAYS)

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        if self.is_closed:
            raise RegistrationError("invalid_client_metadata", "Ask an administrator.")
        if client_info.token_endpoint_auth_method not in self.ways:
            raise RegistrationError("invalid_client_metadata", "Not a way that is supported.")
        self.seen.append("register")
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        self.seen.append("authorize")
        code = secrets.token_urlsafe()
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client, authorization_code):
        self.seen.append("exchange")
        del self.codes[authorization_code.code]
        return self.issue(client, authorization_code.scopes)

    async def load_refresh_token(self, client, refresh_token):
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        self.seen.append("refresh")
        await asyncio.sleep(0.3)
        self.refresh.pop(refresh_token.token, None)
        return self.issue(client, scopes)

    def issue(self, client, scopes):
        access, refresh = (f"{kind}-{secrets.token_urlsafe()}" for kind in ("access", "refresh"))
        known = {"client_id": client.client_id, "scopes": scopes}
        self.access[access] = AccessToken(
            token=access, expires_at=int(time.time() + SECONDS), **known
        )
        self.refresh[refresh] = RefreshToken(token=refresh, **known)
        return OAuthToken(access_token=access, refresh_token=refresh, expires_in=SECONDS)

    async def load_access_token(self, token):
        found = self.access.get(token)
        return found if found and found.expires_at > time.time() else None

    async def revoke_token(self, token):
        self.seen.append("revoke")
        self.access.pop(token.token, None)
        self.refresh.pop(token.token, None)


provider = Provider()
server = MCPServer(
    "guarded",
    auth_server_provider=provider,
    auth=AuthSettings(
        issuer_url=URL,
        resource_server_url=f"{URL}/mcp",
        validate_token_resource=False,
        client_registration_options=ClientRegistrationOptions(enabled=True),
        revocation_options=RevocationOptions(enabled=True),
    ),
)


@server.tool()
async def secret(seconds: float = 0) -> str:
    """Only for who has signed in."""
    await asyncio.sleep(seconds)
    return "The cake is in the oven."


@server.tool()
async def leak(ctx: Context, fails: bool = False) -> str:
    """Every token that is good."""
    await ctx.report_progress(1, 1, list(provider.access)[-1])
    if fails:
        raise ToolError(" ".join(provider.access))
    return " ".join([*provider.access, *provider.refresh])


@server.custom_route("/control/closed", methods=["GET"])
async def closed(request):
    """From now on it knows this client alone; without one, it registers everybody again."""
    wanted = request.query_params
    provider.is_closed = "id" in wanted
    provider.clients.clear()
    provider.seen.append("closed")
    if provider.is_closed:
        provider.clients[wanted["id"]] = OAuthClientInformationFull(
            client_id=wanted["id"],
            client_secret=wanted["secret"],
            redirect_uris=[wanted["back"]],
            token_endpoint_auth_method="client_secret_post",
        )
    return JSONResponse([])


@server.custom_route("/control/ways", methods=["GET"])
async def ways(request):
    provider.ways = request.query_params.getlist("named") or list(WAYS)
    provider.clients.clear()
    for each in described:
        each.token_endpoint_auth_methods_supported = provider.ways
    return JSONResponse([])


@server.custom_route("/control/seen", methods=["GET"])
async def seen(request):
    return JSONResponse(provider.seen)


@server.custom_route("/control/forget", methods=["GET"])
async def forget(request):
    what = request.query_params["what"]
    {"access": provider.access, "refresh": provider.refresh, "client": provider.clients}[
        what
    ].clear()
    return JSONResponse([])


if __name__ == "__main__":
    server.run("streamable-http", port=PORT)
