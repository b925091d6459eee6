"""Every error of the API is {"detail": "one sentence"}, whoever finds it first."""

from __future__ import annotations

import json
from collections.abc import Callable
from http import HTTPStatus

from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, RawPostDataException
from django.http.response import HttpResponseBase
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError
from ninja.parser import Parser

from agents.errors import Conflict, Invalid, Refused, Stale
from agents.json_size import MOST_VALUES, why_too_many
from agents.sanitize import fault_of
from agents.tools.integrations.openapi.parser import MOST_VALUES as MOST_OF_A_SERVICE
from agents.workspace.attachments import TOO_LARGE
from console.api.auth import person
from console.middleware import UPLOAD, declared_length, most_bytes
from plans.expected_version import VersionConflict

MOST_BYTES = 2 * 1024 * 1024

SENTENCES = {
    400: "The server cannot read this request.",
    401: "Sign in, or send a token: Authorization: Bearer <token>.",
    403: "You may not do this.",
    404: "There is nothing at this address.",
    405: "This address does not take {method} requests.",
    413: "A request may be 2 MB long at most.",
    422: "The server cannot use this request: it holds a null character.",
    500: "Something went wrong on the server; its log says what.",
    503: "The database does not answer at the moment; try again in a few seconds.",
    507: "The server's disk is full and nothing was changed; make room on it, then try again.",
}
# It was taken to pieces while its CSRF token was sought.
NO_FORM = "The body must be JSON, not a form."


class StaleVersion(Stale):
    """The plan has another version than the one named in If-Match."""

    def __init__(self, sentence: str, current_version: int) -> None:
        super().__init__(sentence)
        self.current_version = current_version


class VersionNotNamed(Refused):
    """Changing a plan needs to say which version was read."""

    status = HTTPStatus.PRECONDITION_REQUIRED


class Json(Parser):
    """JSON of bounded size, whose texts every database can store."""

    def parse_body(self, request: HttpRequest) -> dict[str, object]:
        if why := why_too_many(request.body, most_values(request)):
            raise Invalid(f"The body is not read: {why}.")
        try:
            document = json.loads(request.body)
        except UnicodeDecodeError:
            raise Invalid("The body is not JSON in UTF-8.") from None
        except RecursionError:
            raise Invalid("The body is nested too deeply.") from None
        except ValueError as error:
            raise Invalid(f"The body is not valid JSON: {error}.") from None
        if fault := fault_of(document):
            raise Invalid(fault)
        if document is None:  # where every field may be left out
            return {}
        if not isinstance(document, dict):
            raise Invalid("The body must be a JSON object.")
        return document


def most_values(request: HttpRequest) -> int:
    """How many values a body may have; with a service an admin sends its whole document."""
    is_service = request.path.startswith("/api/tools") and person(request).is_superuser
    return MOST_OF_A_SERVICE if is_service else MOST_VALUES


def install(api: NinjaAPI) -> None:
    """Answer each kind of error in the one shape."""
    api.exception_handler(Refused)(refused)
    api.exception_handler(ValidationError)(invalid)
    api.exception_handler(HttpError)(http_error)
    api.add_exception_handler(RequestDataTooBig, lambda request, error: problem(413))
    api.add_exception_handler(RawPostDataException, lambda request, error: problem(422, NO_FORM))
    api.add_exception_handler(Http404, lambda request, error: problem(404))


def problem(status: int, sentence: str = "", **more: object) -> HttpResponse:
    return JsonResponse({"detail": sentence or SENTENCES[status], **more}, status=status)


def refused(request: HttpRequest, error: Refused) -> HttpResponse:
    """The sentence, with the plan and the version that are there now where it knows them."""
    current: dict[str, int | None] = {}
    if isinstance(error, VersionConflict):
        current = {"plan": error.plan, "current_version": error.current_version}
    elif isinstance(error, Conflict | StaleVersion) and error.current_version is not None:
        current = {"current_version": error.current_version}
    response = problem(error.status, str(error), **current)
    for name, value in error.headers.items():
        response.headers[name] = value
    return response


def http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    """django-ninja's own: no sign-in, or a body that could not be parsed."""
    if isinstance(error.__cause__, Refused):
        return refused(request, error.__cause__)
    sentence = "" if error.message == "Unauthorized" else error.message
    response = problem(error.status_code, sentence)
    if error.status_code == HTTPStatus.UNAUTHORIZED:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    """The first thing that is wrong, and how much more there is."""
    first, more = error.errors[0], len(error.errors) - 1
    loc = list(first["loc"]) if isinstance(first["loc"], tuple | list) else []
    while loc and loc[0] in ("body", "query", "path", "header"):
        loc.pop(0)
    # ("body", "body", "subtasks", 0, "name") becomes `subtasks[0].name`.
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in loc)
    place = "".join(steps).removeprefix(".")
    fault = str(first["msg"]).removeprefix("Value error, ").rstrip(".")
    if not place:
        sentence = "The body is missing" if first["type"] == "missing" else fault
    elif first["type"] == "missing":
        sentence = f"{place} is missing"
    elif first["type"] == "extra_forbidden":
        sentence = f"{place} is not a field here"
    elif first["type"] == "too_long":
        sentence = f"{place} has more than {first['ctx']['max_length']:,} entries"
    else:
        sentence = f"{place}: {fault[:1].lower()}{fault[1:]}"
    return problem(422, f"{sentence} (and {more} more)." if more else f"{sentence}.")


View = Callable[[HttpRequest], HttpResponseBase]


def plain_errors(get_response: View) -> View:
    """Middleware: errors that the API itself never sees, in its shape too."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if not request.path.startswith("/api/"):
            return get_response(request)
        if declared_length(request) > most_bytes(request.path, MOST_BYTES):
            return problem(413, str(TOO_LARGE) if UPLOAD.fullmatch(request.path) else "")
        response = get_response(request)
        kind = response.headers.get("Content-Type", "")
        if response.status_code < 400 or kind.startswith("application/json"):
            return response
        sentence = SENTENCES.get(response.status_code, SENTENCES[400])
        shaped = problem(response.status_code, sentence.format(method=request.method))
        if allowed := response.headers.get("Allow"):
            shaped.headers["Allow"] = allowed
        return shaped

    return middleware
