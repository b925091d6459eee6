"""/metrics: what this process counts, and what the rows say, in Prometheus' text format.

Counts are of one process and begin at 0 with it, so each process is asked and rates are added up.
What is read from the rows (open turns, the queue, plans) is the same wherever it is asked: take
the maximum, not the sum. It holds numbers, and no word that anybody wrote.

The server answers on its own address, a worker on PLANSIDE_METRICS_PORT, where that is set.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
from collections.abc import Awaitable, Callable, Iterable
from time import monotonic
from wsgiref.types import StartResponse, WSGIEnvironment

from django.conf import settings
from django.contrib.auth.models import User
from django.db import DatabaseError, connection
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import path
from django.views.decorators.http import require_safe
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Gauge,
    Histogram,
    generate_latest,
    start_http_server,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from agents.errors import Conflict
from agents.queue.claims import backlog
from agents.telemetry.metrics import REGISTRY
from console.auth.tokens import bearer_of
from plans.models import Plan

PLANS_KEPT = 60.0  # seconds; counting plans reads every one of them
LONGEST_LAG = 2.0  # seconds; an event loop that is later than that counts as that late
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
REFUSED = (
    "Sign in as an admin, or send Authorization: Bearer with PLANSIDE_METRICS_TOKEN or an"
    " admin's token.\n"
)

log = logging.getLogger(__name__)

open_sockets = Gauge("planside_open_sockets", "Pages that listen live.", registry=REGISTRY)
seconds_of_requests = Histogram(
    "planside_http_request_seconds",
    "From a request until its answer begins, by the route's pattern.",
    ["method", "route", "status"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10),
    registry=REGISTRY,
)


# Who may read them.


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    document = document_for(request.headers.get("Authorization", ""), request)
    if document is None:
        return HttpResponse(REFUSED, status=401, headers={"WWW-Authenticate": "Bearer"})
    return HttpResponse(document, content_type=CONTENT_TYPE_LATEST)


def document_for(authorization: str, request: HttpRequest | None = None) -> bytes | None:
    """All numbers, for whom they are meant; None for others.

    Whoever sends a token is its person; only without one, whoever is signed in.
    """
    scheme, _, token = authorization.partition(" ")
    token = token.strip() if scheme.lower() == "bearer" else ""
    key = settings.PLANSIDE_METRICS_TOKEN
    has_key = bool(key) and secrets.compare_digest(token.encode(), key.encode())
    if not settings.PLANSIDE_IS_LOCAL and not has_key:
        person = bearer_of(token) if token else request.user if request else None
        if not (isinstance(person, User) and person.is_active and person.is_superuser):
            return None
    return generate_latest(REGISTRY)


def open_port() -> None:
    """A worker's /metrics, on a thread of its own; called within the loop that it is to watch."""
    loop_lag.watch()
    if not settings.PLANSIDE_METRICS_PORT:
        return
    host, port = settings.PLANSIDE_HOST, settings.PLANSIDE_METRICS_PORT
    try:
        # It begins at once and lets everybody in: with nothing to show, until it asks for a token.
        server, _ = start_http_server(port, host, CollectorRegistry())
    except OSError as error:
        raise Conflict(f"PLANSIDE_METRICS_PORT {port} cannot be used: {error.strerror}.") from None
    server.set_app(answer_on_port)


