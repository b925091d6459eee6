"""Answers to a request that broke or cannot be read."""

from __future__ import annotations

import sqlite3
import sys

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import REASON_BAD_ORIGIN
from django.template.loader import render_to_string
from django.utils.translation import gettext
from django.views.defaults import server_error

from agents.db import AWAY
from agents.tools.confinement import NO_ROOM
from console.middleware import LOAD_AGAIN, page_of

RETRY_AFTER = "2"  # seconds
DISK_FULL = "53100"  # PostgreSQL's code
BAD_ORIGIN = REASON_BAD_ORIGIN.partition("%")[0]


def internal_error(request: HttpRequest) -> HttpResponse:
    """Django's handler500; where a disk was full, or the database away, the page says so.

    The API says the same in its own shape.
    """
    error = sys.exc_info()[1]
    again = {"again": page_of(request)}
    if error is not None and is_disk_full(error):
        return HttpResponse(render_to_string("507.html", again), status=507)
    if not isinstance(error, AWAY):
        return server_error(request)
    page = render_to_string("503.html", again)
    return HttpResponse(page, status=503, headers={"Retry-After": RETRY_AFTER})


def is_disk_full(error: BaseException) -> bool:
    """Whether a file could not be written for want of room, or a row of either database."""
    is_full = isinstance(error, OSError) and error.errno in NO_ROOM
    cause = error.__cause__
    of_sqlite = getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
    return is_full or of_sqlite or getattr(cause, "sqlstate", None) == DISK_FULL


def token_refused(request: HttpRequest, reason: str = "") -> HttpResponse:
    """settings.CSRF_FAILURE_VIEW: a sign-in makes a new token, older pages have the old one; or the
    browser knows the server by another name, or port, than it does itself.
    """
    again = {"again": page_of(request)}
    if reason.startswith(BAD_ORIGIN):
        named = again | {"origin": request.headers.get("Origin", "")[:100]}
        return HttpResponse(render_to_string("403_origin.html", named), status=403)
    return HttpResponse(render_to_string("403_csrf.html", again), status=403, headers=LOAD_AGAIN)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler400: a form with too many fields, a body cut short, a host nobody named."""
    if isinstance(exception, DisallowedHost):
        return unreadable(
            request.path,
            gettext("This server does not go by that name: see PLANSIDE_ALLOWED_HOSTS."),
        )
    return unreadable(request.path)


def unreadable(path: str, sentence: str = "") -> HttpResponse:
    sentence = sentence or gettext("The server cannot read this request.")
    if path.startswith("/api/"):
        return JsonResponse({"detail": sentence}, status=400)
    return HttpResponse(sentence, "text/plain; charset=utf-8", 400)
