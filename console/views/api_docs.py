"""The API's operations as a page to read, from its OpenAPI document."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from console.api.urls import api


@dataclass(frozen=True)
class Operation:
    """`takes` are what it reads besides the address, `gives` the statuses it answers."""

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
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            takes = [
                each["name"] for each in operation.get("parameters", ()) if each["in"] != "path"
            ]
            for content in operation.get("requestBody", {}).get("content", {}).values():
                schema = content["schema"]  # it is named in another place and may be left out
                for each in (schema, *schema.get("anyOf", ())):
                    name = each.get("$ref", "").rpartition("/")[2]
                    body = document["components"]["schemas"].get(name, each)
                    takes += body.get("properties", ())
            row = Operation(
                method=method.upper(),
                path=path,
                does=operation.get("description") or operation.get("summary", ""),
                takes=", ".join(takes),
                gives=", ".join(str(status) for status in operation["responses"]),
            )
            groups.setdefault((operation.get("tags") or ["other"])[0], []).append(row)
    context = {"about": document["info"]["description"], "groups": sorted(groups.items())}
    return render(request, "api_docs.html", context)
