"""Answers to a request that broke or cannot be read; where the database was away, they say so."""

from __future__ import annotations

import sqlite3
import sys

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.views.defaults import server_error

from agents.db import AWAY

RETRY_AFTER = "2"  # seconds
DISK_FULL = "53100"  # PostgreSQL's code
UNREADABLE = "The server cannot read this request."
STRANGE_HOST = "This server does not go by that name: see PLANSIDE_ALLOWED_HOSTS."


def internal_error(request: HttpRequest) -> HttpResponse:
    """Django's handler500. The API says the same in its own shape."""
    error = sys.exc_info()[1]
    if not isinstance(error, AWAY):
        return server_error(request)
    if is_full(error):
        return HttpResponse(render_to_string("507.html"), status=507)
    page = render_to_string("503.html")
    return HttpResponse(page, status=503, headers={"Retry-After": RETRY_AFTER})


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler400: a form with too many fields, a body cut short, a host nobody named."""
    if isinstance(exception, DisallowedHost):
        return not_http(request.path, STRANGE_HOST)
    return not_http(request.path)


def not_http(path: str, sentence: str = UNREADABLE) -> HttpResponse:
    if path.startswith("/api/"):
        return JsonResponse({"detail": sentence}, status=400)
    return HttpResponse(sentence, "text/plain; charset=utf-8", 400)


def is_full(error: BaseException) -> bool:
    """Whether the database had no room for what was to be written, SQLite or PostgreSQL."""
    cause = error.__cause__
    code = getattr(cause, "sqlite_errorcode", None)
    return code == sqlite3.SQLITE_FULL or getattr(cause, "sqlstate", None) == DISK_FULL
