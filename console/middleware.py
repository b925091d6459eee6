"""Two gates on every request: what a page may load, and who may see it."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

View = Callable[[HttpRequest], HttpResponse]

POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "frame-ancestors 'none'; form-action 'self'"
)
OPEN_PATHS = ("/signin/", "/static/", "/api/", "/healthz", "/readyz")


def content_security_policy(get_response: View) -> View:
    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers.setdefault("Content-Security-Policy", POLICY)
        return response

    return middleware


def session_required(get_response: View) -> View:
    """Pages need a session; the API answers 401 by itself."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated or request.path.startswith(OPEN_PATHS):
            return get_response(request)
        return redirect(f"/signin/?next={quote(request.get_full_path())}")

    return middleware