def answer_on_port(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    status, kind, body = "404 Not Found", "text/plain", b"Here is /metrics and nothing else.\n"
    if environ.get("PATH_INFO") == "/metrics":
        try:
            document = document_for(environ.get("HTTP_AUTHORIZATION", ""))
        finally:
            connection.close()  # of this request's thread
        status, kind, body = "200 OK", CONTENT_TYPE_LATEST, document or b""
        if document is None:
            status, kind, body = "401 Unauthorized", "text/plain", REFUSED.encode()
    start_response(status, [("Content-Type", kind), ("Content-Length", str(len(body)))])
    return [body]


# What this process counts: its requests, its sockets, how late its event loop is.


def measured(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """The outermost middleware: each request is timed, and at level debug a line in the log."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        began = monotonic()
        response = get_response(request)
        seconds = monotonic() - began
        # The pattern, never the path: a path is as many labels as there are conversations.
        route = "static" if request.path.startswith("/static/") else "none"
        if request.resolver_match is not None:
            route = f"/{request.resolver_match.route}"
        method = request.method if request.method in METHODS else "other"
        seconds_of_requests.labels(method, route, str(response.status_code)).observe(seconds)
        if log.isEnabledFor(logging.DEBUG):
            user = getattr(request, "user", None)
            # Without the query, which may hold a one-time link or what somebody searched for.
            fields = {
                "method": request.method,
                "path": request.path,
                "status": response.status_code,
                "user": user.pk if user is not None else None,
                "ms": round(seconds * 1000, 1),
            }
            log.debug("request", extra=fields)
        return response

    return middleware


class Counted:
    """The sockets that are open, in front of what serves them."""

    def __init__(self, live: Callable[..., Awaitable[None]]) -> None:
        self.live = live

    async def __call__(self, scope: object, receive: object, send: object) -> None:
        with open_sockets.track_inprogress():
            await self.live(scope, receive, send)


class LoopLag(Collector):
    """What every page, socket and stream of this process waits for.

    Measured when it is asked for, from a thread beside the loop.
    """

    loop: asyncio.AbstractEventLoop | None = None

    def watch(self) -> None:
        """From now on the loop that runs this."""
        self.loop = asyncio.get_running_loop()

    def collect(self) -> Iterable[Metric]:
        if self.loop is None or self.loop.is_closed():
            return []
        began, reached = monotonic(), threading.Event()
        self.loop.call_soon_threadsafe(reached.set)
        reached.wait(LONGEST_LAG)
        words = "From handing something to the event loop until it ran, just now."
        return [gauge("planside_loop_lag_seconds", words, monotonic() - began)]


# What the rows say.


class Rows(Collector):
    """The numbers that all processes share. While the database is away it says that and no more."""

    def __init__(self) -> None:
        self.plans: list[tuple[str, str, int]] = []
        self.counted_at = -PLANS_KEPT

    def collect(self) -> Iterable[Metric]:
        words = "Whether the database answers."
        try:
            shared = list(self.turns())
            if monotonic() - self.counted_at >= PLANS_KEPT:
                rows = Plan.objects.order_by().values_list("state", "run").annotate(Count("pk"))
                self.plans, self.counted_at = list(rows), monotonic()
        except DatabaseError:
            return [gauge("planside_database_up", words, 0)]
        plans = GaugeMetricFamily(
            "planside_plans", f"Plans; counted every {PLANS_KEPT:.0f} s.", labels=["state", "run"]
        )
        for state, run, count in self.plans:
            plans.add_metric([state, run], count)
        return [gauge("planside_database_up", words, 1), *shared, plans]

    def turns(self) -> Iterable[Metric]:
        now = backlog()
        turns = GaugeMetricFamily(
            "planside_open_turns", "Turns that are not over.", labels=["state", "waiting_for"]
        )
        for (state, what), count in sorted(now.open.items()):
            turns.add_metric([state, what], count)
        yield turns
        yield gauge("planside_due_turns", "Turns that could start now.", now.due)
        age = "How long the one has waited that could start and has waited longest."
        yield gauge("planside_oldest_due_turn_seconds", age, now.oldest_due)
        lost = "Running turns whose worker has let the lease run out."
        yield gauge("planside_abandoned_turns", lost, now.abandoned)
        most = "Running turns of the person who has most."
        yield gauge("planside_busiest_person_turns", most, now.busiest)


def gauge(name: str, words: str, value: float) -> Metric:
    return GaugeMetricFamily(name, words, value=value)


loop_lag = LoopLag()
REGISTRY.register(loop_lag)
REGISTRY.register(Rows())

urlpatterns = [path("metrics", metrics)]
