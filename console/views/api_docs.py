"""The API's operations as a page to read, from its OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from console.api.urls import api

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Operation:
    """`takes` are what it reads besides the address, `gives` the statuses it answers."""

    tag: str
    method: str
    path: str
    does: str
    takes: str
    gives: str


@require_GET
def api_docs(request: HttpRequest) -> HttpResponse:
    """Every path under /api/ is open to scripts; this page is a page like the others."""
    if not request.user.is_authenticated:
        return redirect(f"{reverse('signin')}?next={request.path}")
    document = api.get_openapi_schema()
    groups: dict[str, list[Operation]] = {}
    for operation in operations_of(document):
        groups.setdefault(operation.tag, []).append(operation)
    context = {"about": document["info"]["description"], "groups": sorted(groups.items())}
    return render(request, "api_docs.html", context)


def operations_of(document: Document) -> Iterator[Operation]:
    for path, methods in document["paths"].items():
        for method, told in methods.items():
            yield Operation(
                tag=(told.get("tags") or ["other"])[0],
                method=method.upper(),
                path=path,
                does=told.get("description") or told.get("summary", ""),
                takes=", ".join(taken_by(told, document)),
                gives=", ".join(str(status) for status in told["responses"]),
            )


def taken_by(told: Document, document: Document) -> Iterator[str]:
    """Names of what may be sent: those of the query and headers, then those of the body."""
    for parameter in told.get("parameters", ()):
        if parameter["in"] != "path":
            yield parameter["name"]
    for content in told.get("requestBody", {}).get("content", {}).values():
        yield from fields_of(content["schema"], document)


def fields_of(schema: Document, document: Document) -> Iterator[str]:
    """The fields of a body, which is named in another place and may be left out."""
    for one in (schema, *schema.get("anyOf", ())):
        name = one.get("$ref", "").rpartition("/")[2]
        yield from document["components"]["schemas"].get(name, one).get("properties", ())
