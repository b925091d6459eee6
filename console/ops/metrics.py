"""/metrics: what this process counts, and what the rows say, in Prometheus' text format.

Counts are of one process and begin at 0 with it, so each process is asked and rates are added up.
What is read from the rows (open turns, the queue, plans) is the same wherever it is asked: take
the maximum, not the sum. It holds numbers, and no word that anybody wrote.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from time import monotonic

from django.conf import settings
from django.contrib.auth.models import User
from django.db import DatabaseError
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, Gauge, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from agents.queue.backlog import backlog
from agents.telemetry.metrics import REGISTRY
from console.auth.tokens import bearer_of
from plans.models import Plan

PLANS_KEPT = 60.0  # seconds; counting plans reads every one of them
REFUSED = (
    "Sign in as an admin, or send Authorization: Bearer with PLANSIDE_METRICS_TOKEN or an"
    " admin's token.\n"
)

open_sockets = Gauge("planside_open_sockets", "Pages that listen live.", registry=REGISTRY)


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    token = bearer_in(request.headers.get("Authorization", ""))
    if is_open() or is_key(token) or is_admin(person(request, token)):
        return HttpResponse(generate_latest(REGISTRY), content_type=CONTENT_TYPE_LATEST)
    return HttpResponse(REFUSED, status=401, headers={"WWW-Authenticate": "Bearer"})


def is_open() -> bool:
    """On one's own machine; named hosts mean that others can reach it, by a proxy if need be."""
    return settings.PLANSIDE_IS_LOCAL and not settings.PLANSIDE_ALLOWED_HOSTS


def bearer_in(header: str) -> str:
    scheme, _, token = header.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def is_key(token: str) -> bool:
    key = settings.PLANSIDE_METRICS_TOKEN
    return bool(key) and secrets.compare_digest(token.encode(), key.encode())


def person(request: HttpRequest, token: str) -> User | None:
    """Whoever sent the token; only without one, whoever is signed in."""
    if token:
        return bearer_of(token)
    return request.user if isinstance(request.user, User) else None


def is_admin(user: User | None) -> bool:
    return user is not None and user.is_active and user.is_superuser


class Rows(Collector):
    """The numbers that all processes share. While the database is away it says that and no more."""

    def __init__(self) -> None:
        self.plans: list[tuple[str, str, int]] = []
        self.counted_at = -PLANS_KEPT

    def collect(self) -> Iterable[Metric]:
        try:
            told = [*queue(), self.count_plans()]
        except DatabaseError:
            return [gauge("planside_database_up", "Whether the database answers.", 0)]
        return [gauge("planside_database_up", "Whether the database answers.", 1), *told]

    def count_plans(self) -> Metric:
        if monotonic() - self.counted_at >= PLANS_KEPT:
            rows = Plan.objects.order_by().values_list("state", "run").annotate(Count("pk"))
            self.plans, self.counted_at = list(rows), monotonic()
        told = GaugeMetricFamily(
            "planside_plans", f"Plans; counted every {PLANS_KEPT:.0f} s.", labels=["state", "run"]
        )
        for state, run, count in self.plans:
            told.add_metric([state, run], count)
        return told


def queue() -> Iterable[Metric]:
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


def gauge(name: str, words: str, value: float) -> Metric:
    return GaugeMetricFamily(name, words, value=value)


REGISTRY.register(Rows())

urlpatterns = [path("metrics", metrics)]
