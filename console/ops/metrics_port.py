"""/metrics of a worker, which serves no pages: on PLANSIDE_METRICS_PORT, where that is set."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server
from wsgiref.types import StartResponse, WSGIEnvironment

from django.conf import settings
from django.db import connection
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from agents.errors import Conflict
from agents.telemetry.metrics import REGISTRY
from console.auth.tokens import bearer_of
from console.ops.event_loop_lag import watch_this_loop
from console.ops.metrics import REFUSED, bearer_in, is_admin, is_key, is_open


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def open_port() -> None:
    """On a thread of its own, from within the loop that it is to watch."""
    watch_this_loop()
    if not settings.PLANSIDE_METRICS_PORT:
        return
    host, port = settings.PLANSIDE_HOST, settings.PLANSIDE_METRICS_PORT
    try:
        server = make_server(host, port, application, Server, Quiet)
    except OSError as error:
        raise Conflict(f"PLANSIDE_METRICS_PORT {port} cannot be used: {error.strerror}.") from None
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    try:
        status, kind, body = answer(environ)
    finally:
        connection.close()  # of this request's thread
    start_response(status, [("Content-Type", kind), ("Content-Length", str(len(body)))])
    return [body]


def answer(environ: WSGIEnvironment) -> tuple[str, str, bytes]:
    if environ.get("PATH_INFO") != "/metrics":
        return "404 Not Found", "text/plain", b"Here is /metrics and nothing else.\n"
    token = bearer_in(environ.get("HTTP_AUTHORIZATION", ""))
    if is_open() or is_key(token) or (token and is_admin(bearer_of(token))):
        return "200 OK", CONTENT_TYPE_LATEST, generate_latest(REGISTRY)
    return "401 Unauthorized", "text/plain", REFUSED.encode()
