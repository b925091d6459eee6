"""Each request, counted and timed under its route; a line in the log at level debug."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from prometheus_client import Histogram

from agents.telemetry.metrics import REGISTRY

View = Callable[[HttpRequest], HttpResponseBase]

log = logging.getLogger(__name__)

seconds_of_requests = Histogram(
    "planside_http_request_seconds",
    "From a request until its answer begins, by the route's pattern.",
    ["method", "route", "status"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10),
    registry=REGISTRY,
)
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def measured(get_response: View) -> View:
    """The outermost middleware."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        began = monotonic()
        response = get_response(request)
        seconds = monotonic() - began
        method = request.method if request.method in METHODS else "other"
        status = str(response.status_code)
        seconds_of_requests.labels(method, route_of(request), status).observe(seconds)
        if log.isEnabledFor(logging.DEBUG):
            log_request(request, response, seconds)
        return response

    return middleware


def route_of(request: HttpRequest) -> str:
    """The pattern, never the path: a path is as many labels as there are conversations."""
    match = request.resolver_match
    if match is not None:
        return f"/{match.route}"
    return "static" if request.path.startswith("/static/") else "none"


def log_request(request: HttpRequest, response: HttpResponseBase, seconds: float) -> None:
    """Without the query, which may hold a one-time link or what somebody searched for."""
    user = getattr(request, "user", None)
    said = {
        "method": request.method,
        "path": request.path,
        "status": response.status_code,
        "user": user.pk if user is not None else None,
        "ms": round(seconds * 1000, 1),
    }
    log.debug("request", extra=said)
