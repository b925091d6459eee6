"""Checks of every request: what a page may load, what can be read at all, and who may see it."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import chain
from urllib.parse import quote

from django.core.exceptions import ObjectDoesNotExist, RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase as Answer
from django.middleware.gzip import GZipMiddleware
from django.shortcuts import redirect
from django.utils.cache import patch_cache_control
from django.utils.translation import gettext, gettext_lazy

from agents.errors import NotFound
from agents.normalization import split_url
from agents.workspace.attachments import LARGEST, TOO_LARGE
from console.auth import browsers

View = Callable[[HttpRequest], HttpResponse]

POLICY = (
    "default-src 'self'; script-src 'self'; img-src 'self' data:; "
    "object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
)
MOST_BYTES = 4 * 1024 * 1024
# The one body that may be longer: a file, which is read piece by piece (agents/attachments.py).
UPLOAD = re.compile(
    r"/(?:c|api/conversations)/[0-9]+/attachments"
    r"|/c/[0-9]+/workspace/upload|/api/agents/[a-z0-9_-]+/files/content"
)
REFUSALS = {
    400: gettext_lazy("This request holds a null character."),
    422: gettext_lazy("This request holds a null character."),
    413: gettext_lazy("A request may be 4 MB long at most."),
    414: gettext_lazy("This address is too long: up to 16,000 characters are read."),
    415: gettext_lazy("Forms are read in UTF-8."),
    431: gettext_lazy(
        "The head of this request is too long: up to 16,000 bytes and 500 lines are read. Cookies "
        "of other programs at this address may be the reason."
    ),
}
# Read by static/js/requests.js, which keeps what was typed.
LOAD_AGAIN = {"Planside-Reload": "true"}
SECRET = re.compile(r"/(?:settings|api)/|.*/export\b")
OPEN_PATHS = ("/signin/", "/static/", "/api/", "/healthz", "/readyz", "/metrics")


def content_security_policy(get_response: View) -> View:
    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers.setdefault("Content-Security-Policy", POLICY)
        return response

    return middleware


def kept_private(get_response: View) -> View:
    """No proxy keeps what a person sees, and a browser shows none of it again without asking.

    What settings, exports and the API say may hold secrets: no browser writes it down. Pages may
    be, for Chromium brings back no page with its drafts and its place that says otherwise. What
    says by itself how it is kept, such as static files and the scripts' texts, is left so.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        is_secret = SECRET.match(request.path) or response.headers.get("Content-Disposition")
        kept = "private, no-store" if is_secret else "private, no-cache"
        response.headers.setdefault("Cache-Control", kept)
        return response

    return middleware


class CompressedPages(GZipMiddleware):
    """Compresses the scripts' texts, which hold no secret, and HTML, beside the token of its forms,
    in a way that tells a listener nothing.

    What is compressed together with a secret shows by its length whether a guess of the secret
    stands beside it (BREACH); the guesses come as requests from another site, which is only led
    to a page here by a link or form of its own, for cookies are SameSite=Lax. So a page that
    another site asks for is not compressed, by a proxy neither. Besides, Django masks the token
    anew in each response and pads with random bytes. Nothing else is compressed here: neither the
    API, whose answers may hold new tokens, nor streams, whose events would wait for each other.
    """

    def process_response(self, request: HttpRequest, response: Answer) -> Answer:
        kind = response.headers.get("Content-Type", "")
        if response.streaming or not kind.startswith(("text/html", "text/javascript")):
            return response
        if request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site"):
            patch_cache_control(response, no_transform=True)
            return response
        return super().process_response(request, response)


class MissingPages:
    """Answers 404 for a page whose row was deleted while it was read."""

    def __init__(self, get_response: View) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> None:
        if isinstance(error, (NotFound, ObjectDoesNotExist)):
            raise Http404(str(error)) from error


def readable(get_response: View) -> View:
    """Refuses what is too long, other charsets, and null characters: no database takes one.

    A form's charset would name any of Python's codecs, some of which take quadratic time.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        if declared_length(request) > most_bytes(request.path):
            return refusal(413, request.path)
        if (request.encoding or "utf-8").lower() not in ("utf-8", "utf8"):
            return refusal(415)
        is_api = request.path.startswith("/api/")
        if "\0" in request.path:
            return refusal(422 if is_api else 400)
        try:
            form = request.POST if request.method == "POST" and not is_api else QueryDict()
        except RequestDataTooBig:
            return refusal(413)
        typed = ((name, *values) for name, values in (*form.lists(), *request.GET.lists()))
        if any("\0" in str(text) for text in chain.from_iterable(typed)):
            return refusal(422 if is_api else 400)
        return get_response(request)

    return middleware


def most_bytes(path: str, most: int = MOST_BYTES) -> int:
    """How long a request to this address may be."""
    return LARGEST if UPLOAD.fullmatch(path) else most


def declared_length(request: HttpRequest) -> int:
    declared = request.META.get("CONTENT_LENGTH") or "0"
    return int(declared) if declared.isdecimal() and len(declared) < 19 else 0


def refusal(status: int, path: str = "") -> HttpResponse:
    """In words; for the API, the middleware around this one puts them into its shape."""
    return HttpResponse(refusal_words(status, path), "text/plain; charset=utf-8", status)


def refusal_words(status: int, path: str) -> str:
    return str(TOO_LARGE if status == 413 and UPLOAD.fullmatch(path) else REFUSALS[status])


def session_required(get_response: View) -> View:
    """Pages need a session; the API answers 401 by itself.

    What a page's script asks for is no page: it is told to load its own again.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        if request.path.startswith(OPEN_PATHS):
            return get_response(request)
        if request.user.is_authenticated:
            browsers.note(request)
            return get_response(request)
        if request.headers.get("Sec-Fetch-Mode", "navigate") != "navigate":
            return HttpResponse(
                gettext("Sign in."), "text/plain; charset=utf-8", 401, headers=LOAD_AGAIN
            )
        return redirect(f"/signin/?next={quote(page_of(request))}")

    return middleware


def page_of(request: HttpRequest) -> str:
    """The page to go on with after this request: itself, or where its form stood."""
    if request.method in ("GET", "HEAD"):
        return request.get_full_path()
    try:
        form = split_url(request.headers.get("Referer", ""))
    except ValueError:
        return "/"
    if form.netloc != request.get_host():
        return "/"
    return f"{form.path}?{form.query}" if form.query else form.path
