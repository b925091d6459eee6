"""Checks of every request: what a page may load, what can be read at all, and who may see it."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

View = Callable[[HttpRequest], HttpResponse]

POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "frame-ancestors 'none'; form-action 'self'"
)
MOST_BYTES = 4 * 1024 * 1024
REFUSALS = {
    400: "This request holds a null character.",
    422: "This request holds a null character.",
    413: "A request may be 4 MB long at most.",
    415: "Forms are read in UTF-8.",
}
OPEN_PATHS = ("/signin/", "/static/", "/api/", "/healthz", "/readyz", "/metrics")


def content_security_policy(get_response: View) -> View:
    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers.setdefault("Content-Security-Policy", POLICY)
        return response

    return middleware


def readable(get_response: View) -> View:
    """Refuses what is too long, other charsets, and null characters: no database takes one.

    A form's charset would name any of Python's codecs, some of which take quadratic time.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        if declared_length(request) > MOST_BYTES:
            return refusal(413)
        if (request.encoding or "utf-8").lower() not in ("utf-8", "utf8"):
            return refusal(415)
        is_api = request.path.startswith("/api/")
        if "\0" in request.path:
            return refusal(422 if is_api else 400)
        try:
            typed = request.POST.values() if request.method == "POST" and not is_api else ()
        except RequestDataTooBig:
            return refusal(413)
        if any("\0" in str(value) for value in typed):
            return refusal(400)
        return get_response(request)

    return middleware


def declared_length(request: HttpRequest) -> int:
    declared = request.META.get("CONTENT_LENGTH") or "0"
    return int(declared) if declared.isdecimal() and len(declared) < 19 else 0


def refusal(status: int) -> HttpResponse:
    """In words; for the API, the middleware around this one puts them into its shape."""
    return HttpResponse(REFUSALS[status], "text/plain; charset=utf-8", status)


def session_required(get_response: View) -> View:
    """Pages need a session; the API answers 401 by itself."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if request.path.startswith(OPEN_PATHS) or request.user.is_authenticated:
            return get_response(request)
        return redirect(f"/signin/?next={quote(request.get_full_path())}")

    return middleware
