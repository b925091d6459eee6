"""A socket is opened by our own pages alone.

A browser sends the cookie along whichever page opens the socket, and cookies know no ports: what
another program serves on this machine is another origin, and so is every other site.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http.request import split_domain_port, validate_host


class SameOrigin:
    """Lets a socket through whose Origin is the host it asks, which has to be one of ours."""

    def __init__(self, application: Any) -> None:
        self.application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        allowed = is_ours(headers.get(b"origin", ""), headers.get(b"host", ""))
        application = self.application if allowed else WebsocketDenier()
        await application(scope, receive, send)


def is_ours(origin: str, host: str) -> bool:
    domain, _ = split_domain_port(host)
    if not domain or not validate_host(domain, settings.ALLOWED_HOSTS):
        return False
    if origin in settings.CSRF_TRUSTED_ORIGINS:
        return True
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()
