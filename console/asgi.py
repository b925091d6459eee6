"""The two protocols: pages and API over HTTP, live updates over WebSocket."""

from __future__ import annotations

import os
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
django.setup()

from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import WebsocketDenier  # noqa: E402
from django.urls import path, re_path  # noqa: E402

from console.live.consumers import Conversation, SameOrigin  # noqa: E402
from console.ops.health import Probed  # noqa: E402
from console.ops.metrics import Counted  # noqa: E402
from console.serving.handler import PooledASGIHandler  # noqa: E402

consumer: Any = Conversation.as_asgi()
routes: list[Any] = [path("ws/conversations/<int:pk>/", consumer)]
# Without the last one a wrong address is an error in the log.
elsewhere: Any = WebsocketDenier.as_asgi()
live = URLRouter([*routes, re_path("", elsewhere)])
application = ProtocolTypeRouter(
    {
        "http": Probed(PooledASGIHandler()),
        "websocket": Counted(SameOrigin(AuthMiddlewareStack(live))),
    }
)
