"""An MCP server that wants somebody to sign in: `Guarded(url).app()`, `python oauth_server.py PORT`.

It is its own authorization server, of the SDK's making. Whoever asks is let in without a question.
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

SECONDS = 3600
WAYS = ("client_secret_post", "client_secret_basic")


class Provider:
    """What it has given, and in `seen` what it was asked."""

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


class Guarded:
    """The server at this address, and what makes it another one in the middle of a test."""

    def __init__(self, url):
        self.url, self.provider = url, Provider()
        self.described = []
        self.calls_at_work = 0

    @property
    def seen(self):
        return self.provider.seen

    def app(self):
        server = MCPServer(
            "guarded",
            auth_server_provider=self.provider,
            auth=AuthSettings(
                issuer_url=self.url,
                resource_server_url=f"{self.url}/mcp",
                validate_token_resource=False,
                client_registration_options=ClientRegistrationOptions(enabled=True),
                revocation_options=RevocationOptions(enabled=True),
            ),
        )
        self.add_tools(server)
        build = routes.build_metadata

        def remembered(*args, **kwargs):
            self.described.append(build(*args, **kwargs))
            return self.described[-1]

        routes.build_metadata = remembered
        try:
            return server.streamable_http_app()
        finally:
            routes.build_metadata = build

    def add_tools(self, server):
        provider = self.provider

        @server.tool()
        async def secret(seconds: float = 0) -> str:
            """Only for who has signed in."""
            self.calls_at_work += 1
            await asyncio.sleep(seconds)
            self.calls_at_work -= 1
            return "The cake is in the oven."

        @server.tool()
        async def leak(ctx: Context, fails: bool = False) -> str:
            """Every token that is good."""
            await ctx.report_progress(1, 1, list(provider.access)[-1])
            if fails:
                raise ToolError(" ".join(provider.access))
            return " ".join([*provider.access, *provider.refresh])

    def forget(self, *what):
        """What it has given: access, refresh, client."""
        given = self.provider
        for each in what:
            {"access": given.access, "refresh": given.refresh, "client": given.clients}[
                each
            ].clear()

    def close(self, id, secret, back):
        """From now on it knows this client alone."""
        self.provider.is_closed = True
        self.provider.seen.append("closed")
        self.provider.clients[id] = OAuthClientInformationFull(
            client_id=id,
            client_secret=secret,
            redirect_uris=[back],
            token_endpoint_auth_method="client_secret_post",
        )

    def name_way(self, way):
        """How clients show who they are; others are not registered."""
        self.provider.ways = [way]
        for each in self.described:
            each.token_endpoint_auth_methods_supported = [way]


if __name__ == "__main__":
    import uvicorn

    port = int(sys.argv[1])
    uvicorn.run(Guarded(f"http://127.0.0.1:{port}").app(), port=port, log_level="critical")
