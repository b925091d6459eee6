"""The page of a request that broke; where the database was away or full, it says so."""

from __future__ import annotations

import sqlite3
import sys

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.defaults import server_error

from agents.database import AWAY

RETRY_AFTER = "2"  # seconds
DISK_FULL = "53100"  # PostgreSQL's code


def broke(request: HttpRequest) -> HttpResponse:
    """Django's handler500. The API says the same in its own shape."""
    error = sys.exc_info()[1]
    if not isinstance(error, AWAY):
        return server_error(request)
    if is_full(error):
        return HttpResponse(render_to_string("507.html"), status=507)
    page = render_to_string("503.html")
    return HttpResponse(page, status=503, headers={"Retry-After": RETRY_AFTER})


def is_full(error: BaseException) -> bool:
    """Whether the database had no room for what was to be written, SQLite or PostgreSQL."""
    cause = error.__cause__
    code = getattr(cause, "sqlite_errorcode", None)
    return code == sqlite3.SQLITE_FULL or getattr(cause, "sqlstate", None) == DISK_FULL
