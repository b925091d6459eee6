"""The two protocols: pages and API over HTTP, live updates over WebSocket."""

from __future__ import annotations

import os
from typing import Any

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
pages = get_asgi_application()

from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import AllowedHostsOriginValidator  # noqa: E402
from django.urls import path  # noqa: E402

from console.consumers import Conversation  # noqa: E402

consumer: Any = Conversation.as_asgi()
routes: list[Any] = [path("ws/conversations/<int:pk>/", consumer)]
live = URLRouter(routes)
application = ProtocolTypeRouter(
    {"http": pages, "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(live))}
)
