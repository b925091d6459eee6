"""The page of a request that broke; where the database was away, it says so and when to return."""

from __future__ import annotations

import sys

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.defaults import server_error

from agents.database import AWAY

RETRY_AFTER = "2"  # seconds


def broke(request: HttpRequest) -> HttpResponse:
    """Django's handler500. The API says the same in its own shape."""
    if not isinstance(sys.exc_info()[1], AWAY):
        return server_error(request)
    page = render_to_string("503.html")
    return HttpResponse(page, status=503, headers={"Retry-After": RETRY_AFTER})
